package object

// Rejection is why an API server rejects an update of an existing object for good.
type Rejection struct {
	Field string // the immutable field, or one whose value conflicts with a list item of others
	By    string // the field managers of such items; empty: the field is immutable
}

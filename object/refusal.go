package object

// Refusal is why an API server never changes an existing object as it is asked to.
type Refusal struct {
	Field string // that may not change, or whose value collides with that of a list item of others
	By    string // the field managers of such items; empty: the field may not change
}

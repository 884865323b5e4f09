package output

// Explanation is what a field of a declaration, a kind of declaration or a reason means.
type Explanation struct {
	TypeMeta
	Field
	// Remedy says what to do about a reason.
	Remedy string `json:"remedy,omitempty"`
	// Fields are those of an object, and of the items of a list or a map.
	Fields []Field `json:"fields,omitempty"`
}

// Field is one field of a declaration.
type Field struct {
	// Name is the name of the field. In an explanation it is the whole path, such as Link.spec.controller, or the code of a reason.
	Name string `json:"name"`
	// Type is the type of the field, such as string, object or list of strings. It is reason for a reason.
	Type string `json:"type"`
	// Description says what the field or the reason means.
	Description string `json:"description"`
	// Required is true if a declaration must have the field.
	Required bool `json:"required"`
	// Default is the value of a field that is left out. It is absent if there is none, or if the description says it.
	Default any `json:"default,omitempty"`
	// Values are the only allowed values. It is absent if others are allowed, too.
	Values []Value `json:"values,omitempty"`
	// Examples are values that the field may have.
	Examples []any `json:"examples,omitempty"`
	// Minimum is the least allowed number.
	Minimum *float64 `json:"minimum,omitempty"`
	// Maximum is the greatest allowed number.
	Maximum *float64 `json:"maximum,omitempty"`
}

// Value is an allowed value of a field.
type Value struct {
	// Name is the value.
	Name string `json:"name"`
	// Meaning says in a phrase what the value means. It is absent if that is obvious.
	Meaning string `json:"meaning,omitempty"`
}

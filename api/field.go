package api

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Types of fields.
const (
	Object   = "object" // with Fields
	List     = "list"   // of Of
	Map      = "map"    // of texts to Of
	String   = "string"
	Boolean  = "boolean"
	Integer  = "integer"
	Number   = "number"
	Quantity = "quantity" // a number, perhaps with a unit, such as 64Mi
)

// Field describes one field of a declaration; a whole declaration is a field, too, named by its kind.
// It is derived from the Go types: their comments, their JSON tags, WithDefaults and Words.
type Field struct {
	Name        string
	Type        string
	Description string
	Required    bool
	Default     any    // a string, bool, int64 or float64; nil: none, or the description has it
	Words       []Word // the only allowed values; empty: any
	Examples    []any
	Limits      Limits
	Fields      []Field // of an Object, in their usual order
	Of          *Field  // the item of a List or the value of a Map; it has no name

	of string // the Go type
}

// Word is one allowed value. Its meaning is a phrase without a subject, or empty if it is obvious.
type Word struct{ Name, Meaning string }

// Declaration is the field of a whole declaration. The kind is found whatever its capitals; the error for an unknown
// one names what is near.
func Declaration(name string) (Field, error) {
	for _, k := range kinds() {
		if strings.EqualFold(k.name, name) {
			return k.field(), nil
		}
	}
	return Field{}, notFound("there is no kind "+strconv.Quote(name), name, Kinds())
}

// Find returns the field below this one to which names lead; what lists and maps hold has no name of its own, so the
// path of a source left out by a mesh is spec, except, source. The error for an unknown field names what is near.
func (f Field) Find(path ...string) (Field, error) {
	kind := f.Name
	for i, name := range path {
		below := f.Below()
		at := slices.IndexFunc(below, func(b Field) bool { return b.Name == name })
		if at < 0 {
			return Field{}, notFound(kind+"."+strings.Join(path[:i+1], ".")+": unknown field", name, names(below))
		}
		f = below[at]
	}
	return f, nil
}

// Paragraphs are all that is said of a field: its description, that of the objects in a list, the meanings of its words.
func (f Field) Paragraphs() []string {
	out := strings.Split(f.Description, "\n\n")
	if f.Of != nil && f.Of.Description != "" {
		out = append(out, f.Of.Paragraphs()...)
	}
	for _, w := range f.Words {
		if w.Meaning != "" {
			out = append(out, w.Name+" "+w.Meaning)
		}
	}
	return out
}

// Below returns the fields of an object, or of the objects that a list or a map holds.
func (f Field) Below() []Field {
	for f.Of != nil {
		f = *f.Of
	}
	return f.Fields
}

// TypeName is the type as people say it: string, object, list of strings.
func (f Field) TypeName() string {
	if f.Of == nil {
		return f.Type
	}
	if of, ok := strings.CutSuffix(f.Of.TypeName(), "y"); ok {
		return f.Type + " of " + of + "ies"
	}
	return f.Type + " of " + f.Of.TypeName() + "s"
}

func names(of []Field) []string {
	out := make([]string, len(of))
	for i, f := range of {
		out[i] = f.Name
	}
	return out
}

func notFound(message, name string, near []string) error {
	hint := DidYouMean(name, near)
	switch {
	case hint == "" && len(near) > 0:
		hint = "use one of " + strings.Join(near, ", ")
	case hint == "":
		hint = "it has no fields"
	}
	return errors.New(message + " (" + hint + ")")
}

package main

import (
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// explanationDoc is what programs read of a field. The name is its whole path.
func explanationDoc(name string, f api.Field) output.Explanation {
	e := output.Explanation{TypeMeta: output.Of(output.KindExplanation), Field: fieldDoc(f)}
	e.Name = name
	for _, below := range f.Below() {
		e.Fields = append(e.Fields, fieldDoc(below))
	}
	return e
}

func fieldDoc(f api.Field) output.Field {
	out := output.Field{
		Name: f.Name, Type: f.TypeName(), Description: fieldDescription(f), Required: f.Required,
		Default: f.Default, Examples: f.Examples, Minimum: f.Limits.Least, Maximum: f.Limits.Most,
	}
	for _, w := range f.Words {
		out.Values = append(out.Values, output.Value{Name: w.Name, Meaning: w.Meaning})
	}
	return out
}

// fieldDescription is the description of a field, and of the objects in a list. The meanings of its words are not in it.
func fieldDescription(f api.Field) string {
	f.Words = nil
	return strings.Join(f.Paragraphs(), "\n\n")
}

// reasonDoc is what programs read of a reason.
func reasonDoc(e reason.Entry) output.Explanation {
	return output.Explanation{
		TypeMeta: output.Of(output.KindExplanation), Remedy: e.Plain(e.Remedy),
		Field: output.Field{Name: string(e.Code), Type: "reason", Description: e.Plain(e.Meaning)},
	}
}

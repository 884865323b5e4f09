package examples_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
)

const declarations = "../docs/reference/declarations.md"

// TestDeclarations: the reference shows every field, with what schemas and explain say of it.
func TestDeclarations(t *testing.T) {
	selector := field(t, "Mesh", "spec", "clusters")
	template := field(t, "Mesh", "spec", "template")
	for _, kind := range api.Kinds() {
		r := reference{selector: selector, template: template}
		for _, below := range field(t, kind).Fields {
			if below.Name != "apiVersion" && below.Name != "kind" {
				r.field(below, below.Name)
			}
		}
		section(t, declarations, strings.ToLower(kind), r.table())
	}
	r := reference{}
	for _, below := range selector.Fields {
		r.field(below, below.Name)
	}
	section(t, declarations, "selectors", r.table())
	loadsBlocks(t, declarations)
}

// A template is shown by a reference to a link, so it must be one.
func TestTemplateIsLink(t *testing.T) {
	link := slices.DeleteFunc(field(t, "Link", "spec").Fields, func(f api.Field) bool { return f.Name == "source" || f.Name == "target" })
	if template := field(t, "Mesh", "spec", "template").Fields; !reflect.DeepEqual(link, template) {
		t.Errorf("a mesh's template differs from a link's spec: %v, %v", link, template)
	}
}

func field(t *testing.T, kind string, path ...string) api.Field {
	t.Helper()
	f, err := api.Declaration(kind)
	if err == nil {
		f, err = f.Find(path...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// reference is a table of fields; what has a table of its own is only named.
type reference struct {
	selector, template api.Field
	rows               []string
}

func (r *reference) table() string {
	return "| field | type | default | what it does |\n| --- | --- | --- | --- |\n" + strings.Join(r.rows, "")
}

func (r *reference) field(f api.Field, path string) {
	kind, said := typeName(f), strings.Join(f.Paragraphs(), "<br>")
	below := f.Below()
	switch {
	case len(below) == 0:
	case reflect.DeepEqual(below, r.selector.Fields):
		kind, below = "[label selector](#label-selectors)", nil
	case reflect.DeepEqual(below, r.template.Fields):
		kind, below = "[spec of a Link](#link)", nil
	}
	byDefault := ""
	switch {
	case f.Required:
		byDefault = "*required*"
	case f.Default != nil:
		byDefault = fmt.Sprintf("`%v`", f.Default)
	}
	r.rows = append(r.rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", path, kind, byDefault, markdown(said)))
	if f.Type == api.List {
		path += "[]"
	}
	for _, b := range below {
		r.field(b, path+"."+b.Name)
	}
}

func typeName(f api.Field) string {
	var words []string
	for _, w := range f.Words {
		words = append(words, "`"+w.Name+"`")
	}
	switch {
	case len(words) > 0:
		return strings.Join(words, ", ")
	case f.Limits.Least != nil && f.Limits.Most != nil:
		return fmt.Sprintf("%s, %v to %v", f.TypeName(), *f.Limits.Least, *f.Limits.Most)
	case f.Limits.Least != nil:
		return fmt.Sprintf("%s, at least %v", f.TypeName(), *f.Limits.Least)
	}
	return f.TypeName()
}

// markdown keeps <target> and * from being read as markup; <br> alone is.
func markdown(text string) string {
	return strings.NewReplacer("<br>", "<br>", "<", "&lt;", "*", `\*`, "|", `\|`).Replace(text)
}

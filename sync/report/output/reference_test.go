package output_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/linkwright/linkwright/hack/outputschema"
)

const page = "../../../docs/reference/output.md"

// TestReference: the page lists every kind with its commands, and every type with its fields.
func TestReference(t *testing.T) {
	file, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	all := schemas(t)
	before, _, ok := strings.Cut(read(t, file), begin)
	_, after, end := strings.Cut(read(t, file), finish)
	if !ok || !end {
		t.Fatalf("%s has no generated part", file)
	}
	compare(t, file, before+begin+kindsTable()+typesTables(all)+finish+after)
}

const begin, finish = "<!-- kinds -->\n", "<!-- /kinds -->\n"

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func kindsTable() string {
	var b strings.Builder
	b.WriteString("\n| kind | answer of | schema |\n| --- | --- | --- |\n")
	for _, a := range answers() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | [%s](../schema/output/%s) |\n", a.kind, strings.ToLower(a.kind), a.by, outputschema.File(a.kind), outputschema.File(a.kind))
	}
	return b.String()
}

// typesTables has the kinds first, and then the other types by name.
func typesTables(all map[string]*jsonschema.Schema) string {
	types, names := map[string]*jsonschema.Schema{}, []string{}
	for _, a := range answers() {
		names = append(names, a.kind)
		maps.Copy(types, all[a.kind].Definitions)
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var b strings.Builder
	for _, name := range names {
		s := types[name]
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| field | type | description |\n| --- | --- | --- |\n", name, s.Description)
		for field, p := range s.Properties.FromOldest() {
			optional := ""
			if !slices.Contains(s.Required, field) {
				optional = ", optional"
			}
			fmt.Fprintf(&b, "| `%s` | %s%s | %s |\n", field, fieldType(p), optional, strings.ReplaceAll(p.Description, "|", "\\|"))
		}
	}
	return b.String()
}

func fieldType(p *jsonschema.Schema) string {
	switch {
	case p.Ref != "":
		name := p.Ref[strings.LastIndex(p.Ref, "/")+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case p.Type == "array":
		return "list of " + fieldType(p.Items)
	case p.Format == "date-time":
		return "time"
	case p.Type == "object":
		return "map of counts"
	case p.Type == "":
		return "any"
	}
	return p.Type
}

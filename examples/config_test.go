package examples_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// key is what the schema of the config file says of one key.
type key struct {
	Ref         string `json:"$ref"`
	Description string
	Pattern     string // of durations alone
	Type        any
	Enum        []string
	Default     any
	Properties  map[string]key
}

// TestConfig: the page of the config file has every key of run, as the schema gives them.
func TestConfig(t *testing.T) {
	var schema struct {
		Definitions map[string]key
		Properties  map[string]key
	}
	if err := json.Unmarshal([]byte(text(t, "../docs/schema/config.json")), &schema); err != nil {
		t.Fatal(err)
	}
	run := schema.Properties["commands"].Properties["run"].Properties
	var b strings.Builder
	b.WriteString("| key | variable | value | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(run)) {
		k := schema.Definitions[strings.TrimPrefix(run[name].Ref, "#/definitions/")]
		variable := "LINKWRIGHT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", name, variable, k.value(), k.fallback(), k.Description)
	}
	if len(run) < 40 {
		t.Errorf("the schema has %d keys of run", len(run))
	}
	section(t, referencePages+"config.md", "run", b.String())
}

// value says which values a key takes.
func (k key) value() string {
	first := k.Type
	if several, ok := k.Type.([]any); ok {
		first = several[0]
	}
	switch {
	case len(k.Enum) > 0:
		return "`" + strings.Join(k.Enum, "`, `") + "`"
	case k.Pattern != "":
		return "duration"
	case first == "array":
		return "list"
	case first == "integer":
		return "number"
	}
	return fmt.Sprint(first)
}

func (k key) fallback() string {
	switch d := k.Default.(type) {
	case nil:
		return ""
	case []any:
		words := make([]string, len(d))
		for i, w := range d {
			words[i] = fmt.Sprint(w)
		}
		return "`[" + strings.Join(words, ", ") + "]`"
	}
	return fmt.Sprintf("`%v`", k.Default)
}

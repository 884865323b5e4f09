// Package schema answers: what is the published schema of an answer? It holds the files of docs/schema/output.
package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/sync/report/output"
)

//go:embed output/*.json
var files embed.FS

// Find is the kind of a name that may have any capitals. The error for an unknown one lists all kinds.
func Find(name string) (kind string, err error) {
	all := output.Kinds()
	if i := slices.IndexFunc(all, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
		return all[i], nil
	}
	return "", fmt.Errorf("there is no kind of answer %q (use one of %s)", name, strings.Join(all, ", "))
}

// Of is the JSON Schema of a kind of answer.
func Of(kind string) ([]byte, error) {
	raw, err := files.ReadFile("output/" + File(kind))
	if err != nil {
		return nil, fmt.Errorf("kind of answer %s: %w", kind, err)
	}
	return raw, nil
}

// File is the name of the file with the schema of a kind.
func File(kind string) string { return strings.ToLower(kind) + ".json" }

// definitions are a schema as the files have it.
type definitions struct {
	Schema string         `json:"$schema"`
	Defs   map[string]any `json:"$defs"`
}

// Any is the JSON Schema of any answer. It selects by kind first, so that a message is about that kind alone.
func Any() ([]byte, error) {
	all := definitions{Defs: map[string]any{}}
	var each []any
	for _, kind := range output.Kinds() {
		raw, err := Of(kind)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &all); err != nil { // adds to the map
			return nil, fmt.Errorf("schema of %s: %w", kind, err)
		}
		each = append(each, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"kind": map[string]any{"const": kind}}},
			"then": map[string]any{"$ref": "#/$defs/" + kind},
		})
	}
	out, err := json.MarshalIndent(map[string]any{
		"$schema": all.Schema, "title": "Answer", "description": "One answer of linkwright for programs.", "type": "object",
		"required": []string{"apiVersion", "kind"}, "properties": map[string]any{"kind": map[string]any{"enum": output.Kinds()}},
		"allOf": each, "$defs": all.Defs,
	}, "", "  ")
	return append(out, '\n'), err
}

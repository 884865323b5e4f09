// Package outputschema holds answers of the program to their published JSON Schemas, in tests.
package outputschema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Dir is where the schemas are: docs/schema/output of the repository around the working directory, which is a test's package.
func Dir() string {
	const schemas = "docs/schema/output"
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if at := filepath.Join(dir, schemas); isDir(at) {
			return at
		}
	}
	return schemas
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// File is the name of the schema of a kind.
func File(kind string) string { return strings.ToLower(kind) + ".json" }

// Check says what is wrong with an answer in JSON: its kind has no schema, or it is not as the schema says. More strictly than for readers,
// a field that the schema does not have is wrong, too.
func Check(answer []byte) error {
	var meta struct{ APIVersion, Kind string }
	if err := json.Unmarshal(answer, &meta); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if !strings.HasPrefix(string(answer), "{\n  \"apiVersion\": \""+meta.APIVersion+"\",\n  \"kind\": \""+meta.Kind+"\",\n") {
		return fmt.Errorf("the answer does not begin with apiVersion and kind: %.80s", answer)
	}
	schema, err := compiled(meta.Kind)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(answer)))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return schema.Validate(value)
}

func compiled(kind string) (*jsonschema.Schema, error) {
	raw, err := os.ReadFile(filepath.Join(Dir(), File(kind)))
	if err != nil {
		return nil, fmt.Errorf("kind %q has no schema: %w", kind, err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind, err)
	}
	strict(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(kind, doc); err != nil {
		return nil, err
	}
	return c.Compile(kind)
}

// strict has objects with properties have no others.
func strict(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, ok := s["properties"].(map[string]any); ok && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, below := range s {
			strict(below)
		}
	case []any:
		for _, below := range s {
			strict(below)
		}
	}
}

package examples_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// TestModelines: every file of declarations tells an editor its schema – that of its kind, or of all where it mixes
// kinds – and is valid by it.
func TestModelines(t *testing.T) {
	checked := 0
	for _, file := range declared(t) {
		checked++
		documents, kinds := decoded(t, file)
		want := "all"
		if len(kinds) == 1 {
			want = strings.ToLower(kinds[0])
		}
		first, _, _ := strings.Cut(text(t, file), "\n")
		m := regexp.MustCompile(`^# yaml-language-server: \$schema=((?:\.\./)+docs/schema/` + want + `\.json)$`).FindStringSubmatch(first)
		if m == nil {
			t.Errorf("%s: its first line must be: # yaml-language-server: $schema=../../docs/schema/%s.json", file, want)
			continue
		}
		schema := compiled(t, filepath.Join(filepath.Dir(file), m[1]))
		for i, d := range documents {
			if err := schema.Validate(d); err != nil {
				t.Errorf("%s, document %d: %v", file, i, err)
			}
		}
	}
	if checked == 0 {
		t.Error("there is no example")
	}
}

// declared are the files of examples; manifests are package deploy's, and overlays hold none.
func declared(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == "install":
			return filepath.SkipDir
		case filepath.Ext(file) == ".yaml" && strings.Contains(text(t, file), "apiVersion: "+api.GroupVersion):
			out = append(out, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decoded(t *testing.T, file string) (documents []any, kinds []string) {
	t.Helper()
	found := map[string]bool{}
	for dec := yaml.NewDecoder(strings.NewReader(text(t, file))); ; {
		var d map[string]any
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			return documents, slices.Sorted(maps.Keys(found))
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		documents = append(documents, d)
		kind, _ := d["kind"].(string)
		found[kind] = true
	}
}

func compiled(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text(t, file))))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("test:"+file, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("test:" + file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return schema
}

package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// In every golden, Load refuses all documents that a schema refuses. In those named here, whose errors are each about a
// field of one document, the schema refuses all that Load refuses, too.
func TestSchemasAgreeWithLoad(t *testing.T) {
	schemas := compiled(t)
	alike := map[string]bool{}
	for _, name := range []string{
		"access", "enums", "excluded", "missing", "names", "policy-interval-text", "policy-prune", "policy-schedule-interval",
		"quantity", "selectors", "unknown-field", "wrong-type",
	} {
		alike[name] = true
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "built" }) {
			continue // people write what kustomize builds from, and schemas are for what people write
		}
		tree, out := treeOf(archive)
		docs := declarationsIn(t, tree)
		refused, faulty := schemas.refuse(docs), wrong(docs, out)
		for at, err := range refused {
			if !faulty[at] {
				t.Errorf("%s: Load takes the document at %s, its schema does not: %v", name, at, err)
			}
		}
		if !alike[name] {
			continue
		}
		delete(alike, name)
		want, got := slices.Sorted(maps.Keys(faulty)), slices.Sorted(maps.Keys(refused))
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s: documents that Load refuses, and that schemas refuse: -want +got\n%s", name, diff)
		}
	}
	for name := range alike {
		t.Errorf("there is no golden %s", name)
	}
}

// schemas are those of the kinds, and under "" that of any declaration.
type schemas map[string]*jsonschema.Schema

func compiled(t *testing.T) schemas {
	t.Helper()
	out, compiler := schemas{}, jsonschema.NewCompiler()
	for _, kind := range append(api.Kinds(), "") {
		text, err := api.Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("test:"+kind, doc); err != nil {
			t.Fatal(err)
		}
		if out[kind], err = compiler.Compile("test:" + kind); err != nil {
			t.Fatalf("schema of %q: %v", kind, err)
		}
	}
	return out
}

// refuse returns what the schemas say of documents; that of any declaration must agree with that of the kind.
func (s schemas) refuse(docs map[string]any) map[string]error {
	out := map[string]error{}
	for at, doc := range docs {
		kind := doc.(map[string]any)["kind"].(string)
		own, all := s[kind].Validate(doc), s[""].Validate(doc)
		switch {
		case (own == nil) != (all == nil):
			out["disagreement at "+at] = fmt.Errorf("schema of %s: %w, of any: %w", kind, own, all)
		case own != nil:
			out[at] = own
		}
	}
	return out
}

// declarationsIn returns the readable documents of known kinds by file and line.
func declarationsIn(t *testing.T, tree fs.FS) map[string]any {
	t.Helper()
	out := map[string]any{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" || strings.Contains("/"+name, "/.") {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		for dec := yaml.NewDecoder(bytes.NewReader(data)); err == nil; {
			var n yaml.Node
			if err = dec.Decode(&n); err != nil {
				break
			}
			doc, _ := asJSON(n.Content[0]).(map[string]any)
			if kind, _ := doc["kind"].(string); doc["apiVersion"] == api.GroupVersion && slices.Contains(api.Kinds(), kind) {
				out[name+":"+strconv.Itoa(n.Content[0].Line)] = doc
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Logf("%s is not read to its end: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// asJSON reads a node as an editor does; what JSON cannot say is null.
func asJSON(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = asJSON(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = asJSON(item)
		}
		return out
	case yaml.AliasNode:
		return asJSON(n.Alias)
	}
	return plainValue(n)
}

// wrong returns the documents that a golden tells errors of.
func wrong(docs map[string]any, out string) map[string]bool {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\[\w+\] )?([^ :]+):(\d+)(?::\d+)?: (warning: )?`).FindAllStringSubmatch(out, -1) {
		if m[3] != "" {
			continue
		}
		line, _ := strconv.Atoi(m[2])
		for ; line > 0; line-- {
			if at := m[1] + ":" + strconv.Itoa(line); docs[at] != nil {
				found[at] = true
				break
			}
		}
	}
	return found
}

// Every field that the decoder knows is in the schema with the same need for it, and the other way round.
func TestSchemasHaveTheFieldsOfTheDecoder(t *testing.T) {
	for kind, typ := range map[string]reflect.Type{
		"Cluster": reflect.TypeFor[api.ClusterDoc](), "Link": reflect.TypeFor[api.LinkDoc](),
		"Mesh": reflect.TypeFor[api.MeshDoc](), "SyncPolicy": reflect.TypeFor[api.SyncPolicyDoc](),
	} {
		text, err := api.Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]bool{}, map[string]bool{}
		decoded(types{}, typ, kind, want)
		offered(schema.(map[string]any), kind, got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields of %s, and whether they are required: -decoder +schema\n%s", kind, diff)
		}
	}
}

func decoded(known types, t reflect.Type, at string, out map[string]bool) {
	_, whole := reflect.TypeAssert[json.Unmarshaler](reflect.New(t))
	switch {
	case whole: // a quantity
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		decoded(known, t.Elem(), at, out)
	case t.Kind() == reflect.Struct:
		for _, f := range known.fields(t) {
			out[at+"."+f.name] = f.required
			decoded(known, f.typ, at+"."+f.name, out)
		}
	}
}

func offered(schema map[string]any, at string, out map[string]bool) {
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range properties {
		out[at+"."+name] = slices.Contains(required, any(name))
		offered(below.(map[string]any), at+"."+name, out)
	}
	for _, of := range []string{"items", "additionalProperties"} {
		if below, ok := schema[of].(map[string]any); ok {
			offered(below, at, out)
		}
	}
}

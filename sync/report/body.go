package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/object"
)

// decode gives a JSON object, numbers as written; false for anything else.
func decode(raw []byte) (map[string]any, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil || m == nil {
		return nil, false
	}
	_, err := d.Token()
	return m, errors.Is(err, io.EOF)
}

func isSecret(k object.Key, tree map[string]any) bool {
	return k.Kind == "Secret" || tree["kind"] == "Secret"
}

// shown is what may be shown of a body: nil where there is none, else a tree, or a string in place of
// what is no object.
func (m mask) shown(k object.Key, b object.Body) any {
	if len(b.Bytes()) == 0 {
		return nil
	}
	tree, ok := decode(b.Bytes())
	if !ok {
		return m.hash(string(b.Bytes()))
	}
	strip(tree)
	if isSecret(k, tree) {
		return m.secret(tree)
	}
	if k.Kind == "ConfigMap" {
		m.unfold(tree["data"])
	}
	return m.value("", tree)
}

// strip takes away what the API server writes, and our digest: they change with every write.
func strip(tree map[string]any) {
	delete(tree, "status")
	meta, ok := tree["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, f := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp", "generation", "selfLink"} {
		delete(meta, f)
	}
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, object.DigestAnnotation)
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
}

// secret shows of a Secret what it is called and which keys it has.
func (m mask) secret(tree map[string]any) map[string]any {
	out := make(map[string]any, len(tree))
	for k, v := range tree {
		switch k {
		case "apiVersion", "kind", "type", "immutable", "metadata":
			out[k] = m.value("", v)
		case "data":
			out[k] = m.data(v)
		default:
			out[k] = m.all(v)
		}
	}
	return out
}

// unfold shows JSON inside a ConfigMap, as in an inventory, as lines of its own, masked like a body.
func (m mask) unfold(data any) {
	entries, _ := data.(map[string]any)
	for k, v := range entries {
		s, ok := v.(string)
		if !ok || secretText(s) {
			continue
		}
		inside, ok := decode([]byte(s))
		if !ok {
			continue
		}
		if text, err := encoded(m.value("", inside)); err == nil {
			entries[k] = text
		}
	}
}

// asYAML spells what is shown; nothing for nil.
func asYAML(shown any) []byte {
	if shown == nil {
		return nil
	}
	raw, err := encoded(shown)
	if err != nil {
		return []byte(hidden + "\n")
	}
	y, err := yaml.JSONToYAML([]byte(raw))
	if err != nil {
		return []byte(hidden + "\n")
	}
	if !bytes.HasSuffix(y, []byte("\n")) {
		y = append(y, '\n')
	}
	return []byte(strings.ToValidUTF8(string(y), "?"))
}

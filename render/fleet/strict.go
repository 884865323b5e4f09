package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
)

// walker walks a YAML node beside a Go type and reports where they differ. What fits is returned as a plain value for
// encoding/json: so YAML is read only once, as nodes, and positions are never lost.
type walker struct {
	file     string
	types    types
	problems []api.Problem
	left     int // problems that may still be added; further ones are counted in more
	more     int
	broken   map[string]bool // paths that a problem was said of, so that no second one is derived from it
}

func (w *walker) fail(n *yaml.Node, at api.Path, message, hint string) {
	w.broken[strings.Join(at, "\x00")] = true
	if w.full() {
		w.more++
		return
	}
	if len(at) > 0 {
		message = at.String() + ": " + message
	}
	w.problems = append(w.problems, api.Problem{Pos: api.Pos{File: w.file, Line: n.Line, Col: n.Column}, Message: message, Hint: hint})
}

// full reports whether the bound of problems is reached.
func (w *walker) full() bool { return len(w.problems) >= w.left }

// nearest is the hint for an unknown field.
func (w *walker) nearest(key string, f fields) string {
	if w.full() {
		return ""
	}
	if key == "maxFraction" && f.find("maxLinks") != nil {
		return "maxLinks and maxClusters limit now what a commit removes: use them"
	}
	return api.DidYouMean(key, f.names())
}

// suppressMissing suppresses the problem that a field is missing if an unknown field is a misspelling of it.
func (w *walker) suppressMissing(n *yaml.Node, at api.Path, key string, f fields) {
	if w.full() {
		return
	}
	if near, ok := api.Nearest(key, f.names()); ok && child(n, near) == nil {
		w.broken[strings.Join(join(at, near), "\x00")] = true
	}
}

// reported reports whether the field, or one above it, has a problem already.
func (w *walker) reported(at api.Path) bool {
	for i := range len(at) + 1 {
		if w.broken[strings.Join(at[:i], "\x00")] {
			return true
		}
	}
	return false
}

// reportedBelow reports whether a field below this one has a problem already.
func (w *walker) reportedBelow(at api.Path) bool {
	prefix := strings.Join(at, "\x00") + "\x00"
	for path := range w.broken {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// value returns the plain value of a node for a type, or nil after a problem.
func (w *walker) value(n *yaml.Node, t reflect.Type, at api.Path) any {
	if n.Kind == yaml.AliasNode {
		w.fail(n, at, "aliases are not allowed: *"+n.Value, "write the value out")
		return nil
	}
	if n.Anchor != "" {
		w.fail(n, at, "anchors are not allowed: &"+n.Anchor, "write the value out where it is used")
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return w.custom(n, t, at)
	case t.Kind() == reflect.Struct:
		return w.object(n, t, at)
	case t.Kind() == reflect.Map:
		return w.dictionary(n, t.Elem(), at)
	case t.Kind() == reflect.Slice:
		return w.list(n, t.Elem(), at)
	}
	return w.scalar(n, t, at)
}

// object walks the fields of a struct; a null field is an absent one, as in Kubernetes.
func (w *walker) object(n *yaml.Node, t reflect.Type, at api.Path) any {
	entries, ok := w.entries(n, at)
	if !ok {
		return nil
	}
	fields, out := w.types.fields(t), map[string]any{}
	strays := w.misindentedFields(n, fields)
	w.unindented(n, at, strays)
	for _, e := range entries {
		below, f := join(at, e.key), fields.find(e.key)
		switch {
		case strays[e.key] != "": // reported above
		case f == nil && installationOnly(t, below) != "":
			w.fail(e.keyNode, below, "this value cannot be declared", installationOnly(t, below))
		case f == nil:
			w.fail(e.keyNode, below, "unknown field", cmp.Or(misplaced(t, e), w.nearest(e.key, fields)))
			w.suppressMissing(n, at, e.key, fields)
		case e.value.ShortTag() != "!!null":
			out[e.key] = w.value(e.value, f.typ, below)
		}
	}
	for _, f := range fields {
		if f.required {
			w.require(n, join(at, f.name), out)
		}
	}
	return out
}

// misplaced is the hint for a field that belongs elsewhere.
func misplaced(t reflect.Type, e entry) string {
	switch {
	case t == reflect.TypeFor[metav1.LabelSelector]() && e.value.Kind == yaml.ScalarNode:
		return fmt.Sprintf("write matchLabels: {%s: %s}", short(e.key), short(e.value.Value))
	case t == reflect.TypeFor[api.LinkSpec]() && (e.key == "source" || e.key == "target"):
		return "a mesh sets source and target itself"
	}
	return ""
}

// installationOnly returns why a field of a ProxyConfig, which is a value of Linkerd's installation, cannot be declared; empty: it is no such field.
func installationOnly(t reflect.Type, at api.Path) string {
	if t != reflect.TypeFor[api.ProxyConfig]() && t != reflect.TypeFor[api.Proxy]() {
		return ""
	}
	return api.InstallationOnly(at[1:].String())
}

// require fails required fields that are absent or empty.
func (w *walker) require(n *yaml.Node, at api.Path, out map[string]any) {
	value, present := out[at[len(at)-1]]
	switch {
	case !present && !w.reported(at):
		w.fail(n, at, "is required", "")
	case value == "":
		w.fail(child(n, at[len(at)-1]), at, "must not be empty", "")
	}
}

func (w *walker) dictionary(n *yaml.Node, t reflect.Type, at api.Path) any {
	entries, ok := w.entries(n, at)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for _, e := range entries {
		if v := w.value(e.value, t, join(at, e.key)); v != nil {
			out[e.key] = v
		}
	}
	return out
}

// list keeps a nil for a broken item, so that indices stay true.
func (w *walker) list(n *yaml.Node, t reflect.Type, at api.Path) any {
	if n.Kind != yaml.SequenceNode {
		w.mismatch(n, at, "a list")
		return nil
	}
	out := make([]any, len(n.Content))
	for i, item := range n.Content {
		out[i] = w.value(item, t, join(at, strconv.Itoa(i)))
	}
	return out
}

// entry is one key of a mapping.
type entry struct {
	key            string
	keyNode, value *yaml.Node
}

// entries returns the keys of a mapping as written; of a key that comes twice the first counts.
func (w *walker) entries(n *yaml.Node, at api.Path) ([]entry, bool) {
	if n.Kind != yaml.MappingNode {
		w.mismatch(n, at, "a mapping")
		return nil, false
	}
	var out []entry
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch before, twice := first[key.Value]; {
		case !w.plainKey(key, at):
		case twice:
			w.fail(key, join(at, key.Value), fmt.Sprintf("this key is declared twice, first in line %d", before.Line), "")
		default:
			first[key.Value] = key
			out = append(out, entry{key.Value, key, n.Content[i+1]})
		}
	}
	return out, true
}

func (w *walker) plainKey(key *yaml.Node, at api.Path) bool {
	switch {
	case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
		w.fail(key, join(at, key.Value), "merge keys are not allowed", "write the fields out")
	case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
		w.fail(key, join(at, key.Value), "expected a string as key, found "+describe(key), quoteIt(key))
	case key.Anchor != "":
		w.fail(key, join(at, key.Value), "anchors are not allowed: &"+key.Anchor, "write the value out where it is used")
	default:
		return true
	}
	return false
}

func join(at api.Path, key string) api.Path { return append(slices.Clip(at), key) }

// into moves a plain value into a Go type.
func into(plain, out any) error {
	if plain == nil {
		return nil
	}
	data, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

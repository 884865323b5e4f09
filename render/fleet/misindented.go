package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// splitDeclarations divides a document if another declaration begins in it without a line "---" before it: each part is then read as
// if the line were there. missing are the nodes before which the line is missing.
func splitDeclarations(root *yaml.Node) (parts, missing []*yaml.Node) {
	part, from, seen := *root, 0, map[string]bool{}
	last := lastBeginning(root)
	for i := 0; i <= last; i += 2 {
		key := root.Content[i]
		if !beginsDeclaration(key) {
			continue
		}
		if seen[key.Value] {
			done := part
			done.Content = root.Content[from:i:i]
			parts, missing = append(parts, &done), append(missing, key)
			part.Line, part.Column, from = key.Line, key.Column, i
			clear(seen)
		}
		seen[key.Value] = true
	}
	if root.Kind == yaml.MappingNode {
		part.Content = root.Content[from:]
	}
	return append(parts, &part), missing
}

// beginsDeclaration reports whether a key begins declarations.
func beginsDeclaration(key *yaml.Node) bool { return key.Value == "apiVersion" || key.Value == "kind" }

// lastBeginning is the last index behind which both keys that begin a declaration follow, or -1.
func lastBeginning(root *yaml.Node) int {
	seen := map[string]bool{}
	if root.Kind != yaml.MappingNode {
		return -1
	}
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		if beginsDeclaration(root.Content[i]) {
			seen[root.Content[i].Value] = true
		}
		if len(seen) == 2 {
			return i
		}
	}
	return -1
}

// misindentedFields returns, for unknown keys of a struct, the field below which each belongs: the key is indented too little. It
// considers only fields that do not have the key.
func (w *walker) misindentedFields(n *yaml.Node, f fields) map[string]string {
	var out map[string]string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if f.find(key) != nil {
			continue
		}
		for _, above := range f {
			if t := elem(above.typ); plainStruct(t) && w.types.fields(t).find(key) != nil && child(child(n, above.name), key) == nil {
				if out == nil {
					out = map[string]string{}
				}
				out[key] = above.name
				break
			}
		}
	}
	return out
}

func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func plainStruct(t reflect.Type) bool { return t.Kind() == reflect.Struct }

// unindented reports keys that are indented too little, once for each field above, and suppresses problems that follow from it.
func (w *walker) unindented(n *yaml.Node, at api.Path, strays map[string]string) {
	var named []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		above, stray := strays[n.Content[i].Value]
		if !stray {
			continue
		}
		if !slices.Contains(named, above) {
			named = append(named, above)
			w.fail(n.Content[i], join(at, n.Content[i].Value), "is indented too little: it belongs below "+above,
				fmt.Sprintf("indent it, and the rest of %s, by two spaces more than %s", above, above))
		}
		w.broken[strings.Join(join(at, above), "\x00")] = true
	}
}

// isDuration reports whether a string field holds a duration: a bare number lacks its unit there.
func isDuration(at api.Path) bool {
	return len(at) > 0 && slices.Contains([]string{"interval", "period", "ttl", "drainDeadline"}, at[len(at)-1])
}

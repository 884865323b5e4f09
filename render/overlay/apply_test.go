package overlay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/object"
)

// Each archive is a Component, perhaps a file "kinds" with words of --overlay-kinds, and "out": what became of cluster
// west, a source and target of one link with east-0 and the source of one to east-1.
func TestApply(t *testing.T) {
	ends := scene(t, 2)
	c := newCage(t, Options{})
	goldens(t, "apply", func(t *testing.T, tree fstest.MapFS) string {
		kinds := DefaultKinds()
		if words, ok := tree["kinds"]; ok {
			var err error
			if kinds, err = ParseKinds(strings.Fields(string(words.Data))); err != nil {
				t.Fatal(err)
			}
		}
		var more []string
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			more = append(more, name, string(tree[name].Data))
		}
		return changesIn(t, ends, NewApplier(c, kinds).Apply(t.Context(), in(ends, string(tree["kustomization.yaml"].Data), more...)))
	})
}

// changesIn returns what is not as it came in.
func changesIn(t *testing.T, before []object.Desired, out Output) string {
	t.Helper()
	var b strings.Builder
	for _, p := range out.Problems {
		fmt.Fprintln(&b, "problem:", p)
	}
	for _, p := range out.Patches {
		if !p.Selects {
			fmt.Fprintln(&b, "selects nothing:", p.Text)
		}
	}
	if all := commonReason(out.Ends); all != nil {
		fmt.Fprintf(&b, "blocked all: %s: %s\n", all.Code, all.Message)
		return b.String()
	}
	for i, w := range out.Ends {
		if w.Blocked != nil {
			fmt.Fprintf(&b, "blocked %s: %s: %s\n", w.End, w.Blocked.Code, w.Blocked.Message)
			continue
		}
		for j, o := range w.Objects {
			switch {
			case j >= len(before[i].Objects):
				fmt.Fprintf(&b, "extra in %s, phase %d:\n%s", w.End, o.Phase, indented(t, o))
			case o.Digest != before[i].Objects[j].Digest:
				fmt.Fprintf(&b, "changed in %s: %s\n", w.End, o.Key)
				difference(&b, "  ", content(t, before[i].Objects[j]), content(t, o))
			}
		}
	}
	if b.Len() == 0 {
		return "nothing changed\n"
	}
	return b.String()
}

func commonReason(ends []object.Desired) *object.Reason {
	for _, w := range ends {
		if w.Blocked == nil || *w.Blocked != *ends[0].Blocked {
			return nil
		}
	}
	return ends[0].Blocked
}

func content(t *testing.T, o object.Object) map[string]any {
	t.Helper()
	m, err := decode(o.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	removeDigest(m)
	return m
}

func indented(t *testing.T, o object.Object) string {
	t.Helper()
	text, err := yaml.Marshal(content(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n  ") + "\n"
}

// difference lists the fields that differ, in JSON.
func difference(b *strings.Builder, at string, was, is any) {
	if equal(was, is) {
		return
	}
	before, ok1 := was.(map[string]any)
	after, ok2 := is.(map[string]any)
	if ok1 && ok2 {
		for _, k := range union(before, after) {
			difference(b, at+"/"+k, before[k], after[k])
		}
		return
	}
	one, ok1 := was.([]any)
	two, ok2 := is.([]any)
	if ok1 && ok2 && len(one) == len(two) {
		for i := range one {
			difference(b, fmt.Sprintf("%s/%d", at, i), one[i], two[i])
		}
		return
	}
	text, err := json.Marshal(is)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(b, "%s: %s\n", at, text)
}

package overlay

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
)

// edit changes something of a JSON value at random.
func edit(r *rand.Rand, v any) any {
	if r.IntN(6) == 0 {
		return unusualValue(r)
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || r.IntN(5) == 0 {
			v[word(r)] = unusualValue(r)
			return v
		}
		keys := union(v, nil)
		k := keys[r.IntN(len(keys))]
		if r.IntN(6) == 0 {
			delete(v, k)
			return v
		}
		v[k] = edit(r, v[k])
		return v
	case []any:
		if len(v) == 0 || r.IntN(5) == 0 {
			return append(v, unusualValue(r))
		}
		i := r.IntN(len(v))
		v[i] = edit(r, v[i])
		return v
	}
	return unusualValue(r)
}

func word(r *rand.Rand) string {
	words := []string{
		"", "name", "namespace", "labels", "annotations", "metadata", "spec", "template", "containers", "image", "team",
		"affinity", "resources", "limits", "env", "livenessProbe", "exec", "httpGet", "host", "linkwright.dev/owner", "linkerd.io/inject", "a/b/c", "*",
	}
	return words[r.IntN(len(words))]
}

func unusualValue(r *rand.Rand) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return json.Number(strconv.Itoa(r.IntN(3)))
	case 2:
		return r.IntN(2) == 0
	case 3:
		return map[string]any{word(r): unusualValue(r)}
	case 4:
		return []any{unusualValue(r)}
	case 5:
		return map[string]any{}
	}
	return word(r)
}

// strip removes what the table lets an overlay change, so that the rest can be compared.
func strip(t *tree, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			next := t.at(k)
			if next != nil && next.leaf != nil {
				continue
			}
			out[k] = strip(next, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = strip(t.at("*"), v[i])
		}
		return out
	}
	return v
}

// FuzzMerge: whatever comes out of a build, nothing but what the table names is taken over, what labels and annotations
// were rendered stay, and none that is refused comes in.
func FuzzMerge(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, uint8(i))
	}
	ends, table := scene(f, 1), newTable()
	kinds := []string{"Deployment.apps", "PodDisruptionBudget.policy", "ServiceAccount", "Secret", "Service", "Link.multicluster.linkerd.io", "Role.rbac.authorization.k8s.io"}
	f.Fuzz(func(t *testing.T, seed uint64, edits uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		kind := kinds[r.IntN(len(kinds))]
		before := rendered(t, ends, kind)
		was, after := clone(t, before), any(clone(t, before))
		for range edits%16 + 1 {
			after = edit(r, after)
		}
		is, _ := after.(map[string]any)
		m := merge{kind: kind}
		got := m.object(table, before, is)
		if !equal(was, before) {
			t.Fatalf("merge changes its input")
		}
		own := table.of(kind)
		if a, b := strip(own, was), strip(own, got); !equal(a, b) {
			t.Fatalf("merge(%v) lets through what has no row: %v, want %v", is, b, a)
		}
		if !m.changed && !equal(got, was) {
			t.Fatalf("merge(%v) changes without saying so", is)
		}
		kept(t, own, was, got)
	})
}

// kept: rendered keys stay, others obey their rule, and judged values theirs.
func kept(t *testing.T, own *tree, was, got any) {
	t.Helper()
	before, _ := was.(map[string]any)
	after, _ := got.(map[string]any)
	if own.leaf != nil {
		if own.leaf.keys != nil {
			keptKeys(t, own.leaf, before, after)
		}
		if check := own.leaf.check; check != nil && got != nil && !equal(was, got) && check(got) != "" {
			t.Fatalf("%s came in: %s", own.leaf.path, check(got))
		}
		return
	}
	for word, next := range own.children {
		if word != "*" {
			kept(t, next, before[word], after[word])
			continue
		}
		one, _ := was.([]any)
		two, _ := got.([]any)
		for i := range min(len(one), len(two)) {
			kept(t, next, one[i], two[i])
		}
	}
}

func keptKeys(t *testing.T, f *field, before, after map[string]any) {
	t.Helper()
	for k, v := range before {
		if !equal(v, after[k]) {
			t.Fatalf("%s: rendered key %s became %v", f.path, k, after[k])
		}
	}
	for k, v := range after {
		if _, ok := before[k]; ok {
			continue
		}
		if _, text := v.(string); !text || f.keys(k) != "" {
			t.Fatalf("%s: key %s came in", f.path, k)
		}
	}
}

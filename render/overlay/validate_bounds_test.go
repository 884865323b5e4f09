package overlay

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
)

// numbered is a text so many times, with its number for every N.
func numbered(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "N", fmt.Sprint(i)))
	}
	return b.String()
}

// TestTooManyItems: of each thing the gate lets through as many as it says, and not one more.
func TestTooManyItems(t *testing.T) {
	const object = "---\napiVersion: v1\nkind: A\nmetadata: {name: aN}\n"
	const list = "---\napiVersion: v1\nkind: AList\nitems:\n"
	const item = "- {apiVersion: v1, kind: A, metadata: {name: aN}}\n"
	const patch = "- {target: {kind: A}, patch: '- {op: remove, path: /x}'}\n"
	for _, tt := range []struct {
		head, item string // of the kustomization
		most       int
		objects    string
		want       string
	}{
		{"patches:\n", patch, 400, object, "kustomization.yaml:3:1: patches: 401 patches are declared, and at most 400 are allowed"},
		{"labels:\n", "- {pairs: {xN: a}}\n", 100, object, "labels: 101 labels are declared"},
		{"configMapGenerator:\n", "- {name: xN, literals: [a=b]}\n", 200, object, "configMapGenerator: 201 generators are declared"},
		{"replacements:\n", "- {source: {kind: A, name: a}, targets: [{select: {kind: A}}]}\n", 200, object, "replacements: 201 replacements and vars are"},
		{"images:\n", "- {name: xN, newTag: a}\n", 200, object, "images: 201 images and replicas are declared"},
		{"labels:\n", "- {pairs: {xN: a}}\n", 44, numbered(100, object), "makes too many changes to 100 objects"},
		{"patches:\n", patch, 44, list + numbered(100, item), "makes too many changes to 100 objects"},
	} {
		for n, want := range map[int]string{tt.most: "", tt.most + 1: tt.want} {
			bounds(t, fstest.MapFS{
				"kustomization.yaml": {Data: []byte("resources: [a.yaml]\n" + tt.head + numbered(n, tt.item))},
				"a.yaml":             {Data: []byte(tt.objects)},
			}, want)
		}
	}
	for n, want := range map[int]string{2000: "", 2001: "the kustomization builds 2001 objects, and at most 2000 are allowed"} {
		bounds(t, fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")}, "a.yaml": {Data: []byte(numbered(n, object))}}, want)
	}
	for n, want := range map[int]string{500: "", 501: "the kustomization builds 501 objects, and at most 500 are allowed"} {
		tree := in(nil, "resources: [a.yaml]\n", "a.yaml", numbered(n, object)).Tree
		_, problems := validateComponent(tree, testDir, api.Pos{}, Limits{})
		judge(t, problems, want)
	}
}

// TestValidationChain: changes add up where kustomizations use one another, and stay apart where they stand side by side.
func TestValidationChain(t *testing.T) {
	object := numbered(100, "---\napiVersion: v1\nkind: A\nmetadata: {name: aN}\n")
	labels := "labels:\n" + numbered(30, "- {pairs: {xN: a}}\n")
	inner := func(names string) fstest.MapFS {
		return fstest.MapFS{
			"kustomization.yaml":   {Data: []byte(names)},
			"a/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n" + labels)},
			"a/a.yaml":             {Data: []byte(object)},
			"b/kustomization.yaml": {Data: []byte("resources: [b.yaml]\n" + labels)},
			"b/b.yaml":             {Data: []byte(strings.ReplaceAll(object, "kind: A", "kind: B"))},
			"c/kustomization.yaml": {Data: []byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + labels)},
		}
	}
	bounds(t, inner("resources: [a, b]\n"), "")
	bounds(t, inner("resources: [a]\n"+labels), "makes too many changes to 100 objects")
	bounds(t, inner("resources: [a]\ncomponents: [c]\n"), "makes too many changes to 100 objects")
}

func bounds(t *testing.T, tree fstest.MapFS, want string) {
	t.Helper()
	_, problems := newValidator(tree, Limits{}).validateRoot()
	judge(t, problems, want)
}

func judge(t *testing.T, problems []api.Problem, want string) {
	t.Helper()
	switch got := lines(problems); {
	case want == "" && got != "":
		t.Errorf("is refused: %s", got)
	case want != "" && (len(problems) != 1 || !strings.Contains(got, want) || problems[0].Hint == ""):
		t.Errorf("problems: got %q, want %q with a hint", got, want)
	}
}

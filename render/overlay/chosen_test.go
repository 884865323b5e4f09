package overlay

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// TestChooser: what a target chooses is what kustomize chooses by it.
func TestChooser(t *testing.T) {
	var rendering []map[string]any
	for _, w := range scene(t, 1) {
		for _, o := range w.Objects {
			in, err := newInput(o)
			if err != nil {
				t.Fatal(err)
			}
			rendering = append(rendering, in.before)
		}
	}
	target := func(kind, name, namespace string) types.Selector {
		return types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: kind}, Name: name, Namespace: namespace}}
	}
	group := types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Group: "rbac.*", Version: "v1"}}}
	labelled, annotated := target("", ".*", ""), target("", ".*", "")
	labelled.LabelSelector = "component=controller,!linkerd.io/extension"
	annotated.AnnotationSelector = "multicluster.linkerd.io/trust-domain"
	chosen := 0
	for _, s := range []types.Selector{
		{},
		target("Deployment", "", ""), target("Deploy", "", ""), target("Deployment|Service", ".*-east-0", ""), target("", "east-0", ""),
		target("Secret", "", "linkerd"), target("", "", "linkerd.*"), target("ClusterRoleBinding", "", ""),
		target("ClusterRoleBinding", "", ".*"), target("ClusterRoleBinding", "", "default"), group, labelled, annotated,
	} {
		c, err := newPatchTarget(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range rendering {
			want := selects(t, object, s)
			if want {
				chosen++
			}
			if got := c.matches(object); got != want {
				t.Errorf("chooses(%s, %s): %v, kustomize says %v", describe(s), identify(object).key, got, want)
			}
		}
	}
	if chosen == 0 {
		t.Error("no target chooses anything: this test sees nothing")
	}
}

// selects asks kustomize.
func selects(t *testing.T, object map[string]any, s types.Selector) bool {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	m, err := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Select(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(found) == 1
}

// TestOnlyPatches: as the gate gives a Component, one that labels touches more than it patches, also where it is another's.
func TestOnlyPatches(t *testing.T) {
	const patches = "patches:\n- target: {kind: Deployment}\n  patch: '- {op: add, path: /spec/paused, value: true}'\n"
	const inner = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	for _, tt := range []struct {
		outer, inner string
		want         bool
	}{
		{patches, inner, true},
		{patches + "resources: [policy.yaml]\ncomponents: [inner]\n", inner + patches, true},
		{patches + "labels: [{pairs: {a: b}}]\n", inner, false},
		{patches + "commonAnnotations: {a: b}\n", inner, false},
		{patches + "components: [inner]\n", inner + "labels: [{pairs: {a: b}}]\n", false},
	} {
		i := in(nil, tt.outer, "policy.yaml", policy, "inner/kustomization.yaml", tt.inner)
		c, problems := validateComponent(i.Tree, i.Dir, i.At, Limits{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := c.onlyPatches(); got != tt.want {
			t.Errorf("onlyPatches(%s, %s): %v, want %v", tt.outer, tt.inner, got, tt.want)
		}
	}
}

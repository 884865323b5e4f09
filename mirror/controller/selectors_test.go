package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

func label(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// TestSelectors: selectors of one key share a watch, and those that select nothing have none.
func TestSelectors(t *testing.T) {
	exported, discovered, member := label("x/exported", "true"), label("x/exported", "remote-discovery"), label("x/federated", "member")
	odd := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Exists"}}}
	wrong := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Nonsense"}}}
	for _, tt := range []struct {
		name     string
		spec     linkerd.LinkSpec
		headless bool
		want     selectors
	}{
		{
			"Linkerd's defaults",
			linkerd.LinkSpec{Selector: exported, RemoteDiscoverySelector: discovered, FederatedServiceSelector: member},
			false,
			selectors{[]string{"x/exported in (remote-discovery,true)", "x/federated in (member)"}, []string{"x/exported in (true)"}},
		},
		{
			"headless Services",
			linkerd.LinkSpec{Selector: exported, RemoteDiscoverySelector: discovered},
			true,
			selectors{[]string{"x/exported in (remote-discovery,true)"}, []string{"x/exported in (remote-discovery,true)"}},
		},
		{"expressions", linkerd.LinkSpec{Selector: odd}, false, selectors{[]string{"team=a,tier"}, []string{"team=a,tier"}}},
		{"alike", linkerd.LinkSpec{Selector: odd, FederatedServiceSelector: odd}, false, selectors{[]string{"team=a,tier"}, []string{"team=a,tier"}}},
		{"nothing", linkerd.LinkSpec{Selector: &metav1.LabelSelector{}}, false, selectors{}},
		{"an operator that does not exist selects nothing", linkerd.LinkSpec{Selector: wrong}, false, selectors{}},
	} {
		if diff := cmp.Diff(tt.want, parseSelectors(tt.spec, tt.headless), cmp.AllowUnexported(selectors{})); diff != "" {
			t.Errorf("%s: parseSelectors: -want +got\n%s", tt.name, diff)
		}
	}
}

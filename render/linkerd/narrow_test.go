package linkerd

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/linkwright/linkwright/object"
)

func parseSelector(t *testing.T, text string) *metav1.LabelSelector {
	t.Helper()
	if text == "" {
		return nil
	}
	all, err := labels.ParseToRequirements(text)
	if err != nil {
		t.Fatal(err)
	}
	operators := map[selection.Operator]metav1.LabelSelectorOperator{
		selection.Equals: metav1.LabelSelectorOpIn, selection.In: metav1.LabelSelectorOpIn, selection.NotIn: metav1.LabelSelectorOpNotIn,
		selection.NotEquals: metav1.LabelSelectorOpNotIn, selection.Exists: metav1.LabelSelectorOpExists, selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
	}
	s := &metav1.LabelSelector{}
	for _, r := range all {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: r.Key(), Operator: operators[r.Operator()], Values: r.Values().List(),
		})
	}
	return s
}

// A mirror stays if its labels meet whatever the new selector asks for beyond the old one. Labels that Linkerd does not copy tell
// nothing, so the mirror counts as lost.
func TestLost(t *testing.T) {
	tests := []struct {
		was, now string
		excluded []string
		narrows  bool
		lost     []string
	}{
		{"", "a=b", nil, false, nil},
		{"exported=true", "exported=true", nil, false, nil},
		{"exported=true", "", nil, true, []string{"api", "db", "web"}},
		{"exported=true,team=a", "exported=true", nil, false, nil},
		{"exported=true", "exported in (true,maybe)", nil, false, nil},
		{"exported=true", "exported", nil, false, nil},
		{"exported", "exported=true", nil, true, []string{"api", "db", "web"}}, // none of the mirrors says
		{"exported=true", "exported!=false", nil, false, nil},
		{"team notin (a,b)", "team notin (a)", nil, false, nil},
		{"!team", "team notin (a)", nil, false, nil},
		{"team!=a", "!team", nil, true, []string{"api", "web"}},
		{"exported=true", "exported=true,team=a", nil, true, []string{"api", "db"}},
		{"exported=true", "exported=true,team in (a,b)", nil, true, []string{"db"}},
		{"exported=true", "exported=true,team", nil, true, []string{"db"}},
		{"exported=true", "exported=true,team=a", []string{"team"}, true, []string{"api", "db", "web"}},
		{"exported=true", "exported=true,team=a", []string{"te/*"}, true, []string{"api", "db", "web"}},
		{"mirror.linkerd.io/exported=true", "mirror.linkerd.io/exported=true,mirror.linkerd.io/x!=y", nil, true, []string{"api", "db", "web"}},
	}
	var m Mirror
	seen := (object.Observation{}).Edit()
	for name, labels := range map[string]map[string]string{"web": {"team": "a"}, "api": {"team": "b"}, "db": {}} {
		k := object.Key{Kind: "Service", Namespace: "shop", Name: name}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
		if err != nil {
			t.Fatal(err)
		}
		m.Services = append(m.Services, k)
		seen.Put(k, object.Record{UID: name}, object.NewBody(body))
	}
	for _, tt := range tests {
		was, now := Selectors{Mirror: parseSelector(t, tt.was)}, Selectors{Mirror: parseSelector(t, tt.now), ExcludedLabels: tt.excluded}
		var lost []string
		for _, k := range now.Lost(was, m, seen.Observation()) {
			lost = append(lost, k.Name)
		}
		if got := now.Narrows(was); got != tt.narrows || !slices.Equal(lost, tt.lost) {
			t.Errorf("from %q to %q without %v: narrows %t, loses %v; want %t, %v", tt.was, tt.now, tt.excluded, got, lost, tt.narrows, tt.lost)
		}
	}
}

// Each selector takes away what it made: mirrors of services behind a gateway, discovered ones, memberships.
func TestLostByMode(t *testing.T) {
	service := func(name string) object.Key { return object.Key{Kind: "Service", Namespace: "shop", Name: name} }
	m := Mirror{
		Services: []object.Key{service("behind"), service("found")}, Discovered: []object.Key{service("found")},
		Federated: []Membership{{Key: service("shared")}},
	}
	one := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	was := Selectors{Mirror: one, Discovery: one, Federated: one}
	for want, now := range map[string]Selectors{
		"[]":                    was,
		"[behind]":              {Discovery: one, Federated: one},
		"[found]":               {Mirror: one, Federated: one},
		"[shared]":              {Mirror: one, Discovery: one},
		"[behind found shared]": {},
	} {
		var lost []string
		for _, k := range now.Lost(was, m, object.Observation{}) {
			lost = append(lost, k.Name)
		}
		if got := fmt.Sprint(lost); got != want {
			t.Errorf("%+v loses %s, want %s", now, got, want)
		}
	}
}

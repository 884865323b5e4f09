package fleet

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
)

// writtenSelector is a selector where it is declared.
type writtenSelector struct {
	doc      document
	path     api.Path
	selector *metav1.LabelSelector // may be nil
}

func (w writtenSelector) problem(hint, format string, args ...any) api.Problem {
	return w.doc.problem(api.Finding{Path: w.path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// writtenSpec is a LinkSpec where it is declared.
type writtenSpec struct {
	doc  document
	path api.Path
	api.LinkSpec
}

func (s writtenSpec) gateway() writtenSelector { return s.at("selector", s.Selector) }
func (s writtenSpec) remote() writtenSelector {
	return s.at("remoteDiscoverySelector", s.RemoteDiscoverySelector)
}

func (s writtenSpec) federated() writtenSelector {
	return s.at("federatedServiceSelector", s.FederatedServiceSelector)
}

func (s writtenSpec) at(field string, selector *metav1.LabelSelector) writtenSelector {
	return writtenSelector{s.doc, join(s.path, field), selector}
}

// specs returns every declared LinkSpec that is sound.
func (x *lintInput) specs() iter.Seq[writtenSpec] {
	return func(yield func(writtenSpec) bool) {
		for _, d := range x.links {
			if d.valid && !yield(writtenSpec{d.document, api.Path{"spec"}, d.value.Spec.LinkSpec}) {
				return
			}
		}
		for _, d := range x.meshes {
			if d.valid && !yield(writtenSpec{d.document, api.Path{"spec", "template"}, d.value.Spec.Template}) {
				return
			}
		}
	}
}

// impossibleSelectors warns of selectors that no labels can fulfil.
func impossibleSelectors(x *lintInput) []api.Problem {
	var out []api.Problem
	judge := func(w writtenSelector) {
		if key := contradiction(w.selector); key != "" {
			out = append(out, w.problem("", "nothing can match, because the requirements for label %s contradict each other", key))
		}
	}
	for s := range x.specs() {
		judge(s.gateway())
		judge(s.remote())
		judge(s.federated())
	}
	for _, d := range x.meshes {
		if d.valid {
			judge(writtenSelector{d.document, api.Path{"spec", "clusters"}, &d.value.Spec.Clusters})
			judge(writtenSelector{d.document, api.Path{"spec", "hubs"}, d.value.Spec.Hubs})
		}
	}
	return out
}

// requirementSet is what a selector asks of one label, taken together.
type requirementSet struct {
	absent, present bool
	one             map[string]bool // of these values, where it is not nil
	none            map[string]bool // of these
}

// contradiction returns the first label of which the impossible is asked, or nothing.
func contradiction(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}
	labels := map[string]*requirementSet{}
	for _, r := range requirements(s) {
		if labels[r.Key] == nil {
			labels[r.Key] = &requirementSet{none: map[string]bool{}}
		}
		labels[r.Key].add(r)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if labels[key].impossible() {
			return key
		}
	}
	return ""
}

func (a *requirementSet) add(r metav1.LabelSelectorRequirement) {
	values := map[string]bool{}
	for _, v := range r.Values {
		values[v] = true
	}
	switch r.Operator {
	case metav1.LabelSelectorOpExists:
		a.present = true
	case metav1.LabelSelectorOpDoesNotExist:
		a.absent = true
	case metav1.LabelSelectorOpNotIn:
		maps.Copy(a.none, values)
	case metav1.LabelSelectorOpIn:
		if a.one != nil {
			maps.DeleteFunc(values, func(v string, _ bool) bool { return !a.one[v] })
		}
		a.one = values
	}
}

func (a *requirementSet) impossible() bool {
	if a.absent && (a.present || a.one != nil) {
		return true
	}
	maps.DeleteFunc(a.one, func(v string, _ bool) bool { return a.none[v] })
	return a.one != nil && len(a.one) == 0
}

// requirements gives a selector in one form: a label is a requirement with one value.
func requirements(s *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	if s == nil {
		return nil
	}
	var out []metav1.LabelSelectorRequirement
	for key, value := range s.MatchLabels {
		out = append(out, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
	}
	for _, r := range s.MatchExpressions {
		r.Values = slices.Compact(slices.Sorted(slices.Values(r.Values)))
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b metav1.LabelSelectorRequirement) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values))
	})
	return out
}

// emptySelectors warns of selectors written as {}. That of the gateway may be meant so, where something else is selected.
func emptySelectors(x *lintInput) []api.Problem {
	var out []api.Problem
	for s := range x.specs() {
		all := []writtenSelector{s.remote(), s.federated()}
		if !s.UsesRemoteDiscovery() {
			all = append(all, s.gateway())
		}
		for _, w := range all {
			if w.selector != nil && len(requirements(w.selector)) == 0 {
				out = append(out, w.problem("name labels, or remove it", "selects no service, because an empty selector selects nothing in Linkerd"))
			}
		}
	}
	return out
}

// sameSelectors warns of remote discovery and federation of just what goes through the gateway.
func sameSelectors(x *lintInput) []api.Problem {
	var out []api.Problem
	for _, targets := range x.linksOf {
		for _, t := range targets {
			s := writtenSpec{t.doc, api.Path{"spec"}, t.origin.spec}
			out = append(out, s.same(x.names[t.index].Spec.Gateway)...)
		}
	}
	for _, m := range x.meshRules {
		s := writtenSpec{m.doc.document, api.Path{"spec", "template"}, m.spec}
		for _, i := range m.active.members {
			if g := x.names[i].Spec.Gateway; g.On() {
				out = append(out, s.same(g)...)
				break
			}
		}
	}
	return out
}

// same judges a spec for a target with that gateway.
func (s writtenSpec) same(g api.Gateway) []api.Problem {
	if !g.On() || !s.UsesRemoteDiscovery() {
		return nil
	}
	gateway := requirements(s.SelectorFor(g))
	equal := func(w writtenSelector) bool {
		return len(gateway) > 0 && slices.EqualFunc(gateway, requirements(w.selector), equalRequirements)
	}
	var out []api.Problem
	if w := s.remote(); equal(w) {
		out = append(out, w.problem("give them a label of their own, or declare selector: {}",
			"selects the same services as selector, so Linkerd mirrors none of them through the gateway"))
	}
	if w := s.federated(); equal(w) {
		out = append(out, w.problem("select a label such as mirror.linkerd.io/federated: member",
			"selects the same services as selector, so each is both mirrored alone and federated"))
	}
	return out
}

func equalRequirements(a, b metav1.LabelSelectorRequirement) bool {
	return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
}

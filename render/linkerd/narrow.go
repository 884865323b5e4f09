package linkerd

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/linkwright/linkwright/object"
)

// Selectors are the fields of a Link's spec that decide which services it mirrors, and which labels their mirrors have.
type Selectors struct {
	Mirror, Discovery, Federated *metav1.LabelSelector
	ExcludedLabels               []string
}

// SelectorsIn are those of a Link's JSON.
func SelectorsIn(link object.Body) Selectors { return decodeSpec(link).Selectors() }

// Selectors are those of a Link's spec.
func (s LinkSpec) Selectors() Selectors {
	return Selectors{s.Selector, s.RemoteDiscoverySelector, s.FederatedServiceSelector, s.ExcludedLabels}
}

// Chosen are the services that a Link selects, by their labels as kubectl writes selectors; empty: none.
type Chosen struct{ Mirrored, Discovered, Federated string }

// Chosen are the services that the selectors choose.
func (s Selectors) Chosen() Chosen {
	text := func(of *metav1.LabelSelector) string {
		if !selectsAny(of) {
			return ""
		}
		return metav1.FormatLabelSelector(of)
	}
	return Chosen{text(s.Mirror), text(s.Discovery), text(s.Federated)}
}

// Narrows reports whether a Link may select fewer services than before: its controller then deletes their mirrors
// (linkerd2 multicluster/service-mirror/cluster_watcher.go).
func (s Selectors) Narrows(was Selectors) bool {
	return compareSelectors(was.Mirror, s.Mirror).narrows() || compareSelectors(was.Discovery, s.Discovery).narrows() || compareSelectors(was.Federated, s.Federated).narrows()
}

// Lost lists, in order, the Services of a target that a Link no longer selects once its selectors change from was to s. A mirror
// has the labels of its service without those with Linkerd's prefix and excluded ones, so a requirement on one of these counts
// as not met. A federated Service has the labels of some member, which need not be those of another: any narrowing removes all of
// the target's memberships.
func (s Selectors) Lost(was Selectors, m Mirror, observed object.Observation) []object.Key {
	mirrored, discovered := compareSelectors(was.Mirror, s.Mirror), compareSelectors(was.Discovery, s.Discovery)
	excluded := slices.Concat(was.ExcludedLabels, s.ExcludedLabels)
	var out []object.Key
	for _, k := range m.Services {
		by := mirrored
		if slices.Contains(m.Discovered, k) {
			by = discovered
		}
		if by.narrows() && by.loses(labelsOf(k, observed), excluded) {
			out = append(out, k)
		}
	}
	if compareSelectors(was.Federated, s.Federated).narrows() {
		for _, f := range m.Federated {
			out = append(out, f.Key)
		}
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}

func labelsOf(k object.Key, observed object.Observation) labels.Set {
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	body, _ := observed.Body(k)
	if json.Unmarshal(body.Bytes(), &o) != nil {
		return nil
	}
	return o.Metadata.Labels
}

// selectorChange is how a selector changed: it selects nothing of what it did (all), or only what meets added requirements.
type selectorChange struct {
	all   bool
	added []labels.Requirement
}

func (n selectorChange) narrows() bool { return n.all || len(n.added) > 0 }

// compareSelectors compares two selectors. A requirement that an earlier one implies does not narrow them.
func compareSelectors(was, now *metav1.LabelSelector) selectorChange {
	if !selectsAny(was) {
		return selectorChange{}
	}
	before, err := metav1.LabelSelectorAsSelector(was)
	after, wrong := metav1.LabelSelectorAsSelector(now)
	if err != nil || wrong != nil || !selectsAny(now) {
		return selectorChange{all: true}
	}
	had, _ := before.Requirements()
	want, _ := after.Requirements()
	var n selectorChange
	for _, r := range want {
		if !slices.ContainsFunc(had, func(q labels.Requirement) bool { return implies(q, r) }) {
			n.added = append(n.added, r)
		}
	}
	return n
}

// implies reports whether whatever meets q meets r.
//
//	q in V          r in W, V within W; r exists; r not in W, nothing in both
//	q not in V      r not in W, W within V
//	q exists        r exists
//	q exists not    r exists not; r not in anything
func implies(q, r labels.Requirement) bool {
	if q.Key() != r.Key() {
		return false
	}
	v, w := sets.New(q.ValuesUnsorted()...), sets.New(r.ValuesUnsorted()...)
	switch q.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			return w.IsSuperset(v)
		case selection.NotIn, selection.NotEquals:
			return v.Intersection(w).Len() == 0
		}
		return r.Operator() == selection.Exists
	case selection.NotIn, selection.NotEquals:
		return (r.Operator() == selection.NotIn || r.Operator() == selection.NotEquals) && v.IsSuperset(w)
	case selection.Exists:
		return r.Operator() == selection.Exists
	case selection.DoesNotExist:
		return r.Operator() == selection.DoesNotExist || r.Operator() == selection.NotIn || r.Operator() == selection.NotEquals
	}
	return false
}

// loses reports whether an object with these labels may no longer be selected.
func (n selectorChange) loses(of labels.Set, excluded []string) bool {
	return n.all || slices.ContainsFunc(n.added, func(r labels.Requirement) bool {
		return !isCopied(r.Key(), excluded) || !r.Matches(of)
	})
}

// isCopied reports whether Linkerd copies a label of a service to its mirror. An excluded entry PREFIX/* takes whatever begins with
// PREFIX.
func isCopied(label string, excluded []string) bool {
	for _, prefix := range []string{"mirror.linkerd.io", "multicluster.linkerd.io"} {
		if strings.HasPrefix(label, prefix) {
			return false
		}
	}
	return !slices.ContainsFunc(excluded, func(e string) bool {
		prefix, wild := strings.CutSuffix(e, "/*")
		return e == label || wild && strings.HasPrefix(label, prefix)
	})
}

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

// Selectors are what of a Link's spec decides which services it mirrors, and which of their labels their mirrors carry.
type Selectors struct {
	Mirror, Discovery, Federated *metav1.LabelSelector
	ExcludedLabels               []string
}

// SelectorsIn are those of a Link's JSON.
func SelectorsIn(link object.Body) Selectors { return specOf(link).Selectors() }

// Selectors are those of a Link's spec.
func (s LinkSpec) Selectors() Selectors {
	return Selectors{s.Selector, s.RemoteDiscoverySelector, s.FederatedServiceSelector, s.ExcludedLabels}
}

// Narrows reports whether a Link chose services that it may choose no longer: its controller then removes what that made
// (linkerd2 multicluster/service-mirror/cluster_watcher.go).
func (s Selectors) Narrows(was Selectors) bool {
	return narrowing(was.Mirror, s.Mirror).some() || narrowing(was.Discovery, s.Discovery).some() || narrowing(was.Federated, s.Federated).some()
}

// Lost lists, in order, the Services of a target that a Link no longer chooses once its selectors change from was to s. A mirror
// carries the labels of its service but for those with Linkerd's prefix and excluded ones, so a requirement on one of these counts
// as not met. A federated Service has the labels of some member, which say nothing of another: any narrowing takes all of the
// target's memberships.
func (s Selectors) Lost(was Selectors, m Mirror, seen object.Observation) []object.Key {
	mirrored, discovered := narrowing(was.Mirror, s.Mirror), narrowing(was.Discovery, s.Discovery)
	excluded := slices.Concat(was.ExcludedLabels, s.ExcludedLabels)
	var out []object.Key
	for _, k := range m.Services {
		by := mirrored
		if slices.Contains(m.Discovered, k) {
			by = discovered
		}
		if by.some() && by.loses(labelsOf(k, seen), excluded) {
			out = append(out, k)
		}
	}
	if narrowing(was.Federated, s.Federated).some() {
		for _, f := range m.Federated {
			out = append(out, f.Key)
		}
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}

func labelsOf(k object.Key, seen object.Observation) labels.Set {
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	body, _ := seen.Body(k)
	if json.Unmarshal(body.Bytes(), &o) != nil {
		return nil
	}
	return o.Metadata.Labels
}

// narrowed is how a selector changed: all that it chose is no longer chosen, or what does not meet more requirements.
type narrowed struct {
	all  bool
	more []labels.Requirement
}

func (n narrowed) some() bool { return n.all || len(n.more) > 0 }

// narrowing compares two selectors. A requirement that an earlier one implies takes nothing away.
func narrowing(was, now *metav1.LabelSelector) narrowed {
	if !chooses(was) {
		return narrowed{}
	}
	before, err := metav1.LabelSelectorAsSelector(was)
	after, wrong := metav1.LabelSelectorAsSelector(now)
	if err != nil || wrong != nil || !chooses(now) {
		return narrowed{all: true}
	}
	had, _ := before.Requirements()
	want, _ := after.Requirements()
	var n narrowed
	for _, r := range want {
		if !slices.ContainsFunc(had, func(q labels.Requirement) bool { return implies(q, r) }) {
			n.more = append(n.more, r)
		}
	}
	return n
}

// implies says that whatever meets q meets r.
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

// loses reports whether something with these labels is no longer chosen, or that they do not tell.
func (n narrowed) loses(of labels.Set, excluded []string) bool {
	return n.all || slices.ContainsFunc(n.more, func(r labels.Requirement) bool {
		return !copied(r.Key(), excluded) || !r.Matches(of)
	})
}

// copied reports whether Linkerd copies a label of a service to its mirror. An excluded entry PREFIX/* takes whatever begins with
// PREFIX.
func copied(label string, excluded []string) bool {
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

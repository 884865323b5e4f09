package rollout

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budget is a PodDisruptionBudget: how many of its pods may be disrupted now.
type Budget struct {
	Namespace, Name string
	Selector        labels.Selector
	Allowed         int // zero also if its controller has not seen its newest version
}

// OfBudget returns what a rollout needs of a PodDisruptionBudget. A selector that nobody understands selects all: it allows what it allows.
func OfBudget(p *policyv1.PodDisruptionBudget) Budget {
	s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
	if err != nil {
		s = labels.Everything()
	}
	b := Budget{Namespace: p.Namespace, Name: p.Name, Selector: s}
	if p.Status.ObservedGeneration == p.Generation {
		b.Allowed = int(p.Status.DisruptionsAllowed)
	}
	return b
}

// protects reports whether a budget is about pods of a workload.
func (b Budget) protects(w Workload) bool {
	return b.Namespace == w.Namespace && b.Selector.Matches(labels.Set(w.Labels))
}

func allowances(budgets []Budget) []int {
	out := make([]int, len(budgets))
	for i, b := range budgets {
		out[i] = b.Allowed
	}
	return out
}

// denies returns the budget that allows no disruption of a workload's pods now; empty: none does. The API server asks all budgets of a pod, too, before
// it evicts it (policy/v1, eviction).
func (d *decision) denies(w Workload) string {
	for i, b := range d.Budgets {
		if d.left[i] < 1 && b.protects(w) {
			return b.Name
		}
	}
	return ""
}

// disrupt uses up one disruption of each budget that protects a workload; false: one allows none.
func (d *decision) disrupt(w Workload) bool {
	if d.denies(w) != "" {
		return false
	}
	for i, b := range d.Budgets {
		if b.protects(w) {
			d.left[i]--
		}
	}
	return true
}

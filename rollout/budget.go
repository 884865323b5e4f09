package rollout

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budget is a PodDisruptionBudget: how many of its pods may be disrupted now.
type Budget struct {
	Namespace, Name string
	Selector        labels.Selector
	Allowed         bool // it allows a disruption, and its controller has seen its newest version
}

// OfBudget returns what a rollout needs of a PodDisruptionBudget. A selector that nobody understands selects all: it allows what it allows.
func OfBudget(p *policyv1.PodDisruptionBudget) Budget {
	s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
	if err != nil {
		s = labels.Everything()
	}
	return Budget{Namespace: p.Namespace, Name: p.Name, Selector: s, Allowed: p.Status.DisruptionsAllowed > 0 && p.Status.ObservedGeneration == p.Generation}
}

// denies returns the budget that allows no disruption of a workload's pods now; empty: none does. The API server asks all budgets of a pod, too, before
// it evicts it (policy/v1, eviction).
func denies(budgets []Budget, w Workload) string {
	at := slices.IndexFunc(budgets, func(b Budget) bool {
		return b.Namespace == w.Namespace && !b.Allowed && b.Selector.Matches(labels.Set(w.Labels))
	})
	if at < 0 {
		return ""
	}
	return budgets[at].Name
}

package controller

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/linkwright/linkwright/render/linkerd"
)

// parseSelectors returns what to watch for a link. Selectors of one label and the same key share a watch: by default, there is one for
// mirror.linkerd.io/exported, and one for mirror.linkerd.io/federated. Endpoints are watched of what the gateway serves, since the control plane
// resolves the others, and of headless Services.
func parseSelectors(s linkerd.LinkSpec, headless bool) selectors {
	out := selectors{services: combined(s.Selector, s.RemoteDiscoverySelector, s.FederatedServiceSelector)}
	if headless {
		out.endpoints = combined(s.Selector, s.RemoteDiscoverySelector)
	} else {
		out.endpoints = combined(s.Selector)
	}
	return out
}

// watched is what to watch for the link.
func (l link) watched(o Options) selectors { return parseSelectors(l.Spec.LinkSpec, l.isHeadless(o)) }

// combined returns selectors that together select what any of the given ones does. A selector that selects nothing is left out.
func combined(all ...*metav1.LabelSelector) (out []string) {
	values := map[string][]string{} // of selectors of one label, by its key
	for _, s := range all {
		if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			continue
		}
		if len(s.MatchLabels) == 1 && len(s.MatchExpressions) == 0 {
			for key, value := range s.MatchLabels {
				values[key] = append(values[key], value)
			}
			continue
		}
		if parsed, err := metav1.LabelSelectorAsSelector(s); err == nil {
			out = append(out, parsed.String())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if r, err := labels.NewRequirement(key, selection.In, values[key]); err == nil {
			out = append(out, labels.NewSelector().Add(*r).String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

package testbed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// link is a Link as a mirror reads it. That of the local half has no name.
type link struct {
	name     string
	uid      types.UID
	spec     linkSpec
	text     string // of the spec, to see whether it changed
	labelled bool   // Endpoints get the labels of their Service, as since 2.18
}

// cluster is the target's name, which suffixes and labels take.
func (l link) cluster() string { return orDefault(l.spec.TargetClusterName, l.name) }

type linkSpec struct {
	TargetClusterName        string `json:"targetClusterName"`
	TargetClusterDomain      string `json:"targetClusterDomain"`
	ClusterCredentialsSecret string `json:"clusterCredentialsSecret"`
	GatewayAddress           string `json:"gatewayAddress"`
	GatewayPort              string `json:"gatewayPort"`
	GatewayIdentity          string `json:"gatewayIdentity"`
	ProbeSpec                struct {
		Path             string `json:"path"`
		Port             string `json:"port"`
		Period           string `json:"period"`
		FailureThreshold string `json:"failureThreshold"`
	} `json:"probeSpec"`
	Selector                 *metav1.LabelSelector `json:"selector"`
	RemoteDiscoverySelector  *metav1.LabelSelector `json:"remoteDiscoverySelector"`
	FederatedServiceSelector *metav1.LabelSelector `json:"federatedServiceSelector"`
	ExcludedAnnotations      []string              `json:"excludedAnnotations"`
	ExcludedLabels           []string              `json:"excludedLabels"`
}

func newLink(u *unstructured.Unstructured) (link, error) {
	l := link{name: u.GetName(), uid: u.GetUID()}
	spec, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil {
		return l, fmt.Errorf("read link %s: %w", l.name, err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return l, fmt.Errorf("read link %s: %w", l.name, err)
	}
	l.text = string(text)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &l.spec); err != nil {
		return l, fmt.Errorf("read link %s: %w", l.name, err)
	}
	return l, nil
}

// matches is false for a selector that is absent or empty, as Linkerd has it.
func matches(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}

// excluded follows Linkerd: a key itself, or "prefix/*", which is a mere
// comparison of beginnings.
func excluded(key string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, ok := strings.CutSuffix(entry, "/*")
		return entry == key || ok && strings.HasPrefix(key, prefix)
	})
}

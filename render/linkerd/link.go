package linkerd

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

// LinkSpec is the spec of a Linkerd Link.
type LinkSpec struct {
	TargetClusterName             string                `json:"targetClusterName"`
	TargetClusterDomain           string                `json:"targetClusterDomain"`
	TargetClusterLinkerdNamespace string                `json:"targetClusterLinkerdNamespace"`
	ClusterCredentialsSecret      string                `json:"clusterCredentialsSecret"`
	GatewayAddress                string                `json:"gatewayAddress,omitempty"`
	GatewayPort                   string                `json:"gatewayPort,omitempty"`
	GatewayIdentity               string                `json:"gatewayIdentity,omitempty"`
	ProbeSpec                     *ProbeSpec            `json:"probeSpec,omitempty"`
	Selector                      *metav1.LabelSelector `json:"selector,omitempty"`
	RemoteDiscoverySelector       *metav1.LabelSelector `json:"remoteDiscoverySelector,omitempty"`
	FederatedServiceSelector      *metav1.LabelSelector `json:"federatedServiceSelector,omitempty"`
	ExcludedAnnotations           []string              `json:"excludedAnnotations,omitempty"`
	ExcludedLabels                []string              `json:"excludedLabels,omitempty"`
}

// ProbeSpec is how the controller probes the gateway; timeout and threshold are left to the CRD's defaults.
type ProbeSpec struct {
	Path   string `json:"path,omitempty"`
	Port   string `json:"port,omitempty"`
	Period string `json:"period,omitempty"`
}

// Encode returns the Linkerd Link of a version without its metadata. It leaves out empty fields, and writes the others as
// encoding/json would (linkerd2 multicluster/charts/linkerd-multicluster/templates/link-crd.yaml). All numbers
// are strings there.
func (s LinkSpec) Encode(version string) (object.Encoded, error) {
	m := append(make(object.Members, 0, 1024), `{"kind":"Link","apiVersion":"`+Group+"/"...)
	m = append(append(m, version...), `","metadata":{}`...)
	m.Open("spec")
	m.Text("targetClusterName", s.TargetClusterName)
	m.Text("targetClusterDomain", s.TargetClusterDomain)
	m.Text("targetClusterLinkerdNamespace", s.TargetClusterLinkerdNamespace)
	m.Text("clusterCredentialsSecret", s.ClusterCredentialsSecret)
	m.TextIfSet("gatewayAddress", s.GatewayAddress)
	m.TextIfSet("gatewayPort", s.GatewayPort)
	m.TextIfSet("gatewayIdentity", s.GatewayIdentity)
	if p := s.ProbeSpec; p != nil {
		m.Open("probeSpec")
		m.TextIfSet("path", p.Path)
		m.TextIfSet("port", p.Port)
		m.TextIfSet("period", p.Period)
		m.Close()
	}
	err := errors.Join(
		encodeSelector(&m, "selector", s.Selector),
		encodeSelector(&m, "remoteDiscoverySelector", s.RemoteDiscoverySelector),
		encodeSelector(&m, "federatedServiceSelector", s.FederatedServiceSelector),
	)
	m.Texts("excludedAnnotations", s.ExcludedAnnotations)
	m.Texts("excludedLabels", s.ExcludedLabels)
	m.Close()
	m.Close()
	return object.Encoded(m), err
}

// encodeSelector adds a selector. Nearly all have a single label.
func encodeSelector(m *object.Members, name string, s *metav1.LabelSelector) error {
	switch {
	case s == nil:
		return nil
	case len(s.MatchLabels) == 1 && len(s.MatchExpressions) == 0:
		m.Open(name)
		m.Open("matchLabels")
		for label, value := range s.MatchLabels {
			m.Text(label, value)
		}
		m.Close()
		m.Close()
		return nil
	}
	raw, err := json.Marshal(s)
	m.Raw(name, raw)
	return err
}

// DiffersOnlyInFacts reports whether a Link differs from a live one only in facts of the target: its domain, and how its gateway is reached.
func DiffersOnlyInFacts(live, now object.Body) bool {
	a, b := decodeSpec(live), decodeSpec(now)
	if reflect.DeepEqual(a, b) {
		return false // in its labels, then
	}
	for _, s := range []*LinkSpec{&a, &b} {
		s.TargetClusterDomain, s.GatewayAddress, s.GatewayPort, s.GatewayIdentity, s.ProbeSpec = "", "", "", "", nil
	}
	return reflect.DeepEqual(a, b)
}

// AddressesIn are the gateway's addresses in a Link's JSON.
func AddressesIn(link object.Body) []string {
	at := decodeSpec(link).GatewayAddress
	if at == "" {
		return nil
	}
	return strings.Split(at, ",")
}

// selectors are the fields of a Link's spec that select services.
func selectors() []string {
	return []string{"selector", "remoteDiscoverySelector", "federatedServiceSelector"}
}

// WithoutSelectors is the content to apply to drain a live Link, and the Link's owner: its spec, labels and annotations in the version in
// which it was read, without selectors; false for what is no Link.
func WithoutSelectors(link object.Body) (content map[string]any, owner string, ok bool) {
	var l struct {
		APIVersion string `json:"apiVersion"`
		Metadata   struct {
			Name        string            `json:"name"`
			Namespace   string            `json:"namespace"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec map[string]any `json:"spec"`
	}
	d := json.NewDecoder(bytes.NewReader(link.Bytes()))
	d.UseNumber()
	if d.Decode(&l) != nil || l.Spec == nil || l.Metadata.Name == "" || !strings.HasPrefix(l.APIVersion, Group+"/") {
		return nil, "", false
	}
	for _, name := range selectors() {
		delete(l.Spec, name)
	}
	return map[string]any{
		"apiVersion": l.APIVersion, "kind": "Link", "spec": l.Spec,
		"metadata": map[string]any{
			"name": l.Metadata.Name, "namespace": l.Metadata.Namespace,
			"labels": anyMap(l.Metadata.Labels), "annotations": anyMap(l.Metadata.Annotations),
		},
	}, l.Metadata.Labels[object.OwnerLabel], true
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// MirrorOf is the owner of the installation whose shared controller mirrors a Link; empty: none does.
func MirrorOf(link object.Body) string {
	o, _ := decodeObject(link)
	return o.Metadata.Labels[MirrorLabel]
}

// UsesDiscovery reports whether a Link's JSON makes the source's control plane use its credential.
func UsesDiscovery(link object.Body) bool {
	s := decodeSpec(link)
	return selectsAny(s.RemoteDiscoverySelector, s.FederatedServiceSelector)
}

// CredentialEntries returns the secret that a Link's JSON names, and its credential entries (CredentialEntry).
func CredentialEntries(link object.Body) (secret string, entries []string) {
	s := decodeSpec(link)
	return s.ClusterCredentialsSecret, slices.DeleteFunc(s.ExcludedAnnotations, func(a string) bool { return !strings.HasPrefix(a, credentialPrefix) })
}

// decodeSpec is zero for what is no Link.
func decodeSpec(link object.Body) LinkSpec {
	var l struct {
		Spec LinkSpec `json:"spec"`
	}
	if json.Unmarshal(link.Bytes(), &l) != nil {
		return LinkSpec{}
	}
	l.Spec.restoreCredential()
	return l.Spec
}

func selectsAny(selectors ...*metav1.LabelSelector) bool {
	for _, s := range selectors {
		if s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
			return true
		}
	}
	return false
}

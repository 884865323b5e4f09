package linkerd

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

// LinkVersions are the versions of the Linkerd Link, the newest first (linkerd2 multicluster/charts/linkerd-multicluster/templates/link-crd.yaml).
func LinkVersions() []string { return []string{LinkVersion, "v1alpha2", "v1alpha1"} }

// LinkVersion is the version of Linkerd Links that a source's API serves, the newest.
func (f *Facts) LinkVersion() string {
	release, _ := Running(f.Version)
	return cmp.Or(f.Links, release.Link, LinkVersion)
}

// SupportsFederated reports whether Links of a version have a selector for federated Services: since Linkerd 2.17.
func SupportsFederated(version string) bool { return version != "v1alpha1" }

// NeedsGateway reports whether Links of a version must name a gateway: before 2.17 their readers require its address, port, identity
// and probe, and read no Link of the cluster if one lacks them (linkerd2 pkg/multicluster/link.go).
func NeedsGateway(version string) bool { return version == "v1alpha1" }

// SupportsExcludes reports whether Links of a version have lists of labels and annotations that are not copied to mirrors: since 2.18.
func SupportsExcludes(version string) bool { return version == LinkVersion }

// Serves is the newest version of Linkerd Links that a cluster serves; empty: none.
func Serves(observed object.Observation) string {
	for _, v := range LinkVersions() {
		if !slices.Contains(observed.Unserved, linksIn(v).KindName()) {
			return v
		}
	}
	return ""
}

// OlderWatches are the watches of Links in older versions, for a cluster that does not serve LinkVersion. A cluster that serves it
// needs none, because every version shows all Links.
func OlderWatches(observed object.Observation) (out []object.Watch) {
	versions := LinkVersions()
	if !slices.Contains(observed.Unserved, linksIn(versions[0]).KindName()) {
		return nil
	}
	for _, v := range versions[1:] {
		out = append(out, linksIn(v))
	}
	return out
}

func linksIn(version string) object.Watch {
	return object.Watch{Group: Group, Version: version, Kind: "Link", Depth: object.Whole}
}

// credentialLabel is a label that no service has. A Link without exclude lists has a selector that excludes services with the
// fingerprint as its value: a changed credential changes the Link's spec, and the selector selects the same services.
const credentialLabel = object.Prefix + "credential"

// In returns the spec for Links of an older version: the credential entry moves to the first selector that is not empty. An empty
// selector must stay empty: with a requirement in it, it would select everything.
func (s LinkSpec) In(version string) LinkSpec {
	if SupportsExcludes(version) {
		return s
	}
	at := slices.IndexFunc(s.ExcludedAnnotations, func(a string) bool { return strings.HasPrefix(a, credentialPrefix) })
	if at >= 0 {
		s.addCredential(strings.TrimPrefix(s.ExcludedAnnotations[at], credentialPrefix))
	}
	s.ExcludedAnnotations, s.ExcludedLabels = nil, nil
	if !SupportsFederated(version) {
		s.FederatedServiceSelector = nil
	}
	return s
}

// AppliedIn is the older version in which linkwright last applied a live Link, if the next write in the served version must have no
// newer fields: an API server refuses to apply a field that the version of the last apply does not have. One write in the served
// version without such fields lets the next one have all. Empty: no such restriction applies.
func AppliedIn(live object.Record, link object.Body, served string) string {
	last := live.AppliedIn()
	all := LinkVersions()
	if live.Mark != object.Ours || slices.Index(all, last) <= slices.Index(all, served) {
		return ""
	}
	s := decodeSpec(link)
	if selectsAny(s.FederatedServiceSelector) && !SupportsFederated(last) || len(s.ExcludedLabels) > 0 {
		return ""
	}
	return last
}

func (s *LinkSpec) addCredential(fingerprint string) {
	for _, at := range s.selectorFields() {
		if !selectsAny(*at) {
			continue
		}
		with := (*at).DeepCopy()
		with.MatchExpressions = append(with.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: credentialLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{fingerprint},
		})
		*at = with
		return
	}
}

// restoreCredential undoes addCredential: it moves the requirement from the selectors to ExcludedAnnotations, so that Links of all
// versions compare alike.
func (s *LinkSpec) restoreCredential() {
	for _, at := range s.selectorFields() {
		if *at == nil {
			continue
		}
		(*at).MatchExpressions = slices.DeleteFunc((*at).MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
			if e.Key != credentialLabel || e.Operator != metav1.LabelSelectorOpNotIn || len(e.Values) != 1 {
				return false
			}
			s.ExcludedAnnotations = append(s.ExcludedAnnotations, CredentialEntry(e.Values[0]))
			return true
		})
		if len((*at).MatchExpressions) == 0 {
			(*at).MatchExpressions = nil
		}
	}
}

func (s *LinkSpec) selectorFields() []**metav1.LabelSelector {
	return []**metav1.LabelSelector{&s.Selector, &s.RemoteDiscoverySelector, &s.FederatedServiceSelector}
}

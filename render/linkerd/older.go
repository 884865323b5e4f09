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

// HoldsFederated reports whether Links of a version may make members of federated Services: since 2.17.
func HoldsFederated(version string) bool { return version != "v1alpha1" }

// NeedsGateway reports whether Links of a version must name a gateway: before 2.17 their readers demand its address, port, identity and probe, and
// read no Link of the cluster where one lacks them (linkerd2 pkg/multicluster/link.go).
func NeedsGateway(version string) bool { return version == "v1alpha1" }

// HoldsExcludes reports whether Links of a version have lists of what is not copied to mirrors: since 2.18.
func HoldsExcludes(version string) bool { return version == LinkVersion }

// Serves is the newest version of Linkerd Links that a cluster serves, as far as it was looked for; empty: none.
func Serves(seen object.Observation) string {
	for _, v := range LinkVersions() {
		if !slices.Contains(seen.Unserved, linksIn(v).Called()) {
			return v
		}
	}
	return ""
}

// OlderWatches are for a cluster that was seen not to serve LinkVersion: whole Links in what there was before. Where a newer
// version is served they are looked for in that alone, since every version shows all of them.
func OlderWatches(seen object.Observation) (out []object.Watch) {
	versions := LinkVersions()
	if !slices.Contains(seen.Unserved, linksIn(versions[0]).Called()) {
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

// announcing is the label that no service has, by which a Link without exclude lists tells its controller that the credential changed:
// one of its selectors says that services of that label's value are not meant, which changes the Link's spec and selects the same.
const announcing = object.Prefix + "credential"

// In returns the spec as Links of an older version hold it: the entry that tells of a credential goes into the first selector that chooses
// anything. An empty one must stay empty: with a condition in it, it would choose everything.
func (s LinkSpec) In(version string) LinkSpec {
	if HoldsExcludes(version) {
		return s
	}
	at := slices.IndexFunc(s.ExcludedAnnotations, func(a string) bool { return strings.HasPrefix(a, credentialPrefix) })
	if at >= 0 {
		s.announce(strings.TrimPrefix(s.ExcludedAnnotations[at], credentialPrefix))
	}
	s.ExcludedAnnotations, s.ExcludedLabels = nil, nil
	if !HoldsFederated(version) {
		s.FederatedServiceSelector = nil
	}
	return s
}

// AppliedIn is the version in which we last applied a live Link, where a write in that of today must hold no other fields: an API server
// refuses to apply a field that the version of the last apply does not know, since it compares the two in terms of that. One write in
// today's version without such fields has the next one hold all. Empty: there is no such version, or the Link holds such fields.
func AppliedIn(live object.Record, link object.Body, served string) string {
	last := live.AppliedIn()
	all := LinkVersions()
	if live.Mark != object.Ours || slices.Index(all, last) <= slices.Index(all, served) {
		return ""
	}
	s := specOf(link)
	if chooses(s.FederatedServiceSelector) && !HoldsFederated(last) || len(s.ExcludedLabels) > 0 {
		return ""
	}
	return last
}

func (s *LinkSpec) announce(fingerprint string) {
	for _, at := range s.chosenBy() {
		if !chooses(*at) {
			continue
		}
		with := (*at).DeepCopy()
		with.MatchExpressions = append(with.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: announcing, Operator: metav1.LabelSelectorOpNotIn, Values: []string{fingerprint},
		})
		*at = with
		return
	}
}

// heard takes what announce added out of the selectors again, and puts it where newer Links have it: what is compared is then the same.
func (s *LinkSpec) heard() {
	for _, at := range s.chosenBy() {
		if *at == nil {
			continue
		}
		(*at).MatchExpressions = slices.DeleteFunc((*at).MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
			if e.Key != announcing || e.Operator != metav1.LabelSelectorOpNotIn || len(e.Values) != 1 {
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

func (s *LinkSpec) chosenBy() []**metav1.LabelSelector {
	return []**metav1.LabelSelector{&s.Selector, &s.RemoteDiscoverySelector, &s.FederatedServiceSelector}
}

package mirror

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/render/linkerd"
)

// federate returns what makes the federated Service right.
//
//	a member                                                 its place in the federated Service
//	the source's own Service, labelled as a member           local-discovery; left alone if Linkerd's local mirror runs
//	a target's Service that the link selects                 remote-discovery
//	of a link that is not synced, or that is no longer there  stays
//	headless                                                 none, and a status says why
//
// The last member to leave takes the federated Service with it.
func (s State) federate() Plan {
	name := linkerd.Federated(s.Name.Name)
	live := s.Source.Services[name]
	if live != nil && !isFederated(live) {
		return Plan{Statuses: s.refuseMembers(ObjectExists, fmt.Sprintf("Service %s exists, and is no federated Service", name))}
	}
	f := s.members(live)
	switch {
	case len(f.remote) == 0 && f.local == "" && !hasMembers(live):
		return Plan{Statuses: f.statuses}
	case len(f.remote) == 0 && f.local == "":
		return Plan{Writes: []Write{{Delete, live}}, Statuses: f.statuses}
	case !s.Source.Namespace:
		return Plan{Statuses: s.refuseMembers(MissingNamespace, "Namespace does not exist")}
	case len(validation.IsDNS1035Label(name)) > 0:
		return Plan{Statuses: s.refuseMembers(InvalidService, fmt.Sprintf("The federated Service's name %s is not valid: %s", name, validation.IsDNS1035Label(name)[0]))}
	}
	return Plan{Writes: writeService(live, f.service(live, name)), Statuses: f.statuses}
}

// isFederated reports whether a Service is a federated one: mirrored, from no single cluster, and it selects no pods.
func isFederated(live *corev1.Service) bool {
	_, single := live.Labels[linkerd.ClusterNameLabel]
	return live.Labels[linkerd.MirroredLabel] == "true" && !single && len(live.Spec.Selector) == 0
}

// refuseMembers gives all members of synced links one status.
func (s State) refuseMembers(why Reason, message string) (out []Status) {
	for _, l := range s.Links {
		if l.Synced && l.isMember() {
			out = append(out, Status{Link: l.Name, Federated: true, Reason: why, Message: message, Skipped: true})
		}
	}
	return out
}

// federation are the members of a federated Service.
type federation struct {
	remote   []string // service@cluster, in the order of joining
	local    string   // the name of the source's own Service
	first    Link     // the member whose labels, annotations and ports it has
	copied   *corev1.Service
	statuses []Status
}

// members returns who is to be a member.
func (s State) members(live *corev1.Service) (f federation) {
	present := membersOf(live)
	for _, one := range present {
		if s.stays(one) {
			f.remote = append(f.remote, one)
		}
	}
	for _, l := range slices.SortedStableFunc(slices.Values(s.Links), func(a, b Link) int { return a.Created.Compare(b.Created) }) {
		if !l.Synced || !l.isMember() || isHeadless(l.Service) {
			continue
		}
		if !slices.Contains(f.remote, s.member(l)) {
			f.remote = append(f.remote, s.member(l))
		}
		if f.copied == nil && !s.hasOlder(l, present) {
			f.first, f.copied = l, l.Service
		}
	}
	f.statuses = s.memberStatuses()
	s.joinLocal(&f, live)
	return f
}

// joinLocal adds the source's own Service, whose metadata wins.
func (s State) joinLocal(f *federation, live *corev1.Service) {
	switch local := s.Source.Local; {
	case s.Source.LocalMirror:
		if live != nil && live.Annotations[linkerd.LocalDiscovery] != "" {
			f.local, f.copied = live.Annotations[linkerd.LocalDiscovery], nil
		}
	case local != nil && !isHeadless(local) && local.Labels[federatedLabel] == federatedMember:
		f.local, f.first, f.copied = local.Name, Link{}, local
	}
}

// stays reports whether a member that is listed remains: its link still makes it one, or nothing is known of it.
func (s State) stays(member string) bool {
	service, cluster, _ := strings.Cut(member, "@")
	at := slices.IndexFunc(s.Links, func(l Link) bool { return l.Name == cluster })
	if at < 0 || service != s.Name.Name {
		return true
	}
	l := s.Links[at]
	return !l.Synced || l.isMember() && !isHeadless(l.Service)
}

// hasOlder reports whether a listed member of a link that is not synced has an older Link: then the metadata is that member's, and stays.
func (s State) hasOlder(than Link, present []string) bool {
	return slices.ContainsFunc(s.Links, func(l Link) bool {
		return !l.Synced && l.Created.Before(than.Created) && slices.Contains(present, s.member(l))
	})
}

func (s State) memberStatuses() (out []Status) {
	for _, l := range s.Links {
		if !l.Synced || !l.isMember() {
			continue
		}
		status := Status{Link: l.Name, Federated: true, Reason: Mirrored, Local: linkerd.Federated(s.Name.Name)}
		if isHeadless(l.Service) {
			status = Status{Link: l.Name, Federated: true, Reason: InvalidService, Message: "Headless service cannot join federated service"}
		}
		out = append(out, status)
	}
	return out
}

// service returns the federated Service of its members. If the member that its metadata comes from is not read, the metadata stays.
func (f federation) service(live *corev1.Service, name string) *corev1.Service {
	var out *corev1.Service
	if f.copied != nil {
		out = f.first.copyOf(f.copied, name)
	} else {
		out = live.DeepCopy()
		out.Spec.Ports = portsOf(live)
	}
	for key, value := range map[string]string{linkerd.RemoteDiscovery: strings.Join(f.remote, ","), linkerd.LocalDiscovery: f.local} {
		if value == "" {
			delete(out.Annotations, key)
		} else {
			out.Annotations[key] = value
		}
	}
	return out
}

// member is how a federated Service lists the Service in a link's target.
func (s State) member(l Link) string { return s.Name.Name + "@" + l.Name }

// membersOf are the members that a federated Service lists in other clusters.
func membersOf(live *corev1.Service) []string {
	if live == nil {
		return nil
	}
	return strings.FieldsFunc(live.Annotations[linkerd.RemoteDiscovery], func(r rune) bool { return r == ',' || r == ' ' })
}

// hasMembers reports whether a federated Service lists any member.
func hasMembers(live *corev1.Service) bool {
	return live != nil && live.Annotations[linkerd.RemoteDiscovery]+live.Annotations[linkerd.LocalDiscovery] != ""
}

func isHeadless(service *corev1.Service) bool {
	return service.Spec.ClusterIP == corev1.ClusterIPNone
}

package mirror

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

// mirrorHeadless returns what makes the mirror of a headless Service right. Each named address of the target gets a Service, whose Endpoints are the
// gateway's addresses. The mirror's own Endpoints are the cluster IPs of these Services, so they follow once the API server has given them. Whether
// the mirror is headless is decided when it is made, since that never changes: with the first addresses, by whether one has a name.
func (s State) mirrorHeadless(l Link, name string) Plan {
	live := s.Source.Services[name]
	hosts := l.hosts()
	switch {
	case live == nil && (l.Endpoints == nil || len(l.Endpoints.Subsets) == 0):
		return Plan{Statuses: []Status{{Link: l.Name, Reason: InvalidService, Message: "Headless service has no addresses yet"}}}
	case live == nil && len(hosts) == 0, live != nil && live.Spec.ClusterIP != corev1.ClusterIPNone:
		return s.mirrorOrdinary(l, name)
	}
	desired := s.mirrorService(l, name)
	desired.Spec.ClusterIP = corev1.ClusterIPNone
	p := Plan{Writes: writeService(live, desired), Statuses: []Status{{Link: l.Name, Reason: Mirrored, Local: name}}}
	if err := s.mirrorHosts(&p, l, name, hosts); err != nil {
		p.Statuses[0] = Status{Link: l.Name, Reason: Failed, Message: err.Error(), Local: name}
		return p
	}
	p.Writes = append(p.Writes, writeEndpoints(s.Source.Endpoints[name], s.mirrorEndpoints(l, name, s.hostSubsets(l)))...)
	return p
}

// hosts are the names of the ready addresses in the target, in order.
func (l Link) hosts() []string {
	all := map[string]bool{}
	for _, one := range l.subsets() {
		for _, a := range one.Addresses {
			if a.Hostname != "" {
				all[a.Hostname] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (l Link) subsets() []subset {
	if l.Endpoints == nil {
		return nil
	}
	return l.Endpoints.Subsets
}

// mirrorHosts adds the Services of all hosts with their Endpoints, and removes those of hosts that are gone.
func (s State) mirrorHosts(p *Plan, l Link, name string, hosts []string) error {
	subsets, err := l.gatewaySubsets(l.Service.Spec.Ports, true)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, host := range hosts {
		one := l.mirrorName(host)
		live := s.Source.Services[one]
		if one == name || live != nil && !isAddressService(live, l, name) || s.isForeignEndpoints(one, l) {
			continue // something else has its name: this address is not mirrored
		}
		kept[one] = true
		desired := s.addressService(l, name, host)
		if live != nil {
			desired.Annotations[linkerd.RemoteResourceVersion] = live.Annotations[linkerd.RemoteResourceVersion] // of the Endpoints that it was made from
		}
		p.Writes = append(p.Writes, writeService(live, desired)...)
		p.Writes = append(p.Writes, writeEndpoints(s.Source.Endpoints[one],
			l.endpointsOf(one, s.Name.Namespace, desired.Annotations[linkerd.RemoteServiceName], maps.Clone(desired.Labels), subsets))...)
	}
	for _, live := range s.addressServices(l, name) {
		if !kept[live.Name] {
			p.Writes = append(p.Writes, Write{Delete, live})
		}
	}
	return nil
}

// addressService is the Service of one named address of a headless Service.
func (s State) addressService(l Link, mirror, host string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: l.mirrorName(host), Namespace: s.Name.Namespace,
			Labels: map[string]string{linkerd.MirroredLabel: "true", linkerd.ClusterNameLabel: l.Name, headlessMirror: mirror},
			Annotations: map[string]string{
				linkerd.RemoteServiceName:     host + "." + l.fullName(s.Name.Namespace, s.Name.Name),
				linkerd.RemoteResourceVersion: l.Endpoints.ResourceVersion,
			},
		},
		Spec: corev1.ServiceSpec{Ports: portsOf(l.Service)},
	}
}

// addressServices are the Services of addresses of a headless mirror, by name.
func (s State) addressServices(l Link, mirror string) (out []*corev1.Service) {
	for _, name := range slices.Sorted(maps.Keys(s.Source.Services)) {
		if live := s.Source.Services[name]; isAddressService(live, l, mirror) {
			out = append(out, live)
		}
	}
	return out
}

func isAddressService(live *corev1.Service, l Link, mirror string) bool {
	return live.Name != mirror && isOf(live, l) && live.Labels[headlessMirror] == mirror && len(live.Spec.Selector) == 0
}

// hostSubsets are the Endpoints of a headless mirror: for each named address of the target, the cluster IP of its Service.
func (s State) hostSubsets(l Link) (out []subset) {
	for _, one := range l.subsets() {
		var addresses []corev1.EndpointAddress
		for _, a := range one.Addresses {
			live := s.Source.Services[l.mirrorName(a.Hostname)]
			if a.Hostname != "" && live != nil && isAddressService(live, l, l.mirrorName(s.Name.Name)) && live.Spec.ClusterIP != "" {
				addresses = append(addresses, corev1.EndpointAddress{Hostname: a.Hostname, IP: live.Spec.ClusterIP})
			}
		}
		if len(addresses) > 0 {
			out = append(out, subset{Addresses: addresses, Ports: one.Ports})
		}
	}
	return out
}

package linkerd

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// gateway reads what link-gen reads (linkerd2 multicluster/cmd/link-gen.go): addresses of the load
// balancer, ports by name – the node port where the Service is of that type –, and annotations.
func (r *reader) gateway() {
	want := r.c.Gateway
	if !want.On() {
		r.f.Gateway = Gateway{Disabled: true}
		return
	}
	key := object.Key{Kind: "Service", Namespace: r.c.Linkerd.MulticlusterNamespace, Name: want.Name}
	var svc corev1.Service
	live := r.body(key, &svc)
	g := liveGateway(svc)
	g.declared(want)
	r.f.Gateway = g
	if g.complete() || !r.forbidden(key, AsTarget) {
		r.addGatewayMissing(g, key, live)
	}
}

func (g Gateway) complete() bool {
	return len(g.Addresses) > 0 && g.Port != "" && g.Identity != "" && g.Probe.Path != "" && g.Probe.Port != "" && g.Probe.Period != ""
}

// addGatewayMissing adds the first thing that the gateway lacks, and both ways to supply it.
func (r *reader) addGatewayMissing(g Gateway, key object.Key, live bool) {
	lack := func(field, live string) {
		r.addMissing(AsTarget, reason.GatewayIncomplete, "%s %s: repair it, or declare spec.gateway.%s", key, live, field)
	}
	switch {
	case len(g.Addresses) == 0 && !live:
		r.addMissing(AsTarget, reason.GatewayIncomplete, "%s is missing: install the gateway, or declare spec.gateway with addresses, port, identity and probe, or spec.gateway.enabled: false", key)
	case len(g.Addresses) == 0:
		lack("addresses", "has no load balancer address yet")
	case g.Port == "":
		lack("port", "has no port named "+portGateway)
	case g.Identity == "":
		lack("identity", "has no annotation "+gatewayIdentity)
	case g.Probe.Path == "":
		lack("probe.path", "has no annotation "+probePath)
	case g.Probe.Port == "":
		lack("probe.port", "has no port named "+portProbe)
	case g.Probe.Period == "":
		lack("probe.period", "has no annotation "+probePeriod+" with a duration above zero")
	}
}

// WithSecondName are the facts of the cluster under a second name, whose declaration may have another gateway. observed is what the facts were read from.
func (f Facts) WithSecondName(c api.Cluster, observed object.Observation) Facts {
	r := reader{c: c, observed: observed, f: f}
	r.f.Gateway = Gateway{}
	r.f.Missing = slices.DeleteFunc(slices.Clone(f.Missing), func(m Missing) bool { return m.Why.Code == reason.GatewayIncomplete })
	r.gateway()
	return r.f
}

// LacksAddress reports whether the address is all that a gateway lacks: its load balancer has none at the moment.
func (g Gateway) LacksAddress() bool {
	at := g.Port != "" && g.Identity != "" && g.Probe.Path != "" && g.Probe.Port != "" && g.Probe.Period != ""
	return !g.Disabled && len(g.Addresses) == 0 && at
}

// WithAddresses are the facts of a cluster whose gateway lacks an address, as if it had these addresses.
func (f Facts) WithAddresses(addresses []string) Facts {
	f.Gateway.Addresses = addresses
	f.Missing = slices.DeleteFunc(slices.Clone(f.Missing), func(m Missing) bool { return m.Why.Code == reason.GatewayIncomplete })
	return f
}

func liveGateway(svc corev1.Service) Gateway {
	var g Gateway
	for _, in := range svc.Status.LoadBalancer.Ingress {
		if a := cmp.Or(in.IP, in.Hostname); a != "" {
			g.Addresses = append(g.Addresses, a)
		}
	}
	g.Port = portOf(svc, portGateway)
	g.Identity = svc.Annotations[gatewayIdentity]
	g.Probe = Probe{
		Path:   svc.Annotations[probePath],
		Port:   portOf(svc, portProbe),
		Period: periodOf(svc.Annotations[probePeriod]),
	}
	return g
}

func portOf(svc corev1.Service, name string) string {
	for _, p := range svc.Spec.Ports {
		if p.Name != name {
			continue
		}
		if svc.Spec.Type == corev1.ServiceTypeNodePort {
			return portString(p.NodePort)
		}
		return portString(p.Port)
	}
	return ""
}

// periodOf reads whole seconds or a Go duration; zero and less would make Linkerd's controller panic.
func periodOf(s string) string {
	if n, err := strconv.Atoi(s); err == nil {
		s = strconv.Itoa(n) + "s"
	}
	if d, err := time.ParseDuration(s); err != nil || d <= 0 {
		return ""
	}
	return s
}

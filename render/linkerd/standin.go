package linkerd

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Placeholders fills in what is not known without the cluster: known facts stay, declared values override
// them as they do live, and the rest are placeholders like <east: gateway address>. Objects with
// placeholders are for reading, never for applying.
func Placeholders(name api.ClusterName, c api.Cluster, known Facts) Facts {
	standIn := func(value *string, what string) {
		*value = cmp.Or(*value, fmt.Sprintf("<%s: %s>", name, what))
	}
	f := known
	f.Missing = nil
	standIn(&f.UID, "uid")
	standIn(&f.Version, "Linkerd version")
	standIn(&f.Domains.Cluster, "cluster domain")
	standIn(&f.Domains.Trust, "trust domain")
	f.API.Server = cmp.Or(c.APIServer, f.API.Server)
	standIn(&f.API.Server, "API server")
	standIn(&f.API.CA, "CA")
	if !c.Gateway.On() {
		f.Gateway = Gateway{Disabled: true}
		return f
	}
	g := &f.Gateway
	g.Disabled = false
	g.declared(c.Gateway)
	if len(g.Addresses) == 0 {
		g.Addresses = []string{fmt.Sprintf("<%s: gateway address>", name)}
	}
	standIn(&g.Port, "gateway port")
	standIn(&g.Identity, "gateway identity")
	standIn(&g.Probe.Path, "probe path")
	standIn(&g.Probe.Port, "probe port")
	standIn(&g.Probe.Period, "probe period")
	return f
}

// declared overrides live values with declared ones.
func (g *Gateway) declared(want api.Gateway) {
	if len(want.Addresses) > 0 {
		g.Addresses = want.Addresses
	}
	g.Port = cmp.Or(portString(want.Port), g.Port)
	g.Identity = cmp.Or(want.Identity, g.Identity)
	g.Probe.Path = cmp.Or(want.Probe.Path, g.Probe.Path)
	g.Probe.Port = cmp.Or(portString(want.Probe.Port), g.Probe.Port)
	g.Probe.Period = cmp.Or(want.Probe.Period, g.Probe.Period)
}

func portString(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// StandInPod is a pod of the controller of a Link, for simulations: nothing applies it. Links that share a controller have the same one.
func StandInPod(l api.Linkerd, target api.ClusterName, link object.Body) (object.Key, object.Body) {
	if owner := MirrorOf(link); owner != "" {
		k := object.Key{Kind: "Pod", Namespace: l.MulticlusterNamespace, Name: Shared(owner)}
		return k, object.NewBody(fmt.Appendf(nil, `{"kind":"Pod","metadata":{"name":%q,"labels":{%q:%q,%q:%q}}}`, k.Name, MirrorLabel, owner, ComponentLabel, Component))
	}
	k := object.Key{Kind: "Pod", Namespace: l.MulticlusterNamespace, Name: Controller(target)}
	return k, object.NewBody(fmt.Appendf(nil, `{"kind":"Pod","metadata":{"name":%q,"labels":{%q:%q,%q:%q}}}`,
		k.Name, ClusterNameLabel, target, ComponentLabel, Component))
}

package history

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// takeName has somebody else use a name that a link needs.
func (r *history) takeName(p *simCluster, e Event) {
	keys := append(sourceKeys(p.mc, e.To, declaredLink{discovery: true, federated: true, spread: true}), targetKeys(e.To)...)
	keys = append(keys, inventoryKey(api.Pair{Source: e.At, Target: e.To}))
	k := keys[e.N%len(keys)]
	if p.objects[k] != nil || k.Namespace == object.AccessNamespace && p.objects[object.Key{Kind: "Namespace", Name: k.Namespace}] == nil {
		return
	}
	labels := map[string]string{}
	if e.M > 1 {
		labels[object.OwnerLabel] = []string{owner, "somebody"}[e.M%2]
	}
	if k.Kind == "Link" && p.noCRD {
		return
	}
	t := p.foreignObject(k, labels, nil)
	t.since = r.event
	p.put(t)
}

// createNamesake is a user's Service called like a mirror, perhaps with labels copied from what is not one.
func (r *history) createNamesake(p *simCluster, e Event) {
	name := []string{viaGateway, viaEndpoint}[e.N%2] + "-" + string(e.To)
	k := object.Key{Kind: "Service", Namespace: shop, Name: name}
	if e.N%5 == 0 {
		k.Name = asMember + "-federated"
	}
	if p.objects[k] != nil {
		return
	}
	labels := map[string]string{}
	if e.M&1 > 0 {
		labels[object.OwnerLabel] = owner
	}
	if e.M&2 > 0 {
		labels[linkerd.ClusterNameLabel] = string(e.To)
	}
	t := p.foreignObject(k, labels, nil)
	t.since = r.event
	p.put(t)
}

// joinFederated makes the cluster itself a member of its federated Service.
func (p *simCluster) joinFederated() {
	t := p.objects[federatedKey()]
	if t == nil || t.madeBy != byLinkerd {
		return
	}
	next := t.edited(func(o map[string]any) { field(o, "metadata", "annotations")[linkerd.LocalDiscovery] = asMember })
	next.rec.ResourceVersion = p.next()
	p.put(next)
}

// installChart installs a user's own controller of a link, or takes it away.
func (r *history) installChart(p *simCluster, e Event) {
	k := deployment(p.mc, e.To)
	switch t := p.objects[k]; {
	case e.Do == "chart" && t == nil:
		mine := p.foreignObject(k, map[string]string{"app.kubernetes.io/managed-by": "Helm"}, nil)
		mine.since = r.event
		p.put(mine)
	case e.Do == "nochart" && t != nil && t.madeBy == byOthers:
		p.drop(k)
	}
}

// deleteNamespace deletes our namespace, with all that is in it.
func (p *simCluster) deleteNamespace() {
	for _, t := range p.all() {
		if t.key.Namespace == object.AccessNamespace || t.key.Kind == "Namespace" && t.key.Name == object.AccessNamespace {
			p.drop(t.key)
		}
	}
}

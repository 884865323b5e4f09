package history

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// squat has somebody else use a name that a link needs.
func (r *run) squat(p *plane, e Event) {
	keys := append(sourceKeys(p.mc, e.To, link{discovery: true, federated: true, spread: true}), targetKeys(e.To)...)
	keys = append(keys, inventoryKey(api.Pair{Source: e.At, Target: e.To}))
	k := keys[e.N%len(keys)]
	if p.things[k] != nil || k.Namespace == object.AccessNamespace && p.things[object.Key{Kind: "Namespace", Name: k.Namespace}] == nil {
		return
	}
	labels := map[string]string{}
	if e.M > 1 {
		labels[object.OwnerLabel] = []string{owner, "somebody"}[e.M%2]
	}
	if k.Kind == "Link" && p.noCRD {
		return
	}
	t := p.theirs(k, labels, nil)
	t.since = r.event
	p.put(t)
}

// namesake is a user's Service called like a mirror, perhaps with labels copied from what is not one.
func (r *run) namesake(p *plane, e Event) {
	name := []string{viaGateway, viaEndpoint}[e.N%2] + "-" + string(e.To)
	k := object.Key{Kind: "Service", Namespace: shop, Name: name}
	if e.N%5 == 0 {
		k.Name = asMember + "-federated"
	}
	if p.things[k] != nil {
		return
	}
	labels := map[string]string{}
	if e.M&1 > 0 {
		labels[object.OwnerLabel] = owner
	}
	if e.M&2 > 0 {
		labels[linkerd.ClusterNameLabel] = string(e.To)
	}
	t := p.theirs(k, labels, nil)
	t.since = r.event
	p.put(t)
}

// join makes the cluster itself a member of its federated Service.
func (p *plane) join() {
	t := p.things[federatedKey()]
	if t == nil || t.by != mirroring {
		return
	}
	next := t.edited(func(o map[string]any) { field(o, "metadata", "annotations")[linkerd.LocalDiscovery] = asMember })
	next.rec.ResourceVersion = p.next()
	p.put(next)
}

// chart installs a user's own controller of a link, or takes it away.
func (r *run) chart(p *plane, e Event) {
	k := deployment(p.mc, e.To)
	switch t := p.things[k]; {
	case e.Do == "chart" && t == nil:
		mine := p.theirs(k, map[string]string{"app.kubernetes.io/managed-by": "Helm"}, nil)
		mine.since = r.event
		p.put(mine)
	case e.Do == "nochart" && t != nil && t.by == others:
		p.drop(k)
	}
}

// wipe deletes our namespace, with all that is in it.
func (p *plane) wipe() {
	for _, t := range p.all() {
		if t.key.Namespace == object.AccessNamespace || t.key.Kind == "Namespace" && t.key.Name == object.AccessNamespace {
			p.drop(t.key)
		}
	}
}

package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/linkerd"
)

// external gives the ends of a cluster whose controller is the user's, each with the release of Helm's that installed the
// multicluster extension there: those that are declared so, and what is recorded of the same links by a former name of the source.
func (p *planner) external(name api.ClusterName, in prune.Input) map[object.End]linkerd.Helm {
	var out map[object.End]linkerd.Helm
	add := func(end object.End) {
		if out == nil {
			out = map[object.End]linkerd.Helm{}
		}
		out[end] = linkerd.HelmOf(p.Sides[name].Seen)
	}
	_, links, _ := p.declared(name)
	for _, l := range links {
		if l.Spec.Controller.Mode == api.External {
			add(object.End{Cluster: name, Link: l.Pair()})
		}
	}
	for _, inv := range in.Recorded {
		if next, ok := p.nextEnd(name, inv.End); ok {
			if _, external := out[next]; external {
				add(inv.End)
			}
		}
	}
	return out
}

// nextEnd gives the end by which a link goes on that is recorded in its source by a former name of that: the declared link to the same target.
func (p *planner) nextEnd(in api.ClusterName, end object.End) (object.End, bool) {
	if !end.IsSource() || end.Cluster == in {
		return object.End{}, false
	}
	next := object.End{Cluster: in, Link: api.Pair{Source: in, Target: end.Link.Target}}
	return next, p.linked(next.Link)
}

// successor says why what an end that is recorded in a cluster holds must stay: what takes its place is not written and ready. That is the
// end as it is declared now, or for a source with another name the declared link to the same target.
func (p *planner) successor(in api.ClusterName, end object.End, declared bool) *object.Reason {
	next, ok := end, declared
	if !declared {
		next, ok = p.nextEnd(in, end)
	}
	if !ok {
		return nil
	}
	lacks := p.unready(next)
	if declared && lacks == "" {
		lacks = p.unrun(next, p.Sides[in].Seen)
	}
	if lacks == "" {
		return nil
	}
	if why := Suspend(p.World, next, nil); why != nil {
		lacks = why.Message
	}
	return object.Because(prune.WaitingForSuccessor, "it stays until %s is ready, which takes its place: %s; "+
		"if that is never to be, declare it as it was before, or take that link out, and what is here goes", next, lacks)
}

// unready says what of a declared end is not in place and ready, in words; empty: nothing.
func (p *planner) unready(end object.End) string {
	if why := p.stranger(end.Cluster); why != nil {
		return why.Message
	}
	side, wanted := p.Sides[end.Cluster], p.wants(end.Cluster, end)
	i := slices.IndexFunc(wanted, func(w object.Wanted) bool { return w.End == end })
	switch {
	case i < 0:
		return "it is not wanted"
	case wanted[i].Held != nil:
		return wanted[i].Held.Message
	}
	objects := wanted[i].Objects
	for _, o := range objects {
		switch live := side.Seen.Record(o.Key); {
		case live.Mark != object.Ours, live.Digest != o.Digest, live.Going:
			return o.Key.String() + " is not written yet"
		case !live.Health.IsZero():
			return o.Key.String() + ": " + live.Health.String()
		}
	}
	return ""
}

// unrun says that the user's chart does not run the controller of a link that is declared so.
func (p *planner) unrun(end object.End, seen object.Observation) string {
	l, ok := p.Fleet.Link(end.Link)
	if !ok || !end.IsSource() || l.Spec.Controller.Mode != api.External {
		return ""
	}
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: p.spec(end.Cluster).Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
	switch live := seen.Record(k); {
	case live.IsZero():
		return k.String() + " is not there: let Linkerd's chart run it"
	case !live.Health.IsZero():
		return k.String() + ": " + live.Health.String()
	}
	return ""
}

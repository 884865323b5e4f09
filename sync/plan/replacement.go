package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/linkerd"
)

// nextEnd gives the end by which a link goes on that is recorded in its source by a former name of that: the declared link to the same target.
func (p *pruning) nextEnd(in api.ClusterName, end object.End) (object.End, bool) {
	if !end.IsSource() || end.Cluster == in {
		return object.End{}, false
	}
	next := object.End{Cluster: in, Link: api.Pair{Source: in, Target: end.Link.Target}}
	return next, p.Linked(next.Link)
}

// successor says why what an end that is recorded in a cluster holds must stay: what takes its place is not written and ready. That is the
// end as it is declared now, or for a source with another name the declared link to the same target.
func (p *pruning) successor(in api.ClusterName, end object.End, declared bool) *object.Reason {
	next, ok := end, declared
	if !declared {
		next, ok = p.nextEnd(in, end)
	}
	if !ok {
		return nil
	}
	lacks := p.unready(next)
	if declared && lacks == "" {
		lacks = p.unrun(next, p.Clusters[in].Seen)
	}
	if lacks == "" {
		return nil
	}
	if why := Suspend(p.Snapshot, next, nil); why != nil {
		lacks = why.Message
	}
	return object.Because(prune.WaitingForSuccessor, "it stays until %s is ready, which takes its place: %s; "+
		"if that is never to be, declare it as it was before, or take that link out, and what is here goes", next, lacks)
}

// unrun says that the user's chart does not run the controller of a link that is declared so.
func (p *pruning) unrun(end object.End, seen object.Observation) string {
	l, ok := p.Fleet.Link(end.Link)
	if !ok || !end.IsSource() || l.Spec.Controller.Mode != api.External {
		return ""
	}
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: p.Spec(end.Cluster).Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
	switch live := seen.Record(k); {
	case live.IsZero():
		return k.String() + " is not there: let Linkerd's chart run it"
	case !live.Health.IsZero():
		return k.String() + ": " + live.Health.String()
	}
	return ""
}

package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
)

// stillShared reports whether the source's shared controller must go on mirroring a link that is declared otherwise: the link's own controller does
// not run yet.
func stillShared(s *credential.Set, l fleet.Link) bool {
	observed, at := s.Clusters[l.Source.Name].Live, l.Source.Spec.Linkerd
	link := linkerd.LinkKey(at, l.Target.Name)
	body, _ := observed.Body(link)
	return l.Spec.Controller.Mode != api.Shared && observed.Record(link).Mark == object.Ours && linkerd.MirrorOf(body) == s.Owner &&
		observed.Record(linkerd.SharedBinding(at, l.Target.Name)).Mark == object.Ours && notRunning(l, observed) != ""
}

// sharedInUse returns why a cluster keeps its shared controller: it mirrors a link, which may be leaving, or released. nil: it mirrors none.
func sharedInUse(s *credential.Set, name api.ClusterName) *object.Reason {
	at, observed := s.Spec(name).Linkerd, s.Clusters[name].Live
	if why := observed.Hides(linkerd.SharedBinding(at, name)); why != nil {
		return why
	}
	for k, r := range observed.Kind("rbac.authorization.k8s.io", "RoleBinding") {
		if linkerd.IsSharedBinding(at, k) && r.Mark != object.Theirs {
			return object.Because(reason.WaitingForLinks, "the shared controller stays until it mirrors no link: there is still %s; if its link is released and nobody needs it, delete it", k)
		}
	}
	return nil
}

// notRunning returns why a link's own controller does not run; empty: it does.
func notRunning(l fleet.Link, observed object.Observation) string {
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: l.Source.Spec.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(l.Target.Name)}
	switch live := observed.Record(k); {
	case live.IsZero():
		return k.String() + " does not exist: let Linkerd's Helm chart run it"
	case !live.Health.IsZero():
		return k.String() + ": " + live.Health.String()
	}
	return ""
}

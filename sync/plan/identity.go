package plan

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
)

// stranger says why a cluster is not known to be the one its name means; nil: it is. What a stranger
// shows is no fact about that name: nothing is written there, and nothing rendered, minted or concluded
// from it elsewhere. The checks in order:
//
//	not read                         unknown is not absent
//	no identity                      it must be told from others
//	two names for one cluster        neither counts; but see renamed and owner
//	another cluster than remembered  until people accept it
//	other namespaces of Linkerd      while it holds anything of ours
//	a base of another name           until people accept it
func (p *planner) stranger(name api.ClusterName) *object.Reason {
	if why, ok := p.strangers[name]; ok {
		return why
	}
	if p.strangers == nil {
		p.strangers = map[api.ClusterName]*object.Reason{}
	}
	why := p.identify(name)
	p.strangers[name] = why
	return why
}

func (p *planner) identify(name api.ClusterName) *object.Reason {
	if why := p.unidentified(name, p.shared(p.Sides[name].Facts.UID)); why != nil {
		return why
	}
	if why := p.relocated(name); why != nil {
		return why
	}
	if p.Accepted[name] == p.Sides[name].Facts.UID {
		return nil
	}
	return p.renamedBase(name)
}

// relocated says that a cluster, in which a base still is, is declared with other namespaces of Linkerd than those it had when that was
// written, or nil.
func (w World) relocated(name api.ClusterName) *object.Reason {
	c, _, _ := w.declared(name)
	base, found := inventory.ReadBase(w.Owner, w.Sides[name].Seen)
	if c == nil || !found || base.Linkerd == c.Spec.Linkerd || base.Linkerd == (api.Linkerd{}) {
		return nil
	}
	return otherNamespaces(name, fmt.Sprintf("was written to with spec.linkerd {namespace: %s, multiclusterNamespace: %s}", base.Linkerd.Namespace, base.Linkerd.MulticlusterNamespace))
}

// elsewhere says that inventories, of which the base may be lost, list something in another namespace than those that are declared, or nil.
func (p *planner) elsewhere(recorded []inventory.Inventory) *object.Reason {
	l := p.spec(p.name).Linkerd
	for _, inv := range recorded {
		for _, k := range inv.Entries {
			switch k.Namespace {
			case "", object.AccessNamespace, l.Namespace, l.MulticlusterNamespace:
			default:
				return otherNamespaces(p.name, "holds objects of linkwright in namespace "+k.Namespace)
			}
		}
	}
	return nil
}

func otherNamespaces(name api.ClusterName, why string) *object.Reason {
	return object.Because(reason.NamespaceChanged, "cluster %s %s, and is declared with other namespaces now: put the former ones back; "+
		"to move, declare state: Leaving with them, and the new ones once nothing is left there", name, why)
}

// installed is where Linkerd is in a cluster: as it is declared, or as the base says in one that is declared no more.
func (w World) installed(c fleet.Cluster, ledger object.Observation) api.Linkerd {
	if base, found := inventory.ReadBase(w.Owner, ledger); found && base.Linkerd != (api.Linkerd{}) && w.departed(c.Name) {
		return base.Linkerd
	}
	return c.Spec.Linkerd
}

// shared says that several names have the identity: only then is it asked which, since that is to look at all of them.
func (p *planner) shared(uid string) bool {
	if p.Twins == nil {
		p.Twins = p.Twinned()
	}
	return p.Twins[uid]
}

// Twinned counts the identities for Twins; never nil.
func (w World) Twinned() map[string]bool {
	once, twins := make(map[string]bool, len(w.Sides)), map[string]bool{}
	for _, side := range w.Sides {
		if uid := side.Facts.UID; side.Known && once[uid] {
			twins[uid] = true
		} else if side.Known {
			once[uid] = true
		}
	}
	return twins
}

// unidentified is all of that but the base's name. Without shared there is no other name for the cluster.
func (w World) unidentified(name api.ClusterName, shared bool) *object.Reason {
	side := w.Sides[name]
	uid := side.Facts.UID
	switch {
	case !side.Known && side.Err != nil:
		return side.Err
	case !side.Known:
		return object.Because(reason.Unknown, "cluster %s has not been read yet", name)
	case uid == "":
		return object.Because(reason.NoIdentity, "namespace kube-system is missing: its uid identifies the cluster")
	}
	owner := api.ClusterName("")
	if known := w.UIDs[name]; shared || known != "" && known != uid {
		owner = w.owner(name, uid)
	}
	if owner != "" {
		return object.Because(reason.SameCluster, "the access of %s leads to cluster %s (kube-system uid %s): correct it; nothing is written by that name, and %s goes on",
			name, owner, uid, owner)
	}
	if shared {
		if twin := w.twin(name, uid); twin != "" {
			return w.twins(name, twin, uid)
		}
	}
	if w.Accepted[name] == uid {
		return nil
	}
	if known := w.UIDs[name]; known != "" && known != uid {
		return object.Because(reason.ClusterChanged, "this is another cluster than the one linkwright wrote to (kube-system uid %s, was %s): if that is right: %s",
			uid, known, w.command(fmt.Sprintf("accept cluster %s=%s", name, uid)))
	}
	return nil
}

// twins refuses two names of one cluster.
func (w World) twins(name, twin api.ClusterName, uid string) *object.Reason {
	former, now := twin, name
	if w.departed(name) {
		former, now = name, twin
	}
	if !w.departed(former) {
		return object.Because(reason.SameCluster, "%s and %s are one cluster (kube-system uid %s): remove one declaration, or declare one of them as a second name of the other (spec.sameAs)",
			name, twin, uid)
	}
	return object.Because(reason.SameCluster, "%s and %s are one cluster (kube-system uid %s): a cluster gets another name without interruption if that is its second name first (spec.sameAs); "+
		"to unlink all that is linked by the name %s at once, and link it anew: %s", name, twin, uid, former, w.command(fmt.Sprintf("accept cluster %s=%s", now, uid)))
}

// renamedBase finds a base that describes the cluster by another name, of which this one is no second name.
func (w World) renamedBase(name api.ClusterName) *object.Reason {
	base, found, err := inventory.Base(w.Owner, w.Sides[name].Seen)
	switch {
	case err != nil:
		return object.Because(reason.Inventory, "%v", err)
	case found && base.End.Cluster != name && !slices.Contains(base.Names, name):
		return object.Because(reason.ClusterRenamed, "this cluster was written to as %s: declare it by that name, and %s as its second one (spec.sameAs); "+
			"to unlink all that is linked by the name %s at once, and link it anew: %s",
			base.End.Cluster, name, base.End.Cluster, w.command(fmt.Sprintf("accept cluster %s=%s", name, w.Sides[name].Facts.UID)))
	}
	return nil
}

// Confirmed says that a cluster is known by its name without anybody's leave any more: the record has its identity, and its base the name.
func (w World) Confirmed(name api.ClusterName, uid string) bool {
	side := w.Sides[name]
	if !side.Known || side.Facts.UID != uid || w.UIDs[name] != uid {
		return false
	}
	if base, found := inventory.ReadBase(w.Owner, side.Seen); found {
		return base.End.Cluster == name
	}
	for other, known := range w.UIDs {
		if other != name && known == uid {
			return false // it may be the former name, which is still to be handed over
		}
	}
	return true
}

// owner is the declared cluster to which the access of another name leads by mistake: the record has its identity by that name, or, if it does
// not know that one, the base there does. Only the name with the wrong access is then in doubt. Empty: none.
func (w World) owner(name api.ClusterName, uid string) (owner api.ClusterName) {
	if w.UIDs[name] == uid {
		return ""
	}
	for other, known := range w.UIDs {
		if known == uid && other != name && w.isCluster(other) && (owner == "" || other < owner) {
			owner = other
		}
	}
	if base, found := inventory.ReadBase(w.Owner, w.Sides[name].Seen); owner == "" && found && base.End.Cluster != name {
		if was := base.End.Cluster; w.isCluster(was) && w.UIDs[was] == "" && w.Sides[was].Facts.UID == uid {
			return was
		}
	}
	return owner
}

// isCluster says that a name is declared, and not as a second one.
func (w World) isCluster(name api.ClusterName) bool {
	c, _, _ := w.declared(name)
	return c != nil && c.Name == name && c.Spec.SameAs == ""
}

// twin gives another name with the same identity, the first in order; the former name of a cluster that
// has its new one as a second name, or by people's leave, is none, nor is the new one of that, nor is a name whose access leads here by mistake.
func (w World) twin(name api.ClusterName, uid string) api.ClusterName {
	var found []api.ClusterName
	for other, side := range w.Sides {
		if other != name && side.Known && side.Facts.UID == uid && (!w.departed(other) || !w.accepts(name)) && w.owner(other, uid) == "" {
			found = append(found, other)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

func (w World) departed(name api.ClusterName) bool {
	return slices.ContainsFunc(w.Departed, func(c fleet.Cluster) bool { return c.Name == name })
}

// remembered says that a name is declared, or stands in the record of clusters: any other was never written to.
func (w World) remembered(name api.ClusterName) bool {
	c, _, _ := w.declared(name)
	_, recorded := w.UIDs[name]
	return c != nil || recorded || w.departed(name)
}

package plan

import (
	"fmt"
	"slices"
	"strings"

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
//	two names for one cluster        neither counts; but see renamed and misled
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
	twin := api.ClusterName("")
	if shared {
		twin = w.twin(name, uid)
	}
	if twin != "" && w.misled(name, twin) {
		return object.Because(reason.SameCluster, "the access of %s leads to cluster %s (kube-system uid %s): correct it; nothing is written by that name, and %s goes on",
			name, twin, uid, twin)
	}
	if twin != "" {
		return object.Because(reason.SameCluster, "%s and %s are one cluster (kube-system uid %s): remove one declaration; if %s has a new name: %s",
			name, twin, uid, name, w.command("accept cluster NEWNAME="+uid))
	}
	if ring := w.swapped(name); len(ring) > 0 {
		last := len(ring) - 1
		return object.Because(reason.ClusterChanged, "%s and %s swapped their names in one commit, and each would wait for the other: take that back, give %s a name that is free, and swap the rest once that is in place",
			strings.Join(ring[:last], ", "), ring[last], ring[0])
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

// swapped gives, in order, the declared clusters that have each other's former names, two or more in a ring, of which this is one.
func (w World) swapped(name api.ClusterName) (ring []string) {
	for at := name; len(ring) <= len(w.UIDs); {
		if at = w.calledBefore(at); at == "" {
			return nil
		}
		if ring = append(ring, string(at)); at == name {
			slices.Sort(ring)
			return ring
		}
	}
	return nil
}

// calledBefore is the declared name by which the cluster that has this one now is remembered; empty: it is none, or the same.
func (w World) calledBefore(name api.ClusterName) (former api.ClusterName) {
	side, known := w.Sides[name], w.UIDs[name]
	if !side.Known || known == "" || side.Facts.UID == known {
		return ""
	}
	for other, uid := range w.UIDs {
		if c, _, _ := w.declared(other); c != nil && uid == side.Facts.UID && (former == "" || other < former) {
			former = other
		}
	}
	return former
}

// renamedBase finds a base that describes the cluster under another name.
func (w World) renamedBase(name api.ClusterName) *object.Reason {
	base, found, err := inventory.Base(w.Owner, w.Sides[name].Seen)
	switch {
	case err != nil:
		return object.Because(reason.Inventory, "%v", err)
	case found && base.End.Cluster != name:
		return object.Because(reason.ClusterRenamed, "this cluster was written to as %s: if it has a new name: %s",
			base.End.Cluster, w.command(fmt.Sprintf("accept cluster %s=%s", name, w.Sides[name].Facts.UID)))
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

// misled says that the access of one name leads to the cluster of another: the record remembers that cluster by the other name, or, if
// it does not know that one, the base there does. The other name is declared still, and nobody accepted the cluster by this one. Only the name
// with the wrong access is then in doubt.
func (w World) misled(name, owner api.ClusterName) bool {
	uid := w.Sides[owner].Facts.UID
	owns := w.UIDs[owner] == uid
	if w.UIDs[owner] == "" {
		base, found := inventory.ReadBase(w.Owner, w.Sides[name].Seen)
		owns = found && base.End.Cluster == owner
	}
	return owns && w.UIDs[name] != uid && w.Accepted[name] != uid && !w.departed(owner)
}

// twin gives another name with the same identity, the first in order; the former name of a cluster that
// people accepted under its new one is none, nor is the new one of that, nor is a name whose access leads here by mistake.
func (w World) twin(name api.ClusterName, uid string) api.ClusterName {
	var found []api.ClusterName
	for other, side := range w.Sides {
		if other != name && side.Known && side.Facts.UID == uid && (!w.departed(other) || !w.accepts(name)) && !w.misled(other, name) {
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

package state

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Identities answers, for each cluster of a snapshot, whether it is the one that its name means. It caches answers, and serves one goroutine.
type Identities struct {
	Snapshot
	known map[api.ClusterName]*object.Reason // nil: the cluster is the one that its name means
}

// Identify returns the identities of a snapshot.
func Identify(s Snapshot) *Identities {
	return &Identities{Snapshot: s, known: map[api.ClusterName]*object.Reason{}}
}

// Unidentified returns why a cluster is not known to be the one its name means; nil: it is. What another cluster shows is no fact about that name:
// nothing is written there, and nothing rendered, issued or concluded from it elsewhere. The checks in order:
//
//	not read                         unknown is not absent
//	no identity                      it must be told from others
//	two names for one cluster        neither counts; but see renamed and owner
//	another cluster than remembered  until people accept it
//	other namespaces of Linkerd      while it holds anything of ours
//	a base of another name           until people accept it
func (i *Identities) Unidentified(name api.ClusterName) *object.Reason {
	why, ok := i.known[name]
	if !ok {
		why = i.identify(name)
		i.known[name] = why
	}
	return why
}

func (i *Identities) identify(name api.ClusterName) *object.Reason {
	if why := i.unidentified(name, i.shared(i.Clusters[name].Facts.UID)); why != nil {
		return why
	}
	if why := i.namespacesChanged(name); why != nil {
		return why
	}
	if i.Accepted[name] == i.Clusters[name].Facts.UID {
		return nil
	}
	return i.renamedBase(name)
}

// namespacesChanged returns a reason if a cluster, in which a base still is, is declared with other namespaces of Linkerd than those it had when
// that was written; else nil.
func (i *Identities) namespacesChanged(name api.ClusterName) *object.Reason {
	c, _, _ := i.Declared(name)
	base, found := inventory.ReadBase(i.Owner, i.Clusters[name].Live)
	if c == nil || !found || base.Linkerd == c.Spec.Linkerd || base.Linkerd == (api.Linkerd{}) {
		return nil
	}
	return OtherNamespaces(name, fmt.Sprintf("has objects of linkwright from spec.linkerd {namespace: %s, multiclusterNamespace: %s}",
		base.Linkerd.Namespace, base.Linkerd.MulticlusterNamespace))
}

// OtherNamespaces returns the reason to deny a cluster that is declared with other Linkerd namespaces than those it has. why says how linkwright
// knows.
func OtherNamespaces(name api.ClusterName, why string) *object.Reason {
	return object.Because(reason.NamespaceChanged, "cluster %s %s, and declares other namespaces now: put the former ones back; "+
		"to move, declare state: Leaving with the former ones, and the new ones when nothing is left there", name, why)
}

// shared reports whether several names have the identity: only then is it asked which, since that is to read all of them.
func (i *Identities) shared(uid string) bool {
	if i.DuplicateUIDs == nil {
		i.DuplicateUIDs = i.CountUIDs()
	}
	return i.DuplicateUIDs[uid]
}

// CountUIDs counts the identities for Twins; never nil.
func (s Snapshot) CountUIDs() map[string]bool {
	once, twins := make(map[string]bool, len(s.Clusters)), map[string]bool{}
	for _, cluster := range s.Clusters {
		if uid := cluster.Facts.UID; cluster.Known() && once[uid] {
			twins[uid] = true
		} else if cluster.Known() {
			once[uid] = true
		}
	}
	return twins
}

// unidentified returns all of that but the base's name. Without shared there is no other name for the cluster.
func (i *Identities) unidentified(name api.ClusterName, shared bool) *object.Reason {
	cluster := i.Clusters[name]
	uid := cluster.Facts.UID
	switch {
	case !cluster.Known() && cluster.Err != nil:
		return cluster.Err
	case !cluster.Known():
		return object.Because(reason.Unknown, "linkwright has not read cluster %s yet", name)
	case uid == "":
		return object.Because(reason.ClusterUIDMissing, "linkwright finds no namespace kube-system, whose uid identifies the cluster: check that the access leads to a Kubernetes cluster")
	}
	owner := api.ClusterName("")
	if known := i.UIDs[name]; shared || known != "" && known != uid {
		owner = i.owner(name, uid)
	}
	if owner != "" {
		return object.Because(reason.DuplicateCluster, "the access of %s leads to cluster %s: correct it; linkwright writes nothing for that name, and %s is not affected; the kube-system uid is %s",
			name, owner, owner, uid)
	}
	if shared {
		if twin := i.otherName(name, uid); twin != "" {
			return i.duplicate(name, twin, uid)
		}
	}
	if i.Accepted[name] == uid {
		return nil
	}
	if known := i.UIDs[name]; known != "" && known != uid {
		return object.Because(reason.ClusterChanged, "this is not the cluster that linkwright wrote to: if that is right, run %s; its kube-system uid was %s",
			i.Command(fmt.Sprintf("accept cluster %s=%s", name, uid)), known)
	}
	return nil
}

// duplicate refuses two names of one cluster.
func (i *Identities) duplicate(name, twin api.ClusterName, uid string) *object.Reason {
	former, now := twin, name
	if i.HasLeft(name) {
		former, now = name, twin
	}
	if !i.HasLeft(former) {
		return object.Because(reason.DuplicateCluster, "%s and %s are one cluster: remove one declaration, or declare one of them as a second name of the other (spec.sameAs); its kube-system uid is %s",
			name, twin, uid)
	}
	return object.Because(reason.DuplicateCluster, "%s and %s are one cluster: to rename it without interruption, declare the new name as its second name first (spec.sameAs); "+
		"to remove all links of the name %s at once, and create them again, run %s", name, twin, former, i.Command(fmt.Sprintf("accept cluster %s=%s", now, uid)))
}

// renamedBase finds a base that describes the cluster by another name, of which this one is no second name.
func (i *Identities) renamedBase(name api.ClusterName) *object.Reason {
	base, found, err := inventory.Base(i.Owner, i.Clusters[name].Live)
	switch {
	case err != nil:
		return object.Because(reason.InventoryInvalid, "%v", err)
	case found && base.End.Cluster != name && !slices.Contains(base.Names, name):
		return object.Because(reason.ClusterRenamed, "linkwright wrote to this cluster as %s: declare it by that name, and %s as its second name (spec.sameAs); "+
			"to remove all links of the name %s at once, and create them again, run %s",
			base.End.Cluster, name, base.End.Cluster, i.Command(fmt.Sprintf("accept cluster %s=%s", name, i.Clusters[name].Facts.UID)))
	}
	return nil
}

// Confirmed reports whether the record has the identity of a cluster and its base has the name, so that nobody needs to accept it.
func (s Snapshot) Confirmed(name api.ClusterName, uid string) bool {
	cluster := s.Clusters[name]
	if !cluster.Known() || cluster.Facts.UID != uid || s.UIDs[name] != uid {
		return false
	}
	if base, found := inventory.ReadBase(s.Owner, cluster.Live); found {
		return base.End.Cluster == name
	}
	for other, known := range s.UIDs {
		if other != name && known == uid {
			return false // it may be the former name, which is still to be handed over
		}
	}
	return true
}

// owner returns the declared cluster to which the access of another name leads by mistake: the record has its identity by that name, or, if it does
// not know that one, the base there does. Only the name with the wrong access is then in doubt. Empty: none.
func (i *Identities) owner(name api.ClusterName, uid string) (owner api.ClusterName) {
	if i.UIDs[name] == uid {
		return ""
	}
	for other, known := range i.UIDs {
		if known == uid && other != name && i.IsCluster(other) && (owner == "" || other < owner) {
			owner = other
		}
	}
	if base, found := inventory.ReadBase(i.Owner, i.Clusters[name].Live); owner == "" && found && base.End.Cluster != name {
		if was := base.End.Cluster; i.IsCluster(was) && i.UIDs[was] == "" && i.Clusters[was].Facts.UID == uid {
			return was
		}
	}
	return owner
}

// otherName returns another name with the same identity, the first in order; the former name of a cluster that has its new one as a second name, or
// with people's permission, is none, nor is the new one of that, nor is a name whose access leads here by mistake.
func (i *Identities) otherName(name api.ClusterName, uid string) api.ClusterName {
	var found []api.ClusterName
	for other, cluster := range i.Clusters {
		if other != name && cluster.Known() && cluster.Facts.UID == uid && (!i.HasLeft(other) || !i.accepts(name)) && i.owner(other, uid) == "" {
			found = append(found, other)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

package plan

import (
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// Asks says what keys that moved in a cluster ask for, after a step of it that left nothing to do: ends to be compared
// alone (see Drift), sorted, or the whole cluster; neither: nothing. It is about that cluster's step alone: what others
// depend on is for the caller to see.
//
//	facts, our namespace, the base's inventory, admission policies,
//	the Deployment that is told of credentials  the whole
//	inventory of an end in place                that end: Drift sees whether it holds what is declared; no other can be
//	credentials, accounts, tokens               the whole: they tell where a link stands; with a token that does not expire: its end
//	written by Linkerd's controllers            nothing, or the whole while an end waits, is refused, goes or is in use, or where it is ours;
//	                                            ends whose stages stand otherwise for it
//	recorded by an end in place                 that end
//	of an end that is not, or ours elsewhere    the whole
//	others                                      as what Linkerd's controllers write
//
// Where the cluster was refused, whatever moved may end that.
func Asks(w World, last Step, keys []object.Key) (ends []object.End, whole bool) {
	if len(keys) > 0 && last.Refused != nil {
		return nil, true
	}
	a := asker{World: w, name: last.Cluster, rows: map[object.End]Row{}, recorded: map[object.End]inventory.Inventory{}, found: map[object.End]bool{}}
	for _, r := range last.Rows {
		a.rows[r.End] = r
		a.unsettled = a.unsettled || r.unsettled()
	}
	if slices.ContainsFunc(keys, a.asksWhole) {
		return nil, true
	}
	if slices.ContainsFunc(keys, a.tells) {
		a.ailing()
	}
	return slices.SortedFunc(maps.Keys(a.found), object.End.Compare), false
}

// tells says that a link's stages may be read from an object, which Linkerd's controllers write: a Service of ours is no mirror.
func (a *asker) tells(k object.Key) bool {
	return k.Kind == "Endpoints" || k.Kind == "Lease" || k.Kind == "Service" && k.Group == "" && a.Sides[a.name].Seen.Record(k).Mark != object.Ours
}

// inPlace says that all of an end is as declared, or was left so on purpose, and is compared alone when it drifts.
func (r Row) inPlace() bool {
	waits := r.Standing == Waiting && r.Why != nil && slices.Contains([]string{Contested, Paced, NotReady}, r.Why.Code)
	return (r.Standing == InPlace || waits) && len(r.Going) == 0 && !r.Leaving
}

// unsettled says that an end may go on by what Linkerd's controllers do. A held one does not: nothing of it goes.
func (r Row) unsettled() bool {
	switch {
	case r.inPlace():
		return r.Why != nil && r.Why.Code == pair.InUse
	case r.Standing == Removed:
		return len(r.Going) > 0
	}
	return r.Standing != Held || r.Leaving
}

// asker answers for one cluster.
type asker struct {
	World
	name      api.ClusterName
	rows      map[object.End]Row
	recorded  map[object.End]inventory.Inventory // memo
	unsettled bool
	found     map[object.End]bool // ends to be compared
}

// asksWhole says that a key asks for the whole cluster; an end that it asks for is noted.
func (a *asker) asksWhole(k object.Key) bool {
	switch {
	case inventory.Named(a.Owner, k):
		return !a.isRecord(k)
	case k == object.Key{Kind: "Namespace", Name: object.AccessNamespace}, k.Group == admissionv1.GroupName, a.isFact(k), a.isGiven(k), k == linkerd.Destination(a.spec(a.name).Linkerd):
		return true
	}
	stray := a.unsettled || a.Sides[a.name].Seen.Record(k).Mark == object.Ours
	if k.Kind == "Endpoints" || k.Kind == "Pod" || k.Kind == "Lease" {
		return stray
	}
	end, named := a.endOf(a.name, k)
	row, told := a.rows[end]
	switch {
	case !named, !told:
	case !row.inPlace() && (!end.IsBase() || row.Standing == Held):
		return true
	case !a.has(end, k):
	case row.inPlace() && (k.Kind != "Secret" || !end.IsSource() || a.isCopy(end, k)):
		a.found[end] = true
		return false
	default:
		return true
	}
	return stray
}

// isRecord says that a key is the inventory of an end in place, and can be read; the end is noted.
func (a *asker) isRecord(k object.Key) bool {
	for end, row := range a.rows {
		if end.IsBase() || !row.inPlace() || inventory.Key(a.Owner, end) != k {
			continue
		}
		_, read := inventory.Of(a.Owner, end, a.Sides[a.name].Seen)
		a.found[end] = true
		return read
	}
	return false
}

// isFact says that a cluster's facts are read from an object. Links are only listed to see whether they are served.
func (a *asker) isFact(k object.Key) bool {
	return slices.ContainsFunc(linkerd.Watches(a.spec(a.name)), func(w object.Watch) bool {
		return w.Group == k.Group && w.Kind == k.Kind && w.Namespace == k.Namespace && slices.Contains(w.Names, k.Name)
	})
}

// isGiven says that an object tells where a link stands: a credential, whoever writes it, or an account and its tokens.
func (a *asker) isGiven(k object.Key) bool {
	if source, ok := render.SourceOf(a.Owner, k); ok && k.Namespace == object.AccessNamespace {
		l, declared := a.Fleet.Link(api.Pair{Source: source, Target: a.name})
		return !declared || l.Spec.Credentials.Mode != api.LegacyToken
	}
	_, out, _ := a.declared(a.name)
	return k.Kind == "Secret" && slices.ContainsFunc(out, func(l fleet.Link) bool {
		return slices.Contains(pair.Secrets(l), k) && !a.isCopy(object.End{Cluster: a.name, Link: l.Pair()}, k)
	})
}

// isCopy says that a source's credential is made of what its target shows, and nothing is read from it.
func (a *asker) isCopy(end object.End, k object.Key) bool {
	l, declared := a.Fleet.Link(end.Link)
	return declared && end.IsSource() && l.Spec.Credentials.Mode == api.LegacyToken && k == linkerd.MirrorSecret(a.spec(a.name).Linkerd, end.Link.Target)
}

// has says that an end has recorded a key. An inventory that cannot be read was asked for as a whole before.
func (a *asker) has(end object.End, k object.Key) bool {
	inv, known := a.recorded[end]
	if !known {
		inv, _ = inventory.Of(a.Owner, end, a.Sides[a.name].Seen)
		a.recorded[end] = inv
	}
	return inv.Has(k)
}

package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
)

// lasts is for how long a place is looked at in which nothing is declared any more: much longer than a lease (15 s) with what
// one request may take (API servers give up after 60 s), so that nothing can arrive there later that a process which hung had
// planned before.
const lasts = time.Hour

// formerPlaces are looks at what a base remembers and nothing declared would have looked for: the kinds of ends in a former
// multicluster namespace, with what controllers leave there, and single objects.
func (w World) formerPlaces(l api.Linkerd, recorded []inventory.Inventory) (out []object.Watch) {
	for _, inv := range recorded {
		for _, place := range inv.Places {
			ns, whole := place.Namespace()
			switch {
			case !place.Former() && !whole, whole && (ns == l.MulticlusterNamespace || ns == l.Namespace): // where the issuer's key is, nothing is listed
			case whole:
				out = append(out, hosted(l, ns)...)
			default:
				k := place.Key
				out = append(out, object.Watch{
					Group: k.Group, Version: render.VersionOf(k.Group, k.Kind), Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name},
				})
			}
		}
	}
	return out
}

// hosted is what is looked at in a namespace because it is, or was, the multicluster one.
func hosted(l api.Linkerd, ns string) []object.Watch {
	l.MulticlusterNamespace = ns
	return slices.DeleteFunc(slices.Concat(render.Watches(l, nil), linkerd.MirrorWatches(l)), func(w object.Watch) bool { return w.Namespace != ns })
}

// at is where Linkerd is in a cluster, or was when an object of such a name was made: names tell of which end it is only by that.
func (w World) at(name api.ClusterName, k object.Key) api.Linkerd {
	l := w.spec(name).Linkerd
	switch k.Namespace {
	case "", l.Namespace, l.MulticlusterNamespace, object.AccessNamespace:
		return l
	}
	base, _ := inventory.ReadBase(w.Owner, w.Sides[name].Seen)
	for _, place := range base.Places {
		if ns, whole := place.Namespace(); whole && ns == k.Namespace {
			l.MulticlusterNamespace = ns
			return l
		}
		if place.Key == k && k.Kind == "Secret" {
			l.Namespace = k.Namespace
		}
	}
	return l
}

// places are what the base is to remember from now on:
//
//	today's multicluster namespace          for as long as it is that
//	one that it was                         for an hour, and for as long as anything of ours is recorded or seen there
//	an object that was declared, and that   the same
//	no look of today shows by itself
//
// Each is written down before the first inventory that no longer tells of it.
func (p *planner) places() []inventory.Place {
	old, _ := p.record(object.End{Cluster: p.name})
	mc := object.Key{Kind: "Namespace", Name: p.spec(p.name).Linkerd.MulticlusterNamespace}
	out := map[object.Key]inventory.Place{mc: {Key: mc}}
	for _, place := range old.Places {
		if _, whole := place.Namespace(); place.Key != mc && (whole || !p.shown(place.Key)) && !p.past(place) {
			out[place.Key] = p.since(place)
		}
	}
	for _, inv := range p.rebuilds {
		for _, k := range p.unwanted(inv) {
			if k, hidden := p.place(inv.End, k); hidden {
				if _, known := out[k]; !known {
					out[k] = p.since(inventory.Place{Key: k})
				}
			}
		}
	}
	maps.DeleteFunc(out, func(k object.Key, _ inventory.Place) bool {
		_, covered := out[object.Key{Kind: "Namespace", Name: k.Namespace}]
		return covered && render.VersionOf(k.Group, k.Kind) != ""
	})
	return slices.SortedFunc(maps.Values(out), func(a, b inventory.Place) int { return a.Compare(b.Key) })
}

// since is a place in which nothing is declared, from now on if it was not so before.
func (p *planner) since(place inventory.Place) inventory.Place {
	if !place.Former() {
		place.Since = p.Now.UTC().Truncate(time.Second)
	}
	return place
}

// unwanted are the entries of an inventory that its end no longer wants. A held one keeps them all.
func (p *planner) unwanted(inv inventory.Inventory) []object.Key {
	i, declared := slices.BinarySearchFunc(p.wanted, inv.End, func(w object.Wanted, e object.End) int { return w.End.Compare(e) })
	if !declared {
		return inv.Entries
	}
	if p.wanted[i].Held != nil || inv.Lists(p.wanted[i].Objects) {
		return nil
	}
	wanted := map[object.Key]bool{}
	for _, o := range p.wanted[i].Objects {
		wanted[o.Key] = true
	}
	return slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return wanted[k] })
}

// place is where an entry that is no longer wanted would come to lie, if it is written late; false: where it is seen anyway.
func (p *planner) place(end object.End, k object.Key) (object.Key, bool) {
	switch {
	case p.shown(k):
		return object.Key{}, false
	case !end.IsBase() && k.Kind != "Secret" && render.VersionOf(k.Group, k.Kind) != "":
		return object.Key{Kind: "Namespace", Name: k.Namespace}, true
	}
	return k, true
}

// shown says that a look shows an object whether it is recorded or not.
func (p *planner) shown(k object.Key) bool {
	l := p.spec(p.name).Linkerd
	known := render.VersionOf(k.Group, k.Kind) != ""
	switch k.Namespace {
	case "", object.AccessNamespace:
		return true
	case l.MulticlusterNamespace:
		return known || slices.ContainsFunc(p.wanted, func(w object.Wanted) bool {
			return w.End.IsBase() && slices.ContainsFunc(w.Objects, func(o object.Object) bool {
				return o.Key.Group == k.Group && o.Key.Kind == k.Kind && o.Key.Namespace == k.Namespace
			})
		})
	case l.Namespace:
		return slices.ContainsFunc(p.discovering(p.name), func(target api.ClusterName) bool { return k == linkerd.ControlPlaneSecret(l, target) })
	}
	return false
}

// past says that a place need not be remembered any more: its time is over, and a look that showed all of it, or none, since it
// could not be read any more, found nothing of ours there. What is there keeps it, whatever the time.
func (p *planner) past(place inventory.Place) bool {
	if !p.over(place) {
		return false
	}
	ns, whole := place.Namespace()
	here := func(k object.Key) bool { return k == place.Key || whole && k.Namespace == ns }
	for k, r := range p.side.Seen.Records() {
		if r.Mark == object.Ours && here(k) {
			return false
		}
	}
	for _, inv := range p.recorded {
		if slices.ContainsFunc(inv.Entries, here) {
			return false
		}
	}
	return !whole || !p.sawPart(ns)
}

// over says that nothing has been declared in a place for long enough.
func (p *planner) over(place inventory.Place) bool {
	return place.Former() && !p.Now.Before(place.Since.Add(lasts))
}

// sawPart says that of what may be ours in a namespace some was looked at, and some was not.
func (p *planner) sawPart(ns string) bool {
	var seen, missed bool
	for _, w := range hosted(p.spec(p.name).Linkerd, ns) {
		if w.Selector == "" {
			saw := p.side.Saw(object.Key{Group: w.Group, Kind: w.Kind, Namespace: ns})
			seen, missed = seen || saw, missed || !saw
		}
	}
	return seen && missed
}

// remember gives the base's places where they must be written, by a step that writes the base anyway or must do so for them, and has
// the step asked again when the next of them is past.
func (p *planner) remember(old inventory.Inventory, writes bool) (next []inventory.Place, must bool) {
	leaves := len(p.step.Ahead)+len(p.step.After) > 0
	if !writes && !leaves && !slices.ContainsFunc(old.Places, p.over) {
		p.recall(old.Places)
		return old.Places, false
	}
	next = p.places()
	must = len(next) < len(old.Places) || slices.ContainsFunc(next, func(n inventory.Place) bool {
		return n.Former() && !slices.ContainsFunc(old.Places, func(o inventory.Place) bool { return o.Key == n.Key && o.Former() })
	})
	p.recall(next)
	return next, must
}

func (p *planner) recall(places []inventory.Place) {
	for _, place := range places {
		if at := place.Since.Add(lasts); place.Former() && p.Now.Before(at) && (p.recalls.IsZero() || at.Before(p.recalls)) {
			p.recalls = at
		}
	}
}

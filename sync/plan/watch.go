package plan

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/takeover"
)

// InventoryWatches returns what must be read first: it says what else to read.
func InventoryWatches() []object.Watch { return []object.Watch{inventory.Watch()} }

// required reports whether nothing can be decided in a cluster without a watch: if the account may not read it, the whole cluster counts as unread.
//
//	linkwright's ConfigMaps in linkwright-access  which objects are linkwright's, and what was recorded
//	Namespace kube-system                         the identity of the cluster
//	Namespaces of Linkerd, and linkwright-access  whether Linkerd is installed, and linkwright's namespace exists
//
// Everything else that may not be read is hidden: it is unknown, what depends on it is blocked, and the rest of the cluster continues.
func required(w object.Watch) bool {
	return w.Group == "" && (w.Kind == "Namespace" || w.Kind == inventory.Watch().Kind && w.Namespace == object.AccessNamespace)
}

// Watches returns everything that must be read in a cluster: what ends hold and held, the sources of facts, and what Linkerd's controllers left.
// ledger is an observation of InventoryWatches(), which is read first. The renderer says which kinds overlays bring in.
func Watches(w state.Snapshot, c fleet.Cluster, r Renderer, ledger object.Observation) ([]object.Watch, error) {
	recorded, err := inventory.Read(w.Owner, ledger)
	if err != nil {
		return nil, err
	}
	c.Spec.Linkerd = w.Installed(c, ledger)
	l, out := c.Spec.Linkerd, InventoryWatches()
	if targets := takeover.Targets(w, c.Name); len(targets) > 0 {
		out = append(out, linkerd.AdoptWatches(l, w.Owner, targets)...) // first: they show more of the same objects
	}
	out = append(out, linkerd.Watches(c.Spec)...)
	out = append(out, gateways(w, c)...)
	out = append(out, linkerd.MirrorWatches(l)...)
	out = append(out, object.Watch{Version: "v1", Kind: "Namespace", Names: []string{object.AccessNamespace}})
	out = append(out, render.Watches(l, w.Discovering(c.Name))...)
	if destination := credential.Destination(w, c); len(destination) > 0 {
		out = append(out, destination...)
	} else {
		out = append(out, valueWatches(c)...)
	}
	out = append(out, confine.Watches()...)
	out = append(out, credential.Of(state.Identify(w)).Watches(c.Name)...)
	more := Extras(w, c, r)
	more = append(more, linkerd.OlderWatches(ledger)...)
	out = slices.Concat(out, more, recordedElsewhere(l.MulticlusterNamespace, recorded, more))
	for i := range out {
		out[i].MayBeForbidden = !required(out[i])
	}
	return out, nil
}

// gateways returns the gateways of a cluster's second names, if they are other Services.
func gateways(w state.Snapshot, c fleet.Cluster) (out []object.Watch) {
	if w.Fleet == nil {
		return nil
	}
	for _, name := range w.Fleet.Names(c.Name) {
		second, _ := w.Fleet.Cluster(name)
		if g := second.Spec.Gateway; g.On() && (!c.Spec.Gateway.On() || g.Name != c.Spec.Gateway.Name) {
			out = append(out, object.Watch{Version: "v1", Kind: "Service", Namespace: c.Spec.Linkerd.MulticlusterNamespace, Names: []string{g.Name}, Depth: object.Whole})
		}
	}
	return out
}

// Extras returns the kinds of a declared base that no link's end holds, each in its desired version.
func Extras(w state.Snapshot, c fleet.Cluster, r Renderer) []object.Watch {
	if declared, _, _ := w.Declared(c.Name); declared == nil {
		return nil
	}
	var out []object.Watch
	for _, want := range r.Complete(c, nil) {
		for _, o := range want.Objects {
			kind := object.Watch{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Health: true}
			listed := render.VersionOf(o.Key.Group, o.Key.Kind) == o.Version &&
				(o.Key.Namespace == c.Spec.Linkerd.MulticlusterNamespace || o.Key.Namespace == "")
			if !listed && !slices.ContainsFunc(out, func(w object.Watch) bool { return sameList(w, kind) && w.Version == kind.Version }) {
				out = append(out, kind)
			}
		}
	}
	return out
}

// recordedElsewhere returns watches for recorded objects that no other watch covers: kinds that are no longer desired, and single objects of another
// namespace.
func recordedElsewhere(multicluster string, recorded []inventory.Inventory, listed []object.Watch) (out []object.Watch) {
	for _, inv := range recorded {
		for _, k := range inv.Entries {
			w := object.Watch{Group: k.Group, Version: render.VersionOf(k.Group, k.Kind), Kind: k.Kind, Namespace: k.Namespace}
			switch {
			case k.Namespace == "" || k.Namespace == object.AccessNamespace:
				continue
			case k.Namespace != multicluster:
				w.Names = []string{k.Name}
			case w.Version != "" || slices.ContainsFunc(slices.Concat(listed, out), func(o object.Watch) bool { return sameList(o, w) }):
				continue
			}
			out = append(out, w)
		}
	}
	return out
}

// sameList reports whether two watches list the same objects, perhaps in different versions.
func sameList(w, o object.Watch) bool {
	return w.Group == o.Group && w.Kind == o.Kind && w.Namespace == o.Namespace && len(w.Names)+len(o.Names) == 0
}

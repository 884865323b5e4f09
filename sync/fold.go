package sync

import (
	"context"
	"reflect"
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// withWrites returns a side with what a step wrote, without reading the cluster again: the answer to each write is the object as the server holds
// it. What others do to an object once it is written – they fill in tokens, make Deployments ready – is read again. False: something failed, or was
// not simply applied, and all is to be read.
//
// What takes something away is not decided on such a side: it was not read in this round.
func (r reader) withWrites(ctx context.Context, live state.Cluster, step plan.Step, outcomes []object.Outcome) (state.Cluster, bool) {
	if len(outcomes) != step.Writes() || slices.ContainsFunc(outcomes, r.mustReread) {
		return live, false
	}
	wrote := writeFold{before: live.Live, watches: map[object.Key][]object.Watch{}, edit: live.Live.Edit()}
	if base, found := inventory.ReadBase(r.loop.Owner, live.Live); found && base.Rollout != "" {
		wrote.shared = base.Was.UID
	}
	for _, w := range live.Watches {
		wrote.watches[kindOf(w.Group, w.Kind)] = append(wrote.watches[kindOf(w.Group, w.Kind)], w)
	}
	for _, o := range outcomes {
		wrote.put(o)
	}
	if !wrote.rereadChanging(ctx, r) {
		return live, false
	}
	live.Live, live.Round = wrote.edit.Observation(), 0
	return live, true
}

// mustReread reports whether the result of a write must be read: it failed, it was no apply, or facts are read from its object.
func (r reader) mustReread(o object.Outcome) bool {
	applied := o.Change.Action == object.Create || o.Change.Action == object.Update
	return o.Err != nil || !applied || o.Now.IsZero() ||
		slices.ContainsFunc(linkerd.Watches(r.cluster.Spec), func(w object.Watch) bool { return len(w.Names) > 0 && covers(w, o.Change.Key) })
}

// watchesAll reports whether the last read of the cluster covers everything that must be read now. Other clusters may add credentials to that.
func (r reader) watchesAll() bool {
	near := r.store.ForReading(r.cluster.Name)
	live := r.store.Clusters.Last(r.cluster.Name)
	if !live.Known() || len(near.Clusters) == 0 {
		return true
	}
	watches, err := plan.Watches(near, r.cluster, r.loop.Renderer, live.Live)
	return err == nil && !slices.ContainsFunc(watches, func(w object.Watch) bool { return !covered(w, live.Watches) })
}

// covered reports whether other watches show everything that a watch shows, as deeply.
func covered(w object.Watch, by []object.Watch) bool {
	if len(w.Names) == 0 {
		return slices.ContainsFunc(by, func(o object.Watch) bool { return reflect.DeepEqual(w, o) })
	}
	for _, name := range w.Names {
		k := object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: name}
		if !slices.ContainsFunc(by, func(o object.Watch) bool { return o.Depth >= w.Depth && covers(o, k) }) {
			return false
		}
	}
	return true
}

// writeFold adds writes to an observation.
type writeFold struct {
	before   object.Observation
	watches  map[object.Key][]object.Watch // by kind
	edit     *object.Edit
	changing []changingObject
	shared   string // uid of a base whose inventory has the progress of a rollout, which another writer keeps; empty: it has none
}

// changingObject is an object that others may change once it is written, and the watch that shows it.
type changingObject struct {
	key   object.Key
	watch object.Watch
}

// kindOf returns the key of a kind.
func kindOf(group, kind string) object.Key { return object.Key{Group: group, Kind: kind} }

// put adds an object as its write left it, with its body if a watch reads bodies.
func (f *writeFold) put(o object.Outcome) {
	k := o.Change.Key
	var body object.Body
	for _, w := range f.watches[kindOf(k.Group, k.Kind)] {
		if !covers(w, k) {
			continue
		}
		if w.Depth != object.Reduced {
			body = o.Change.Object.Body
		}
		if w.Health || f.shared != "" && o.Now.UID == f.shared || k.Kind == "Secret" && k.Namespace == object.AccessNamespace {
			f.changing = append(f.changing, changingObject{k, w})
		}
	}
	f.edit.Put(k, o.Now, body)
}

// rereadChanging reads the objects that others may change; false: that failed.
func (f *writeFold) rereadChanging(ctx context.Context, r reader) bool {
	if len(f.changing) == 0 {
		return true
	}
	var now object.Observation
	err := r.loop.Clusters.WithCluster(ctx, r.cluster.Name, func(conn object.Cluster) (err error) {
		now, err = conn.Observe(ctx, f.watchesToReread())
		return err
	})
	if err != nil {
		return false
	}
	for _, m := range f.changing {
		body, _ := now.Body(m.key)
		if r := now.Record(m.key); r.IsZero() {
			f.edit.Drop(m.key)
		} else {
			f.edit.Put(m.key, r, body)
		}
	}
	return true
}

// objectsPerGet is how many objects of a list cost as much as one GET.
const objectsPerGet = 5

// watchesToReread returns watches for the objects that others may change: by name, unless a list is cheaper.
func (f *writeFold) watchesToReread() (looks []object.Watch) {
	names := map[int][]string{} // by place among looks
	for _, m := range f.changing {
		at := slices.IndexFunc(looks, func(w object.Watch) bool { return reflect.DeepEqual(w, m.watch) })
		if at < 0 {
			at, looks = len(looks), append(looks, m.watch)
		}
		names[at] = append(names[at], m.key.Name)
	}
	for i, w := range looks {
		listed := 0
		for range f.before.Kind(w.Group, w.Kind) {
			listed++
		}
		if w.Namespace != "" && objectsPerGet*len(names[i]) < listed || len(w.Names) > 0 {
			looks[i].Names = names[i]
		}
	}
	return looks
}

// covers reports whether a watch shows an object, if that exists.
func covers(w object.Watch, k object.Key) bool {
	return w.Group == k.Group && w.Kind == k.Kind && w.Selector == "" && (w.Namespace == "" || w.Namespace == k.Namespace) &&
		(len(w.Names) == 0 || slices.Contains(w.Names, k.Name))
}

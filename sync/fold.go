package sync

import (
	"context"
	"reflect"
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// written is a side with what a step wrote, without reading the cluster again: the answer to each write is the object
// as the server holds it. What others do to an object once it is written – they fill in tokens, make Deployments ready – is
// looked at again. False: something failed, or was not simply applied, and all is to be read.
//
// What takes something away is not decided on such a side: it was not read in this round.
func (r reader) written(ctx context.Context, side state.Cluster, step plan.Step, outcomes []object.Outcome) (state.Cluster, bool) {
	if len(outcomes) != step.Writes() || slices.ContainsFunc(outcomes, r.unfoldable) {
		return side, false
	}
	wrote := folder{seen: side.Seen, looked: map[object.Key][]object.Watch{}, edit: side.Seen.Edit()}
	for _, w := range side.Looked {
		wrote.looked[kindOf(w.Group, w.Kind)] = append(wrote.looked[kindOf(w.Group, w.Kind)], w)
	}
	for _, o := range outcomes {
		wrote.put(o)
	}
	if !wrote.lookAgain(ctx, r) {
		return side, false
	}
	side.Seen, side.Pass = wrote.edit.Observation(), 0
	return side, true
}

// unfoldable says that it must be read what a write left: it failed, it was no apply, or facts are read from what it wrote.
func (r reader) unfoldable(o object.Outcome) bool {
	applied := o.Change.Action == object.Create || o.Change.Action == object.Update
	return o.Err != nil || !applied || o.Now.IsZero() ||
		slices.ContainsFunc(linkerd.Watches(r.cluster.Spec), func(w object.Watch) bool { return len(w.Names) > 0 && shownIn(w, o.Change.Key) })
}

// sees says that a side shows all that is to be looked at by now: what other clusters show adds credentials to it. What the
// cluster itself has recorded since was looked for before it was written.
func (r reader) sees() bool {
	near := r.store.Near(r.cluster.Name)
	side := r.store.Clusters.Last(r.cluster.Name)
	if !side.Known() || len(near.Clusters) == 0 {
		return true
	}
	looked, err := plan.Watches(near, r.cluster, r.loop.Renderer, side.Seen)
	return err == nil && !slices.ContainsFunc(looked, func(w object.Watch) bool { return !covered(w, side.Looked) })
}

// covered says that what a watch shows is shown as deeply by others.
func covered(w object.Watch, by []object.Watch) bool {
	if len(w.Names) == 0 {
		return slices.ContainsFunc(by, func(o object.Watch) bool { return reflect.DeepEqual(w, o) })
	}
	for _, name := range w.Names {
		k := object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: name}
		if !slices.ContainsFunc(by, func(o object.Watch) bool { return o.Depth >= w.Depth && shownIn(o, k) }) {
			return false
		}
	}
	return true
}

// folder makes an observation of what was seen, and written since.
type folder struct {
	seen   object.Observation
	looked map[object.Key][]object.Watch // by kind
	edit   *object.Edit
	moving []moving
}

// moving is an object that may go on by itself, and what shows it.
type moving struct {
	key object.Key
	in  object.Watch
}

// kindOf is the key of a kind.
func kindOf(group, kind string) object.Key { return object.Key{Group: group, Kind: kind} }

// put shows an object as its write left it: with its body where bodies are looked at.
func (f *folder) put(o object.Outcome) {
	k := o.Change.Key
	var body object.Body
	for _, w := range f.looked[kindOf(k.Group, k.Kind)] {
		if !shownIn(w, k) {
			continue
		}
		if w.Depth != object.Reduced {
			body = o.Change.Object.Body
		}
		if w.Health || k.Kind == "Secret" && k.Namespace == object.AccessNamespace {
			f.moving = append(f.moving, moving{k, w})
		}
	}
	f.edit.Put(k, o.Now, body)
}

// lookAgain shows what may go on by itself as it is now; false: that could not be read.
func (f *folder) lookAgain(ctx context.Context, r reader) bool {
	if len(f.moving) == 0 {
		return true
	}
	var now object.Observation
	err := r.loop.Clusters.WithCluster(ctx, r.cluster.Name, func(conn object.Cluster) (err error) {
		now, err = conn.Observe(ctx, f.again())
		return err
	})
	if err != nil {
		return false
	}
	for _, m := range f.moving {
		body, _ := now.Body(m.key)
		if r := now.Record(m.key); r.IsZero() {
			f.edit.Drop(m.key)
		} else {
			f.edit.Put(m.key, r, body)
		}
	}
	return true
}

// each is how many objects of a list a GET is worth.
const each = 5

// again is what shows all that may go on by itself: one by one, unless that are so many of their kind that a list is cheaper.
func (f *folder) again() (looks []object.Watch) {
	names := map[int][]string{} // by place among looks
	for _, m := range f.moving {
		at := slices.IndexFunc(looks, func(w object.Watch) bool { return reflect.DeepEqual(w, m.in) })
		if at < 0 {
			at, looks = len(looks), append(looks, m.in)
		}
		names[at] = append(names[at], m.key.Name)
	}
	for i, w := range looks {
		listed := 0
		for range f.seen.Kind(w.Group, w.Kind) {
			listed++
		}
		if w.Namespace != "" && each*len(names[i]) < listed || len(w.Names) > 0 {
			looks[i].Names = names[i]
		}
	}
	return looks
}

// shownIn says that a look shows an object, if it is there.
func shownIn(w object.Watch, k object.Key) bool {
	return w.Group == k.Group && w.Kind == k.Kind && w.Selector == "" && (w.Namespace == "" || w.Namespace == k.Namespace) &&
		(len(w.Names) == 0 || slices.Contains(w.Names, k.Name))
}

package sync

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/store"
)

// look reads some of a cluster: Observe or Live.
type look func(context.Context, []object.Watch) (object.Observation, error)

// readRecord reads what the home cluster remembers: known, where that is still so. Without it no identity can be checked.
func (l *Loop) readRecord(ctx context.Context, look look, known inventory.Record) (inventory.Record, error) {
	key := inventory.RecordKey(l.Owner, l.Home.Namespace)
	seen, err := look(ctx, []object.Watch{
		{Version: "v1", Kind: "ConfigMap", Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return inventory.Record{}, fmt.Errorf("read the home cluster: %w", err)
	}
	if now := seen.Record(key); known.Clusters != nil && now.UID == known.Was.UID && now.ResourceVersion == known.Was.ResourceVersion {
		return known, nil
	}
	return inventory.ReadRecord(key, seen)
}

// recordKeeper writes what the management cluster remembers: one write at a time, each of which takes all changes that came meanwhile.
type recordKeeper struct {
	loop  *Loop
	store *store.Store

	writing sync.Mutex // held while the record is written, or read to be taken over
	mu      sync.Mutex // guards amends
	amends  []*amendment
}

// recall gives what the home cluster remembers: watched, where that is possible.
func (k *recordKeeper) recall(ctx context.Context) (inventory.Record, error) {
	look := k.loop.Home.Cluster.Observe
	if k.loop.Changes != nil {
		look = k.loop.Home.Cluster.Live
	}
	return k.loop.readRecord(ctx, look, k.store.Record.Last())
}

// enter reads the record, and enters a fleet with it. What a reconcile under way writes there meanwhile is not undone.
func (k *recordKeeper) enter(ctx context.Context, f *fleet.Fleet) ([]fleet.Cluster, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	record, err := k.recall(ctx)
	if err != nil {
		return nil, err
	}
	k.loop.logRecord(k.store.Record.Last(), record)
	return k.store.Enter(f, record), nil
}

// remember writes down, before the first write to a cluster, its identity, what other clusters owe once the step is done, and what
// the step found out about removals. Another cluster under a known name owes nothing of what the former did.
func (k *recordKeeper) remember(ctx context.Context, c fleet.Cluster, uid string, s plan.Step) error {
	as := func(was inventory.Known) inventory.Known {
		known := inventory.Known{UID: uid, Access: c.Spec.Access, Linkerd: c.Spec.Linkerd}
		known.Leaving = c.Spec.State == api.Leaving || k.store.Declared.HasLeft(c.Name) && was.Leaving
		known.Names = k.store.Declared.Names(c.Name)
		if was.UID == uid {
			known.Debts = was.Without(s.Paid).Debts
		}
		return known
	}
	last := k.store.Record.Last()
	if was := last.Clusters[c.Name]; len(s.Owed) == 0 && reflect.DeepEqual(was, as(was)) && !s.Judged.News && k.limits(last) == last.Limits {
		return nil // as in nearly all turns: to amend is to copy all clusters
	}
	return k.amend(ctx, func(r *inventory.Record) bool {
		was := r.Clusters[c.Name]
		r.Clusters[c.Name] = as(was)
		k.nameSecond(r.Clusters, c.Name, uid)
		news := k.charge(r.Clusters, s.Owed)
		news = judged(r, s.Judged) || news
		return news || !reflect.DeepEqual(was, as(was)) || k.limits(*r) != r.Limits
	})
}

// nameSecond strikes off the record what is a second name of a cluster now, and was its own before.
func (k *recordKeeper) nameSecond(clusters map[api.ClusterName]inventory.Known, name api.ClusterName, uid string) {
	for _, second := range k.store.Declared.Names(name) {
		if clusters[second].UID == uid {
			delete(clusters, second)
		}
	}
}

// keepJudged writes down what a step found out about removals, and the limits that the next revision is judged by.
func (k *recordKeeper) keepJudged(ctx context.Context, j plan.Judged) error {
	if last := k.store.Record.Last(); len(last.Clusters) == 0 || !j.News && k.limits(last) == last.Limits {
		return nil
	}
	return k.amend(ctx, func(r *inventory.Record) bool { return judged(r, j) || k.limits(*r) != r.Limits })
}

// judged adds it, and says whether it is news. What others wrote meanwhile stays: approvals, and a denial that the step was not planned
// from.
func judged(r *inventory.Record, j plan.Judged) (news bool) {
	if !j.News {
		return false
	}
	if r.Denied.Same(j.Was) && !j.Denied.Same(r.Denied) {
		r.Denied, news = j.Denied, true
	}
	if left := j.Left(r.Approvals); !reflect.DeepEqual(left, r.Approvals) {
		r.Approvals, news = left, true
	}
	leaving := func(names []api.ClusterName, leaving bool) {
		for _, name := range names {
			if known, ok := r.Clusters[name]; ok && known.Leaving != leaving {
				known.Leaving = leaving
				r.Clusters[name], news = known, true
			}
		}
	}
	leaving(j.Retire, true)
	leaving(j.Stay, false)
	return news
}

// limits are what a record is to remember of the limits in force.
func (k *recordKeeper) limits(r inventory.Record) *inventory.Limits {
	f := k.store.Declared.Applied()
	if f == nil {
		return r.Limits
	}
	return r.Limits.Next(f.Commit, f.Policy.Limits())
}

// charge writes down what ends leave in clusters that cannot be read, and says whether that is news. A cluster that is neither
// declared nor remembered was never written to.
func (k *recordKeeper) charge(clusters map[api.ClusterName]inventory.Known, owed []object.End) (news bool) {
	if len(owed) == 0 {
		return false
	}
	declared := k.store.Declared.All()
	for _, end := range owed {
		known, ok := clusters[end.Cluster]
		if i := slices.IndexFunc(declared, func(c fleet.Cluster) bool { return c.Name == end.Cluster }); !ok && i >= 0 && !k.store.Declared.HasLeft(end.Cluster) {
			known, ok = inventory.Known{Access: declared[i].Spec.Access, Linkerd: declared[i].Spec.Linkerd}, true
		}
		if more := known.Owing(time.Now(), end.Link); ok && len(more.Debts) > len(known.Debts) {
			clusters[end.Cluster], news = more, true
		}
	}
	return news
}

// acquit strikes debts off that are paid.
func (k *recordKeeper) acquit(ctx context.Context, name api.ClusterName, paid []api.Pair) error {
	return k.amend(ctx, func(r *inventory.Record) bool {
		clusters := r.Clusters
		was, ok := clusters[name]
		if clusters[name] = was.Without(paid); !ok {
			delete(clusters, name)
		}
		return ok && len(clusters[name].Debts) < len(was.Debts)
	})
}

// forget drops a cluster that left the fleet and holds nothing of ours any more, and with it that people abandon it: a cluster that
// gets its name later is not meant.
func (k *recordKeeper) forget(ctx context.Context, name api.ClusterName) error {
	var gone []inventory.Decision
	err := k.amend(ctx, func(r *inventory.Record) bool {
		_, known := r.Clusters[name]
		delete(r.Clusters, name)
		gone = r.Undecide(func(d inventory.Decision) bool { return d.Kind == inventory.AbandonCluster && d.Cluster == name })
		return known || len(gone) > 0
	})
	if err == nil {
		k.store.Declared.StrikeOff(name)
		k.loop.struck(gone)
	}
	return err
}

// amendment is a change of the record that somebody waits for: it changes the copy that it is given, and says whether that is
// news; what is not a map there is replaced, never changed in place. Who holds recordKeeper.writing may look at the rest.
type amendment struct {
	change func(*inventory.Record) bool
	done   bool
	err    error
}

// amend changes the record. Changes gather while it is written, and the next write takes all of them: many clusters that are new
// at once are a few writes.
func (k *recordKeeper) amend(ctx context.Context, change func(*inventory.Record) bool) error {
	a := &amendment{change: change}
	k.gather(a)
	k.writing.Lock()
	defer k.writing.Unlock()
	if a.done {
		return a.err
	}
	all := k.gathered()
	err := k.amendBy(ctx, all)
	if err != nil && ctx.Err() != nil { // our time is over, and not theirs
		k.gather(slices.DeleteFunc(all, func(o *amendment) bool { return o == a })...)
		return err
	}
	for _, o := range all {
		o.done, o.err = true, err
	}
	return err
}

func (k *recordKeeper) gather(more ...*amendment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.amends = append(k.amends, more...)
}

func (k *recordKeeper) gathered() []*amendment {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.amends
	k.amends = nil
	return all
}

// amendBy changes the record as it is now: other processes may write it, each for its own clusters. recordKeeper.writing is held.
func (k *recordKeeper) amendBy(ctx context.Context, all []*amendment) error {
	var err error
	for range 5 {
		last, news := k.store.Record.Last(), false
		next := last
		next.Clusters = maps.Clone(last.Clusters)
		for _, a := range all {
			news = a.change(&next) || news
		}
		next.Limits = k.limits(next)
		if !news {
			return nil
		}
		if next.Was, err = k.loop.writeRecord(ctx, next); err == nil {
			k.set(next)
			return nil
		}
		fresh, readErr := k.loop.readRecord(ctx, k.loop.Home.Cluster.Observe, inventory.Record{})
		if readErr != nil {
			return readErr
		}
		k.set(fresh)
	}
	return fmt.Errorf("write the record of clusters: %w", err)
}

// set takes a record over, and logs what is new in it. recordKeeper.writing is held.
func (k *recordKeeper) set(r inventory.Record) {
	k.loop.logRecord(k.store.Record.Last(), r)
	k.store.SetRecord(r)
}

func (l *Loop) writeRecord(ctx context.Context, r inventory.Record) (object.Record, error) {
	o, err := r.Object(l.Owner, l.Home.Namespace)
	if err != nil {
		return object.Record{}, err
	}
	action := object.Create
	if !r.Was.IsZero() {
		action = object.Update
	}
	c := object.Change{Action: action, Key: o.Key, Object: o, Was: r.Was, Fenced: true, Why: object.Reason{Code: reason.Record, Message: "which clusters are written, and what they hold of removed links"}}
	now, err := l.Home.Cluster.Write(ctx, c)
	l.wrote("", "", []object.Outcome{{Change: c, Now: now, Err: err}})
	return now, err
}

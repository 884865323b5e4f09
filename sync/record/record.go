// Package record reads and writes the record in the management cluster: one ConfigMap, which several processes may write.
package record

import (
	"context"
	"errors"
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

// Keeper writes what the management cluster remembers: one write at a time, each of which takes all changes that came meanwhile. Its exported
// fields are set once.
type Keeper struct {
	Owner      string
	Management ManagementCluster
	Store      *store.Store
	Watch      bool // the record is read from a watch, instead of by requests
	// Read is called with each record that is taken over, and the one before. Wrote is called with each write.
	Read  func(last, now inventory.Record)
	Wrote func(object.Outcome)

	writing sync.Mutex // held while the record is written, or read to be taken over
	mu      sync.Mutex // guards changes
	changes []*Change
}

// load returns the record as it is now.
func (k *Keeper) load(ctx context.Context) (inventory.Record, error) {
	look := k.Management.Cluster.Observe
	if k.Watch {
		look = k.Management.Cluster.Live
	}
	return k.Management.read(ctx, k.Owner, look, k.Store.Record.Last())
}

// Enter reads the record, and enters a fleet with it. What a reconcile under way writes there meanwhile is not undone.
func (k *Keeper) Enter(ctx context.Context, f *fleet.Fleet) ([]fleet.Cluster, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	record, err := k.load(ctx)
	if err != nil {
		return nil, err
	}
	k.Read(k.Store.Record.Last(), record)
	return k.Store.Enter(f, record), nil
}

// Remember records, before the first write to a cluster, its identity, which cleanups are pending in other clusters once the step is done, and what
// the step found out about removals. Nothing is pending in another cluster under a known name.
func (k *Keeper) Remember(ctx context.Context, c fleet.Cluster, uid string, s plan.Step) error {
	as := func(was inventory.KnownCluster) inventory.KnownCluster {
		known := inventory.KnownCluster{UID: uid, Access: c.Spec.Access, Linkerd: c.Spec.Linkerd}
		known.Leaving = c.Spec.State == api.Leaving || k.Store.Declared.HasLeft(c.Name) && was.Leaving
		known.Names = k.Store.Declared.Names(c.Name)
		if was.UID == uid {
			known.Pending = was.Without(s.CleanedUp).Pending
		}
		return known
	}
	last := k.Store.Record.Last()
	if was := last.Clusters[c.Name]; len(s.Pending) == 0 && reflect.DeepEqual(was, as(was)) && !s.Judged.Changed && k.limits(last) == last.Limits {
		return nil // as nearly always: to amend is to copy all clusters
	}
	return k.Amend(ctx, func(r *inventory.Record) bool {
		was := r.Clusters[c.Name]
		r.Clusters[c.Name] = as(was)
		k.removeSecondName(r.Clusters, c.Name, uid)
		news := k.addPending(r.Clusters, s.Pending)
		news = addJudged(r, s.Judged) || news
		return news || !reflect.DeepEqual(was, as(was)) || k.limits(*r) != r.Limits
	})
}

// removeSecondName strikes off the record what is a second name of a cluster now, and was its own before.
func (k *Keeper) removeSecondName(clusters map[api.ClusterName]inventory.KnownCluster, name api.ClusterName, uid string) {
	for _, second := range k.Store.Declared.Names(name) {
		if clusters[second].UID == uid {
			delete(clusters, second)
		}
	}
}

// RecordRemovals records what a step found out about removals, and the limits that the next revision is judged by.
func (k *Keeper) RecordRemovals(ctx context.Context, j plan.RemovalChanges) error {
	if last := k.Store.Record.Last(); len(last.Clusters) == 0 || !j.Changed && k.limits(last) == last.Limits {
		return nil
	}
	return k.Amend(ctx, func(r *inventory.Record) bool { return addJudged(r, j) || k.limits(*r) != r.Limits })
}

// addJudged adds it, and says whether it is news. What others wrote meanwhile stays: approvals, and a denial that the step was not planned
// from.
func addJudged(r *inventory.Record, j plan.RemovalChanges) (news bool) {
	if !j.Changed {
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

// limits returns what a record is to remember of the limits in force.
func (k *Keeper) limits(r inventory.Record) *inventory.Limits {
	f := k.Store.Declared.IfApplied()
	if f == nil {
		return r.Limits
	}
	return r.Limits.Next(f.Commit, f.Policy.Limits())
}

// addPending records what ends leave in clusters that cannot be read, and says whether that is news. A cluster that is neither declared nor
// remembered was never written to.
func (k *Keeper) addPending(clusters map[api.ClusterName]inventory.KnownCluster, pending []object.End) (news bool) {
	if len(pending) == 0 {
		return false
	}
	declared := k.Store.Declared.All()
	for _, end := range pending {
		known, ok := clusters[end.Cluster]
		if i := slices.IndexFunc(declared, func(c fleet.Cluster) bool { return c.Name == end.Cluster }); !ok && i >= 0 && !k.Store.Declared.HasLeft(end.Cluster) {
			known, ok = inventory.KnownCluster{Access: declared[i].Spec.Access, Linkerd: declared[i].Spec.Linkerd}, true
		}
		if more := known.AddPending(time.Now(), end.Link); ok && len(more.Pending) > len(known.Pending) {
			clusters[end.Cluster], news = more, true
		}
	}
	return news
}

// RemovePending strikes off pending cleanups that are done.
func (k *Keeper) RemovePending(ctx context.Context, name api.ClusterName, paid []api.Pair) error {
	return k.Amend(ctx, func(r *inventory.Record) bool {
		clusters := r.Clusters
		was, ok := clusters[name]
		if clusters[name] = was.Without(paid); !ok {
			delete(clusters, name)
		}
		return ok && len(clusters[name].Pending) < len(was.Pending)
	})
}

// Remove drops a cluster that left the fleet and holds nothing of linkwright any more, and with it that people abandon it: a cluster that gets its
// name later is not meant. gone are the decisions that it takes with it.
func (k *Keeper) Remove(ctx context.Context, name api.ClusterName) (gone []inventory.Decision, err error) {
	err = k.Amend(ctx, func(r *inventory.Record) bool {
		_, known := r.Clusters[name]
		delete(r.Clusters, name)
		gone = r.RemoveDecisions(func(d inventory.Decision) bool { return d.Kind == inventory.AbandonCluster && d.Cluster == name })
		return known || len(gone) > 0
	})
	if err != nil {
		return nil, err
	}
	k.Store.Declared.MarkRemoved(name)
	return gone, nil
}

// Change is a change of the record that somebody waits for: it changes the copy that it is given, and says whether that is news; what is not a map
// there is replaced, never changed in place. Who holds Keeper.writing may use the rest.
type Change struct {
	change func(*inventory.Record) bool
	done   bool
	err    error
}

// Amend changes the record. Changes gather while it is written, and the next write takes all of them: many clusters that are new
// at once are a few writes.
func (k *Keeper) Amend(ctx context.Context, change func(*inventory.Record) bool) error {
	a := &Change{change: change}
	k.add(a)
	k.writing.Lock()
	defer k.writing.Unlock()
	if a.done {
		return a.err
	}
	all := k.takeChanges()
	err := k.amendBy(ctx, all)
	if err != nil && ctx.Err() != nil { // linkwright's time is over, and not theirs
		k.add(slices.DeleteFunc(all, func(o *Change) bool { return o == a })...)
		return err
	}
	for _, o := range all {
		o.done, o.err = true, err
	}
	return err
}

// Queue adds a change to the next write, whoever brings it about.
func (k *Keeper) Queue(change func(*inventory.Record) bool) *Change {
	c := &Change{change: change}
	k.add(c)
	return c
}

// Flush writes such a change down, if that did not happen yet.
func (k *Keeper) Flush(ctx context.Context, c *Change) error {
	err := k.Amend(ctx, func(*inventory.Record) bool { return false })
	k.writing.Lock()
	defer k.writing.Unlock()
	return errors.Join(err, c.err)
}

func (k *Keeper) add(more ...*Change) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes = append(k.changes, more...)
}

func (k *Keeper) takeChanges() []*Change {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.changes
	k.changes = nil
	return all
}

// amendBy changes the record as it is now: other processes may write it, each for its own clusters. Keeper.writing is held.
func (k *Keeper) amendBy(ctx context.Context, all []*Change) error {
	var err error
	for range 5 {
		last, news := k.Store.Record.Last(), false
		next := last
		next.Clusters = maps.Clone(last.Clusters)
		for _, a := range all {
			news = a.change(&next) || news
		}
		next.Limits = k.limits(next)
		if !news {
			return nil
		}
		if next.Was, err = k.write(ctx, next); err == nil {
			k.set(next)
			return nil
		}
		fresh, readErr := k.Management.read(ctx, k.Owner, k.Management.Cluster.Observe, inventory.Record{})
		if readErr != nil {
			return readErr
		}
		k.set(fresh)
	}
	return fmt.Errorf("write the record of clusters: %w", err)
}

// set takes a record over. Keeper.writing is held.
func (k *Keeper) set(r inventory.Record) {
	k.Read(k.Store.Record.Last(), r)
	k.Store.SetRecord(r)
}

// write writes the record down, and gives what the server made of it.
func (k *Keeper) write(ctx context.Context, r inventory.Record) (object.Record, error) {
	o, err := r.Object(k.Owner, k.Management.Namespace)
	if err != nil {
		return object.Record{}, err
	}
	action := object.Create
	if !r.Was.IsZero() {
		action = object.Update
	}
	c := object.Change{Action: action, Key: o.Key, Object: o, Was: r.Was, Conditional: true, Why: object.Reason{Code: reason.RecordUpdated, Message: "which clusters are written, and what they hold of removed links"}}
	now, err := k.Management.Cluster.Write(ctx, c)
	k.Wrote(object.Outcome{Change: c, Now: now, Err: err})
	return now, err
}

// Decided takes the record over if people decided or approved something since: then a sync is to begin. polls says that it is to begin with
// the newest head.
func (k *Keeper) Decided(ctx context.Context) (something, polls bool) {
	k.writing.Lock()
	defer k.writing.Unlock()
	record, err := k.load(ctx)
	was := k.Store.Record.Last()
	last := was.Decisions
	approved := !slices.EqualFunc(record.Approvals, was.Approvals, inventory.Approval.Same)
	if err != nil || !approved && slices.Equal(record.Decisions, last) {
		return false, false // who could not read it reads it again with the next sync
	}
	k.set(record)
	return true, approved || slices.ContainsFunc(record.Decisions, func(d inventory.Decision) bool {
		// what is declared decides whether a cluster may be abandoned
		return (d.Kind == inventory.Reconcile || d.Kind == inventory.AbandonCluster) && !slices.Contains(last, d)
	})
}

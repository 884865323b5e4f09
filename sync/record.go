package sync

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
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

// recall gives what the home cluster remembers: watched, where that is possible.
func (b *board) recall(ctx context.Context) (inventory.Record, error) {
	look := b.loop.Home.Cluster.Observe
	if b.loop.Changes != nil {
		look = b.loop.Home.Cluster.Live
	}
	return b.loop.readRecord(ctx, look, b.lastRecord())
}

// remember writes down, before the first write to a cluster, its identity, what other clusters owe once the step is done, and what
// the step found out about removals. Another cluster under a known name owes nothing of what the former did.
func (b *board) remember(ctx context.Context, c fleet.Cluster, uid string, s plan.Step) error {
	as := func(was inventory.Known) inventory.Known {
		known := inventory.Known{UID: uid, Access: c.Spec.Access, Linkerd: c.Spec.Linkerd}
		known.Leaving = c.Spec.State == api.Leaving || b.left(c.Name) && was.Leaving
		known.Names = b.secondNames(c.Name)
		if was.UID == uid {
			known.Debts = was.Without(s.Paid).Debts
		}
		return known
	}
	last := b.lastRecord()
	if was := last.Clusters[c.Name]; len(s.Owed) == 0 && reflect.DeepEqual(was, as(was)) && !s.Judged.News && b.limits(last) == last.Limits {
		return nil // as in nearly all turns: to amend is to copy all clusters
	}
	return b.amend(ctx, func(r *inventory.Record) bool {
		was := r.Clusters[c.Name]
		r.Clusters[c.Name] = as(was)
		b.nameSecond(r.Clusters, c.Name, uid)
		news := b.charge(r.Clusters, s.Owed)
		news = judged(r, s.Judged) || news
		return news || !reflect.DeepEqual(was, as(was)) || b.limits(*r) != r.Limits
	})
}

// nameSecond strikes off the record what is a second name of a cluster now, and was its own before.
func (b *board) nameSecond(clusters map[api.ClusterName]inventory.Known, name api.ClusterName, uid string) {
	for _, second := range b.secondNames(name) {
		if clusters[second].UID == uid {
			delete(clusters, second)
		}
	}
}

// secondNames are those that a cluster is declared with.
func (b *board) secondNames(name api.ClusterName) []api.ClusterName {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil {
		return nil
	}
	return b.fleet.Names(name)
}

// keepJudged writes down what a step found out about removals, and the limits that the next revision is judged by.
func (b *board) keepJudged(ctx context.Context, j plan.Judged) error {
	if last := b.lastRecord(); len(last.Clusters) == 0 || !j.News && b.limits(last) == last.Limits {
		return nil
	}
	return b.amend(ctx, func(r *inventory.Record) bool { return judged(r, j) || b.limits(*r) != r.Limits })
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
func (b *board) limits(r inventory.Record) *inventory.Limits {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil || b.fleet != b.good {
		return r.Limits
	}
	return r.Limits.Next(b.fleet.Commit, b.fleet.Policy.Limits())
}

// charge writes down what ends leave in clusters that cannot be read, and says whether that is news. A cluster that is neither
// declared nor remembered was never written to.
func (b *board) charge(clusters map[api.ClusterName]inventory.Known, owed []object.End) (news bool) {
	if len(owed) == 0 {
		return false
	}
	declared := b.clusters()
	for _, end := range owed {
		known, ok := clusters[end.Cluster]
		if i := slices.IndexFunc(declared, func(c fleet.Cluster) bool { return c.Name == end.Cluster }); !ok && i >= 0 && !b.left(end.Cluster) {
			known, ok = inventory.Known{Access: declared[i].Spec.Access, Linkerd: declared[i].Spec.Linkerd}, true
		}
		if more := known.Owing(time.Now(), end.Link); ok && len(more.Debts) > len(known.Debts) {
			clusters[end.Cluster], news = more, true
		}
	}
	return news
}

// left says that a cluster is declared no more.
func (b *board) left(name api.ClusterName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.departed, func(c fleet.Cluster) bool { return c.Name == name })
}

// acquit strikes debts off that are paid.
func (b *board) acquit(ctx context.Context, name api.ClusterName, paid []api.Pair) error {
	return b.amend(ctx, func(r *inventory.Record) bool {
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
func (b *board) forget(ctx context.Context, name api.ClusterName) error {
	var gone []inventory.Decision
	err := b.amend(ctx, func(r *inventory.Record) bool {
		_, known := r.Clusters[name]
		delete(r.Clusters, name)
		gone = r.Undecide(func(d inventory.Decision) bool { return d.Kind == inventory.AbandonCluster && d.Cluster == name })
		return known || len(gone) > 0
	})
	if err == nil {
		b.strikeOff(name)
		b.struck(gone)
	}
	return err
}

// strikeOff notes that a cluster that nobody declares is not in the record any more.
func (b *board) strikeOff(name api.ClusterName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.departed, func(c fleet.Cluster) bool { return c.Name == name }) {
		b.struckOff[name] = true
	}
}

// isStruckOff says that nobody looks for a cluster any more.
func (b *board) isStruckOff(name api.ClusterName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.struckOff[name]
}

// amendment is a change of the record that somebody waits for: it changes the copy that it is given, and says whether that is
// news; what is not a map there is replaced, never changed in place. Who holds board.recording may look at the rest.
type amendment struct {
	change func(*inventory.Record) bool
	done   bool
	err    error
}

// amend changes the record. Changes gather while it is written, and the next write takes all of them: many clusters that are new
// at once are a few writes.
func (b *board) amend(ctx context.Context, change func(*inventory.Record) bool) error {
	a := &amendment{change: change}
	b.gather(a)
	b.recording.Lock()
	defer b.recording.Unlock()
	if a.done {
		return a.err
	}
	all := b.gathered()
	err := b.amendBy(ctx, all)
	if err != nil && ctx.Err() != nil { // our time is over, and not theirs
		b.gather(slices.DeleteFunc(all, func(o *amendment) bool { return o == a })...)
		return err
	}
	for _, o := range all {
		o.done, o.err = true, err
	}
	return err
}

func (b *board) gather(more ...*amendment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.amends = append(b.amends, more...)
}

func (b *board) gathered() []*amendment {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.amends
	b.amends = nil
	return all
}

// amendBy changes the record as it is now: other processes may write it, each for its own clusters. b.recording is held.
func (b *board) amendBy(ctx context.Context, all []*amendment) error {
	var err error
	for range 5 {
		last, news := b.lastRecord(), false
		next := last
		next.Clusters = maps.Clone(last.Clusters)
		for _, a := range all {
			news = a.change(&next) || news
		}
		next.Limits = b.limits(next)
		if !news {
			return nil
		}
		if next.Was, err = b.loop.writeRecord(ctx, next); err == nil {
			b.setRecord(next)
			return nil
		}
		fresh, readErr := b.loop.readRecord(ctx, b.loop.Home.Cluster.Observe, inventory.Record{})
		if readErr != nil {
			return readErr
		}
		b.setRecord(fresh)
	}
	return fmt.Errorf("write the record of clusters: %w", err)
}

func (b *board) lastRecord() inventory.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.record
}

func (b *board) setRecord(r inventory.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(r)
}

// keep takes a record over; b.mu is held.
func (b *board) keep(r inventory.Record) {
	if b.record.Was != r.Was {
		b.derived.carried = nil
	}
	b.heed(r.Decisions)
	b.unread(r.Unread)
	b.misread(r.Misread)
	b.record, b.uids, b.debts = r, make(map[api.ClusterName]string, len(r.Clusters)), map[api.ClusterName][]inventory.Debt{}
	b.retiring = map[api.ClusterName]bool{}
	for name, k := range r.Clusters {
		b.uids[name] = k.UID
		if k.Leaving {
			b.retiring[name] = true
		}
		if len(k.Debts) > 0 {
			b.debts[name] = k.Debts
		}
	}
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

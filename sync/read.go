package sync

import (
	"context"
	"reflect"
	"slices"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// readMode says how a reconcile reads its cluster. What takes something away is decided on a cluster only if it was read in one of the last
// two ways since the round began (see state.Cluster.Pass).
//
//	ByWatches    from watches that stay open
//	ByRequests   by requests, and what is written is taken over from the answers: nobody watches
//	ForDeletion  by requests, since a step asked for that; what is written is read again
type readMode string

const (
	byWatches   readMode = "ByWatches"
	byRequests  readMode = "ByRequests"
	forDeletion readMode = "ForDeletion"
)

// reader reads a cluster for a reconcile.
type reader struct {
	shared
	cluster fleet.Cluster
	mode    readMode
	round   int
}

// read reads the cluster, by requests that begin now or from watches. If that fails, the cluster is unknown, with the reason. An object that may not
// be read is hidden, unless nothing could be decided without it (see plan.Watches).
func (r reader) read(ctx context.Context) state.Cluster {
	watches := r.store.Clusters.Watched(r.cluster.Name)
	live := state.Cluster{Watches: watches}
	err := r.loop.Clusters.WithCluster(ctx, r.cluster.Name, func(conn object.Cluster) error {
		if r.mode == byWatches {
			return r.live(ctx, conn, &live)
		}
		return r.observe(ctx, conn, &live)
	})
	if err != nil {
		failed := state.Cluster{Watches: watches, Err: r.loop.Explained(err), Reading: live.Reading} // its watches stay as they are
		if r.mode != byWatches {
			failed.Round = r.round
		}
		return failed
	}
	if live.Err != nil {
		return live // its inventories say nothing
	}
	r.addFacts(&live)
	live.Reading = state.Read
	r.compareApplied(ctx, live)
	return live
}

// addFacts adds the facts, and whether policies confine linkwright. Facts are decoded once for each version of their sources, and of the cluster's
// declaration.
func (r reader) addFacts(live *state.Cluster) {
	last := r.store.Clusters.Last(r.cluster.Name)
	alike := last.Known() && r.store.Clusters.ReadBy(r.cluster.Name, r.cluster.Spec)
	switch {
	case alike && live.Live.Is(last.Live):
		live.Facts, live.Gap, live.NotServiceAccount = last.Facts, last.Gap, last.NotServiceAccount
		return
	case alike && sameFacts(r.cluster.Spec, last.Live, live.Live):
		live.Facts = last.Facts
	default:
		live.Facts = r.decoder.configs.FactsOf(r.cluster.Spec, live.Live.Server, live.Live)
	}
	live.Gap, live.NotServiceAccount = r.decoder.gap(r.cluster.Spec, live.Live)
}

// sameFacts reports whether two observations of a cluster give the same facts.
func sameFacts(c api.Cluster, a, b object.Observation) bool {
	if a.Server != b.Server || !slices.Equal(a.Unserved, b.Unserved) || !slices.Equal(a.Hidden, b.Hidden) {
		return false
	}
	for _, w := range linkerd.Watches(c) {
		for _, name := range w.Names {
			k := object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: name}
			was, _ := a.Body(k)
			now, _ := b.Body(k)
			if a.Record(k).UID != b.Record(k).UID || !was.Equal(now) {
				return false
			}
		}
	}
	return true
}

func (r reader) observe(ctx context.Context, conn object.Cluster, live *state.Cluster) error {
	live.Round = r.round
	ledger, err := conn.Observe(ctx, plan.InventoryWatches())
	if err != nil || !r.watches(live, ledger) {
		return err
	}
	live.Reading = state.Answered
	rest, err := conn.Observe(ctx, live.Watches[len(plan.InventoryWatches()):])
	live.Live = merge(rest, ledger)
	if older := linkerd.OlderWatches(rest); err == nil && len(older) > 0 {
		return r.older(ctx, conn, live)
	}
	return err
}

// older reads Linkerd Links in older versions, if the cluster does not serve the current one.
func (r reader) older(ctx context.Context, conn object.Cluster, live *state.Cluster) error {
	before := live.Live
	if !r.watches(live, before) {
		return nil
	}
	more, err := conn.Observe(ctx, linkerd.OlderWatches(before))
	live.Live = merge(more, before)
	live.Live.Unserved = slices.Sorted(slices.Values(slices.Concat(before.Unserved, more.Unserved)))
	live.Live.Hidden = slices.SortedFunc(slices.Values(slices.Concat(before.Hidden, more.Hidden)), object.Hidden.Compare)
	return err
}

// merge returns an observation with that of the inventories, which are read once.
func merge(observed, before object.Observation) object.Observation {
	e := observed.Edit()
	for k, r := range before.Records() {
		body, _ := before.Body(k)
		e.Put(k, r, body)
	}
	return e.Observation()
}

// maxReads is how often one read may add watches for the next: inventories, then what a cluster serves.
const maxReads = 3

// live reads from the last watches, and again if others are needed now.
func (r reader) live(ctx context.Context, conn object.Cluster, live *state.Cluster) error {
	if live.Watches == nil {
		live.Watches = plan.InventoryWatches()
	}
	for range maxReads {
		known := live.Watches
		observed, err := conn.Live(ctx, known)
		if err != nil || !r.watches(live, observed) {
			return err
		}
		if live.Live = observed; reflect.DeepEqual(live.Watches, known) {
			return nil
		}
	}
	observed, err := conn.Live(ctx, live.Watches)
	live.Live = observed
	return err
}

// watches sets what must be read, by the inventories; false: these are invalid.
func (r reader) watches(live *state.Cluster, ledger object.Observation) bool {
	watches, err := plan.Watches(r.store.ForReading(r.cluster.Name), r.cluster, r.loop.Renderer, ledger)
	if err != nil {
		live.Err = object.Because(reason.InventoryInvalid, "%v", err)
		return false
	}
	live.Watches = r.store.Clusters.Share(watches, live.Watches)
	return true
}

// compareApplied compares the declared commit with the one in the base that was just read, before anything is planned.
func (r reader) compareApplied(ctx context.Context, live state.Cluster) {
	base, ok := inventory.ReadBase(r.loop.Owner, live.Live)
	if ok && r.loop.guards(r.cluster.Name) {
		_ = r.history.ask(ctx, r.store.Declared.Commit(), base.Commit) // the answer is in the view that is planned from
	}
}

// confinement caches which admission policies confine an account, for each account and multicluster namespace.
type confinement struct {
	mu   gosync.Mutex
	made map[[2]string]confine.Expected // by the account's name at API servers, and the namespace
}

func (c *confinement) expect(a confine.Account, mc string) confine.Expected {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := [2]string{a.User(), mc}
	made, ok := c.made[at]
	if !ok {
		if c.made == nil {
			c.made = map[[2]string]confine.Expected{}
		}
		a.Multicluster = mc
		made = confine.Expect(a)
		c.made[at] = made
	}
	return made
}

// decoder caches what was decoded of clusters, because clusters are similar.
type decoder struct {
	loop        *Loop
	configs     linkerd.Configs
	confinement confinement
}

// gap returns why admission policies do not confine linkwright's account in a cluster that was just read; anyone: it is no ServiceAccount.
func (d *decoder) gap(c api.Cluster, observed object.Observation) (gap string, anyone bool) {
	template := d.loop.Confined
	template.Owner = d.loop.Owner
	account, ok := template.ForUser(observed.User)
	if !ok {
		return "linkwright does not log in as a ServiceAccount, so no policy can confine it", true
	}
	return d.confinement.expect(account, c.Linkerd.MulticlusterNamespace).Gap(observed), false
}

// shared is what the reconciles of all clusters use.
type shared struct {
	loop    *Loop
	store   *store.Store
	record  *record.Keeper
	history *history
	decoder *decoder
	// rendering bounds what all of them hold.
	rendering *rendering
}

func newShared(l *Loop, leadership int64) shared {
	s := store.New(l.settings(leadership))
	return shared{loop: l, store: s, record: l.recordKeeper(s), history: &history{loop: l, store: s}, decoder: &decoder{loop: l}, rendering: newRendering(l.maxRendered)}
}

// recordKeeper writes the record, and logs that.
func (l *Loop) recordKeeper(s *store.Store) *record.Keeper {
	return &record.Keeper{
		Owner: l.Owner, Management: l.Management, Store: s, Watch: l.Changes != nil, Read: l.logRecord,
		Wrote: func(o object.Outcome) { l.logWrites("", "", []object.Outcome{o}) },
	}
}

// settings returns what a store is made with.
func (l *Loop) settings(leadership int64) store.Settings {
	return store.Settings{
		Installation: object.Installation{Owner: l.Owner, Namespace: l.Management.Namespace},
		Options:      state.Options{UnreachableSourceTimeout: l.UnreachableSourceTimeout, RequireConfinement: l.RequireConfinement, Uninstall: l.Uninstall},
		Process:      state.Process{Leadership: leadership, Probe: l.Probe, Once: l.Changes == nil},
		Takeover:     l.Takeover,
		Overrides:    l.Overrides,
		Verifies:     l.verifies(), Writes: l.writes, Rejected: l.Rejection,
	}
}

package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// stage says how far a reconcile came.
//
//	Overtaken  other declarations came meanwhile, or the read was cut short: nothing was planned
//	Read       the cluster was read, and that was all there was to do
//	Planned    the step was planned, and done as far as it is ours to do
//	StruckOff  the same, and the cluster, which nobody declares, was struck off the record: it is looked at no more
type stage string

const (
	overtaken  stage = "Overtaken"
	read       stage = "Read"
	planned    stage = "Planned"
	unrecorded stage = "StruckOff"
)

// task is why and how a reconcile begins.
type task struct {
	began    time.Time
	epoch    int // of what is declared
	onlyRead bool
	current  bool // the store has the cluster as it is: it need not be read
}

// result is what a reconcile did.
type result struct {
	stage    stage
	answer   answer
	kept     bool // the store has it as the reconcile left it
	moved    bool // what other clusters' steps depend on
	took     took
	step     plan.Step
	basis    store.Basis
	moves    int // of clusters when the step was planned
	outcomes []object.Outcome
	issued   []api.ClusterName // have a token that they did not have
	err      error             // of the record: nothing was written
}

// answer says what the cluster answered when it was asked how it is.
//
//	""       it was not asked
//	Unknown  it could not be read
//	Known    it was read
type answer string

const (
	unknown answer = "Unknown"
	known   answer = "Known"
)

// took is how long a reconcile took.
type took struct{ read, plan time.Duration }

// reconcile is one reconcile of one cluster: it reads, plans and writes. It runs in a goroutine of its own, and uses nothing of the engine but what
// is shared.
type reconcile struct {
	reader
	run *run // of which it uses the sign of life alone
	task
	result
}

// do reads the cluster, plans its step from everything known, and does the step.
func (r *reconcile) do(ctx context.Context) {
	r.stage = read
	if r.onlyRead {
		r.readCluster(ctx)
		return
	}
	if (!r.current || !r.watchesAll()) && !r.readCluster(ctx) {
		return
	}
	defer r.rendering.end(r.run)
	if !r.rendering.begin(ctx, r.run, r.store.Declared.CountEnds(r.cluster.Name)) {
		r.stage = overtaken
		return
	}
	v, ok := r.store.View(r.epoch)
	if !ok {
		r.stage = overtaken
		return
	}
	r.stage = planned
	r.planAndWrite(ctx, v)
}

// planAndWrite plans the step and does it.
func (r *reconcile) planAndWrite(ctx context.Context, v store.View) {
	began := time.Now()
	r.step = plan.Next(v.Snapshot, r.cluster.Name, r.loop.Renderer, r.loop.Policies...)
	r.took.plan, r.basis, r.moves = time.Since(began), v.Basis(r.step), v.Moves
	live := v.Clusters[r.cluster.Name]
	given, yields := plan.AbandonIfRefused(v.Snapshot, r.step)
	r.store.Release(v)
	r.run.notePlanned()
	if r.kept = r.mode == byRequests && live.Known(); !r.loop.writes(r.cluster.Name) {
		return
	}
	r.write(ctx, live.Facts.UID)
	if yields && r.refused() {
		r.step, r.outcomes, r.err = given, nil, r.removeFromRecord(ctx)
	}
	r.fold(ctx, live)
	r.issueTokens(ctx)
	_, failed := countOutcomes(r.outcomes)
	r.kept = r.kept && failed == 0
}

// fold puts the written objects into the store, if the answers to the writes show all of them.
func (r *reconcile) fold(ctx context.Context, live state.Cluster) {
	if !r.kept || r.step.Writes() == 0 {
		return
	}
	if r.kept = r.err == nil; r.kept {
		live, r.kept = r.withWrites(ctx, live, r.step, r.outcomes)
	}
	if !r.kept {
		return
	}
	moved, ok := r.store.PutCluster(r.cluster.Name, live, r.epoch)
	r.moved, r.kept = r.moved || moved, ok
}

// readCluster reads the cluster and puts it into the store; false: the declarations changed meanwhile, or the read was cut short.
func (r *reconcile) readCluster(ctx context.Context) bool {
	began := time.Now()
	live := r.read(ctx)
	if ctx.Err() != nil && !live.Known() && r.store.Clusters.Has(r.cluster.Name) { // the cluster did not fail: what is known of it stays
		r.stage = overtaken
		return false
	}
	r.took.read, r.answer = time.Since(began), unknown
	if live.Known() {
		r.answer = known
	}
	r.run.noteAnswer()
	moved, ok := r.store.PutCluster(r.cluster.Name, live, r.epoch)
	if r.moved = moved; !ok {
		r.stage = overtaken
		return false
	}
	r.store.Clusters.SetReadBy(r.cluster.Name, r.cluster.Spec)
	return true
}

// write does the step, once the record has the identity of the cluster.
func (r *reconcile) write(ctx context.Context, uid string) {
	if r.step.Writes() == 0 {
		r.err = r.keepRecord(ctx, uid)
		return
	}
	if r.err = r.record.Remember(ctx, r.cluster, uid, r.step); r.err != nil {
		return
	}
	err := r.loop.Clusters.WithCluster(ctx, r.cluster.Name, func(conn object.Cluster) error {
		r.outcomes = apply.Step(ctx, answeringCluster{conn, r.run}, r.step)
		return nil
	})
	if err != nil {
		r.step.Denied = r.loop.Explained(err)
	}
}

// refused reports whether the cluster accepts none of the writes: the account lacks the right, admission denies them, or they put values of Linkerd's
// installation back that the API server finds invalid. Later phases were skipped because of that.
func (r *reconcile) refused() bool {
	tried := slices.DeleteFunc(slices.Clone(r.outcomes), func(o object.Outcome) bool { return errors.Is(o.Err, apply.ErrSkipped) })
	may := func(o object.Outcome) bool {
		if o.Err == nil {
			return true
		}
		code := r.loop.Explained(o.Err).Code
		return code != reason.Forbidden && code != reason.AdmissionDenied && (code != reason.Invalid || o.Change.Action != object.Patch)
	}
	return len(tried) > 0 && !slices.ContainsFunc(tried, may)
}

// answeringCluster notes when a cluster answers to writes.
type answeringCluster struct {
	object.Cluster
	run *run
}

func (h answeringCluster) Write(ctx context.Context, c object.Change) (object.Record, error) {
	defer h.run.noteAnswer()
	return h.Cluster.Write(ctx, c)
}

// keepRecord removes a cluster from the record that departed, or leaves, once nothing of linkwright is left in it. Before that it removes cleanups
// that are done, and adds a cluster that holds something of linkwright and is not in the record, or is there with another identity that people
// replaced.
func (r *reconcile) keepRecord(ctx context.Context, uid string) error {
	if err := r.record.RecordRemovals(ctx, r.step.Judged); err != nil {
		return err
	}
	switch known, recorded := r.store.Record.Last().Clusters[r.cluster.Name]; {
	case r.step.Left():
		return r.removeFromRecord(ctx)
	case len(r.step.CleanedUp) > 0:
		return r.record.RemovePending(ctx, r.cluster.Name, r.step.CleanedUp)
	case (!recorded || known.UID != uid) && r.step.Denied == nil && r.hasBase():
		return r.record.Remember(ctx, r.cluster, uid, r.step)
	}
	return nil
}

// removeFromRecord removes the cluster from the record.
func (r *reconcile) removeFromRecord(ctx context.Context) error {
	gone, err := r.record.Remove(ctx, r.cluster.Name)
	r.loop.logUsedUp(gone)
	if err == nil && r.store.Declared.IsRemoved(r.cluster.Name) {
		r.stage = unrecorded
	}
	return err
}

// hasBase reports whether the cluster has a base of linkwright.
func (r *reconcile) hasBase() bool {
	_, found := inventory.ReadBase(r.loop.Owner, r.store.Clusters.Last(r.cluster.Name).Live)
	return found
}

// issueTokens requests the tokens that the step needs. A request that fails is reported like a write that failed.
func (r *reconcile) issueTokens(ctx context.Context) {
	for _, n := range r.step.TokenRequests {
		if ctx.Err() != nil || r.err != nil || !r.loop.writes(n.Link.Source) {
			return
		}
		token, err := r.loop.Clusters.Token(ctx, r.cluster.Name, n.Request)
		if err == nil {
			r.store.Credentials.Issue(n.Link, token)
			r.issued = append(r.issued, n.Link.Source)
			continue
		}
		r.outcomes = append(r.outcomes, object.Outcome{Err: err, Change: object.Change{
			End: object.End{Cluster: r.cluster.Name, Link: n.Link}, Action: object.Create, Key: tokenRequest(n.Request.Account),
			Why: object.Reason{Code: reason.CredentialNotIssued, Message: "its source needs a token"},
		}})
	}
}

// tokenRequest returns the key of a token request for an account.
func tokenRequest(account object.Key) object.Key {
	return object.Key{Group: "authentication.k8s.io", Kind: "TokenRequest", Namespace: account.Namespace, Name: account.Name}
}

// finalState returns how the reconcile left its cluster. A step that only repairs counts as done if watches will show whether it is.
func (r *reconcile) finalState() lastState {
	_, failed := countOutcomes(r.outcomes)
	ours := r.loop.writes(r.cluster.Name)
	switch {
	case failed > 0 || r.err != nil || len(r.step.ReadFirst) > 0:
		return unfinished
	case r.step.Writes()+len(r.step.TokenRequests) == 0 || !ours:
		return finished
	case r.loop.Changes != nil && r.step.Repairs() && len(r.outcomes) > 0:
		return repaired
	}
	return unfinished
}

func countOutcomes(outcomes []object.Outcome) (written, failed int) {
	for _, o := range outcomes {
		if o.Err != nil {
			failed++
		} else {
			written++
		}
	}
	return written, failed
}

// lastState says how a reconcile left its cluster.
//
//	Unfinished  something is left to do, failed, or was never looked at
//	Finished    nothing is left to do
//	Repaired    it took back nothing but what others changed; nobody has looked yet at what that wrote
//	Repeat      another one was wanted in a round that ended before it: the next has it
type lastState string

const (
	unfinished lastState = ""
	finished   lastState = "Finished"
	repaired   lastState = "Repaired"
	repeat     lastState = "Repeat"
)

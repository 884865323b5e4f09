// Package verify checks credentials before Linkerd gets them. It uses each credential as its reader will.
package verify

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// Client tries logins, in bounded time.
type Client interface {
	// Try gives what did not pass, or nil; refused says that the server would refuse other readers just so.
	Try(ctx context.Context, t object.Login) (why *object.Reason, refused bool)
}

const (
	// A credential that works is tried again after retryInterval, on average; one that does not, first after firstRetry, and at last as rarely.
	firstRetry, retryInterval = 30 * time.Second, 10 * time.Minute
	maxDoublings              = 7
)

// Options say what a verifier works with.
type Options struct {
	Client    Client
	Store     *store.Store                     // takes what came of each
	Reconcile func(api.ClusterName)            // asks for a reconcile of the source: what came of it is news
	Later     func(api.ClusterName, time.Time) // asks for a reconcile of the source at a time: a credential is to be verified again then
	Done      func()                           // is called when one has ended
	Repeat    bool                             // each is verified again after a while
}

// Verifier verifies credentials: one at a time for each address, in goroutines of their own, so that one that does not answer
// keeps neither a cluster's reconciles nor other credentials waiting.
type Verifier struct {
	Options
	running sync.WaitGroup

	mu     sync.Mutex
	queue  map[string][]plan.Verification // by address, those not begun
	active map[string]inFlight            // way, by address
	fails  map[api.Pair]int               // in a row
	ended  bool
}

// inFlight is a credential that is being verified.
type inFlight struct {
	plan.Verification
	began time.Time
	cut   context.CancelFunc
}

// outcome is what became of one.
type outcome struct {
	plan.Verification
	why     *object.Reason
	refused bool
}

// New returns a verifier that has nothing to do yet.
func New(o Options) *Verifier {
	return &Verifier{Options: o, queue: map[string][]plan.Verification{}, active: map[string]inFlight{}, fails: map[api.Pair]int{}}
}

// Verify has credentials verified. What is asked for already is not asked for again.
func (v *Verifier) Verify(ctx context.Context, tries []plan.Verification) {
	v.add(tries)
	v.next(ctx)
}

// next begins what may begin.
func (v *Verifier) next(ctx context.Context) {
	v.begin(ctx, func(inner context.Context, t plan.Verification) {
		why, refused := v.Client.Try(inner, t.Request)
		v.end(outcome{t, why, refused})
		v.next(ctx)
	})
}

// end takes over what came of a verification. If an address gives no answer, others that wait for it need not ask.
func (v *Verifier) end(r outcome) {
	v.record(r)
	for _, t := range v.done(r) {
		v.record(outcome{t, r.why, false})
	}
	v.Done()
}

// record puts it into the store, and has the source reconciled: now if that is news, and when it is to be tried again.
func (v *Verifier) record(r outcome) {
	result := state.Verification{Fingerprint: r.Fingerprint, At: time.Now(), Why: r.why, Blocks: r.refused}
	if next := v.nextAfter(r, result.At); v.Repeat { // who runs once tries once
		result.Next = next
	}
	switch news := v.Store.Credentials.SetVerification(r.Link, result); {
	case news:
		v.Reconcile(r.Link.Source) // its step says when it is tried again
	case v.Repeat:
		v.Later(r.Link.Source, result.Next)
	}
}

// add takes over what is to be verified.
func (v *Verifier) add(tries []plan.Verification) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, y := range tries {
		same := func(o plan.Verification) bool { return o.Link == y.Link && o.Fingerprint == y.Fingerprint }
		queue := v.queue[y.Address]
		if same(v.active[y.Address].Verification) || slices.ContainsFunc(queue, same) {
			continue
		}
		at := len(queue)
		if i := slices.IndexFunc(queue, again); i >= 0 && !y.Again { // a sync waits for it
			at = i
		}
		v.queue[y.Address] = slices.Insert(queue, at, y)
	}
}

// begin begins what may begin.
func (v *Verifier) begin(ctx context.Context, do func(context.Context, plan.Verification)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for at, queue := range v.queue {
		if _, busy := v.active[at]; busy || v.ended {
			continue
		}
		next := queue[0]
		if v.queue[at] = queue[1:]; len(queue) == 1 {
			delete(v.queue, at)
		}
		inner, cut := context.WithCancel(ctx)
		v.active[at] = inFlight{next, time.Now(), cut}
		v.running.Go(func() { do(inner, next) })
	}
}

// done ends a verification, and gives those that wait for an address that gives no answer.
func (v *Verifier) done(r outcome) []plan.Verification {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.active[r.Address].cut()
	delete(v.active, r.Address)
	if r.why == nil || r.refused || r.why.Code != reason.Unreachable && r.why.Code != reason.Timeout {
		return nil
	}
	waiting := v.queue[r.Address]
	delete(v.queue, r.Address)
	return waiting
}

// nextAfter returns when a link is verified again.
func (v *Verifier) nextAfter(r outcome, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.why == nil {
		delete(v.fails, r.Link)
		return together(r.Link.Source, now)
	}
	after := min(firstRetry<<min(v.fails[r.Link], maxDoublings), retryInterval)
	v.fails[r.Link]++
	return now.Add(after)
}

// together returns when the credentials of a source that work are verified again: all in one reconcile, at another moment than those of other sources.
// That is one retryInterval from now on average, and half of one at least.
func together(source api.ClusterName, now time.Time) time.Time {
	h := fnv.New64a()
	_, _ = h.Write([]byte(source))
	shift := time.Duration(h.Sum64() % uint64(retryInterval))
	earliest := now.Add(retryInterval / 2)
	at := earliest.Truncate(retryInterval).Add(shift)
	if at.Before(earliest) {
		at = at.Add(retryInterval)
	}
	return at
}

// Awaited reports whether a round waits for verifications: one without a limit waits for all of them, which are the first of their credentials.
func (v *Verifier) Awaited(limit time.Duration) bool {
	if limit > 0 {
		return !v.Until(limit).IsZero()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.active)+len(v.queue) > 0
}

// Until returns when the first verification under way is waited for no more; zero: none is. A round waits for the first one of a credential alone: with
// many links, some credential is always being verified again.
func (v *Verifier) Until(limit time.Duration) (until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for address, u := range v.active {
		at := u.began.Add(limit)
		if limit == 0 || u.Again && !slices.ContainsFunc(v.queue[address], first) {
			continue
		}
		if time.Now().Before(at) && (until.IsZero() || at.Before(until)) {
			until = at
		}
	}
	return until
}

// again reports whether a credential was verified before; first, whether it was not.
func again(v plan.Verification) bool { return v.Again }
func first(v plan.Verification) bool { return !v.Again }

// Stop ends all verifications.
func (v *Verifier) Stop() {
	v.mu.Lock()
	v.ended = true
	clear(v.queue)
	for _, u := range v.active {
		u.cut()
	}
	v.mu.Unlock()
	v.running.Wait()
}

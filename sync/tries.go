package sync

import (
	"context"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// Trier tries logins, in bounded time.
type Trier interface {
	// Try gives what did not pass, or nil; refused says that the server would refuse other readers just so.
	Try(ctx context.Context, t object.Trial) (why *object.Reason, refused bool)
}

// A credential that works is tried again after tryEvery; one that does not, first after tryFirst, and at last as rarely.
const tryFirst, tryEvery = 30 * time.Second, 10 * time.Minute

// tries are the trials of a term: one at a time for each address, in goroutines of their own, so that one that does not answer
// keeps neither a cluster's turns nor other trials waiting. All of it belongs to the term's goroutine.
type tries struct {
	queue map[string][]plan.Try // by address, those not begun
	under map[string]under      // way, by address
	fails map[api.Pair]int      // in a row
	ended chan tried
}

// under is a trial under way.
type under struct {
	plan.Try
	began time.Time
	cut   context.CancelFunc
}

// tried is what became of one.
type tried struct {
	plan.Try
	why     *object.Reason
	refused bool
}

func newTries() tries {
	return tries{queue: map[string][]plan.Try{}, under: map[string]under{}, fails: map[api.Pair]int{}, ended: make(chan tried)}
}

// ask takes over what a step has tried. What is asked for already is not asked for again.
func (t *term) ask(step plan.Step) {
	if !t.loop.tries() || !t.loop.Probe && !t.loop.writes(step.Cluster) {
		return
	}
	for _, y := range step.Tries {
		same := func(o plan.Try) bool { return o.Link == y.Link && o.Print == y.Print }
		if !same(t.tries.under[y.At].Try) && !slices.ContainsFunc(t.tries.queue[y.At], same) {
			t.tries.queue[y.At] = append(t.tries.queue[y.At], y)
		}
	}
}

// try begins what may begin.
func (t *term) try(ctx context.Context) {
	for at, queue := range t.tries.queue {
		if _, busy := t.tries.under[at]; busy {
			continue
		}
		first := queue[0]
		if t.tries.queue[at] = queue[1:]; len(queue) == 1 {
			delete(t.tries.queue, at)
		}
		inner, cut := context.WithCancel(ctx)
		t.tries.under[at] = under{first, time.Now(), cut}
		go func() {
			why, refused := t.loop.Tries.Try(inner, first.Trial)
			t.tries.ended <- tried{first, why, refused}
		}()
	}
}

// judge takes over what came of a trial. Where an address gives no answer, others that wait for it need not ask.
func (t *term) judge(r tried) {
	t.tries.under[r.At].cut()
	delete(t.tries.under, r.At)
	t.prove(r)
	if r.why == nil || r.refused || r.why.Code != unreachable && r.why.Code != timeout {
		return
	}
	for _, y := range t.tries.queue[r.At] {
		t.prove(tried{y, r.why, false})
	}
	delete(t.tries.queue, r.At)
}

// unreachable and timeout are the codes of no answer.
const unreachable, timeout = "Unreachable", "Timeout"

// prove puts it on the board, and has the source have a turn where that is news, or is tried again.
func (t *term) prove(r tried) {
	proof := pair.Proof{Print: r.Print, At: time.Now(), Why: r.why, Blocks: r.refused}
	again := tryEvery
	if r.why == nil {
		delete(t.tries.fails, r.Link)
	} else {
		again = min(tryFirst<<min(t.tries.fails[r.Link], doublings), tryEvery)
		t.tries.fails[r.Link]++
	}
	if t.loop.Changes != nil { // who runs once tries once
		proof.Next = proof.At.Add(again)
	}
	if news := t.board.prove(r.Link, proof); news || !proof.Next.IsZero() { // its step says when it is tried again
		t.want(r.Link.Source)
	}
}

// awaitsTries says that a pass waits for trials: one that ends all is one that waits for all of them.
func (t *term) awaitsTries() bool {
	if t.grace == 0 {
		return len(t.tries.under)+len(t.tries.queue) > 0
	}
	return !t.triesUntil().IsZero()
}

// triesUntil is when the first trial under way is waited for no more; zero: none is.
func (t *term) triesUntil() (first time.Time) {
	for _, u := range t.tries.under {
		if at := u.began.Add(t.grace); t.grace > 0 && time.Now().Before(at) {
			first = soonest(first, at)
		}
	}
	return first
}

// endTries ends all trials.
func (t *term) endTries() {
	clear(t.tries.queue)
	for _, u := range t.tries.under {
		u.cut()
	}
	for len(t.tries.under) > 0 {
		r := <-t.tries.ended
		delete(t.tries.under, r.At)
	}
}

// tries says that credentials are tried.
func (l *Loop) tries() bool { return l.Tries != nil && (l.Probe || !l.ReadOnly) }

// prove takes over what came of a trial, and says whether it is another verdict than before.
func (b *board) prove(link api.Pair, now pair.Proof) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, tried := b.proofs.at[link]
	b.proofs.set(link, now)
	return !tried || was.Print != now.Print || was.Blocks != now.Blocks || (was.Why == nil) != (now.Why == nil) ||
		was.Why != nil && *was.Why != *now.Why
}

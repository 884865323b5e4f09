package sync

import (
	"context"
	"errors"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"

	"golang.org/x/sync/errgroup"
)

const (
	// Turns that wrote, of one cluster in one pass: who still writes then fights with somebody. Tokens of other
	// clusters may come one by one, so each adds some.
	maxTurns, turnsPerPeer = 60, 2

	maxFails = 3           // turns with a failed write, before the next pass tries again
	again    = time.Second // after a turn whose writes all failed
	// Between two looks at what does not come; each look in vain doubles the time.
	hasty, patient, doublings = 100 * time.Millisecond, 10 * time.Second, 7
	reads                     = 32 // clusters read at once when a term begins
)

// pass is one pass: each cluster has turns of its own, so that none waits for another.
type pass struct {
	loop     *Loop
	board    *board
	number   int       // of the pass in its term
	deadline time.Time // for what must be waited for
	clusters map[api.ClusterName]fleet.Cluster
	fresh    map[api.ClusterName]bool // read just now

	ready   map[api.ClusterName]bool
	running map[api.ClusterName]bool
	due     map[api.ClusterName]time.Time
	turns   map[api.ClusterName]int
	fails   map[api.ClusterName]int
	waits   map[api.ClusterName]uint // looks in vain
	seen    map[api.ClusterName]bool // had a turn
	done    chan turn
	news    <-chan struct{} // closed when there is something newer than what this pass is about; nil: never
}

// turn is what became of one: read, plan, write.
type turn struct {
	name     api.ClusterName
	step     plan.Step
	outcomes []object.Outcome
	issued   []api.ClusterName // have a token that they did not have
	moved    bool              // what others depend on
	first    bool              // of its cluster in this pass
	err      error             // of the home record: nothing was written
}

func newPass(l *Loop, b *board) *pass {
	p := &pass{
		loop: l, board: b, number: b.begin(), deadline: time.Now().Add(l.Patience),
		clusters: map[api.ClusterName]fleet.Cluster{},
		fresh:    map[api.ClusterName]bool{},
		ready:    map[api.ClusterName]bool{},
		running:  map[api.ClusterName]bool{},
		due:      map[api.ClusterName]time.Time{},
		turns:    map[api.ClusterName]int{},
		fails:    map[api.ClusterName]int{},
		waits:    map[api.ClusterName]uint{},
		seen:     map[api.ClusterName]bool{},
		done:     make(chan turn),
	}
	for _, c := range b.clusters() {
		p.clusters[c.Name] = c
		p.ready[c.Name] = true
	}
	return p
}

// run ends when nothing is ready or running, and nothing is due that there is patience for; told to stop, or when
// there are news, once the turns under way have ended. Of every cluster at least one turn is under way then.
func (p *pass) run(ctx context.Context) error {
	var failed error
	overtaken := false
	for {
		stop := failed != nil || overtaken || ctx.Err() != nil
		if !stop {
			p.start(ctx)
		}
		first, due := p.first()
		if len(p.running) == 0 && (stop || !due) {
			return errors.Join(failed, ctx.Err())
		}
		select {
		case t := <-p.done:
			if delete(p.running, t.name); t.err != nil {
				failed = t.err
				continue
			}
			p.board.tell(t.name, t.step, t.outcomes)
			p.next(t)
		case <-alarm(first, due && !stop):
			p.ring(first)
		case <-p.news:
			overtaken, p.news = true, nil
		case <-p.told(ctx):
		}
	}
}

// told is when ctx ends; while turns run, their ends are what is waited for.
func (p *pass) told(ctx context.Context) <-chan struct{} {
	if len(p.running) > 0 {
		return nil
	}
	return ctx.Done()
}

func alarm(at time.Time, on bool) <-chan time.Time {
	if !on {
		return nil
	}
	return time.After(time.Until(at))
}

// first is when something is due that there is patience for.
func (p *pass) first() (at time.Time, ok bool) {
	for _, due := range p.due {
		if !due.After(p.deadline) && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok
}

// ring wakes what is due.
func (p *pass) ring(now time.Time) {
	for name, at := range p.due {
		if !at.After(now) {
			p.wake(name)
		}
	}
}

// meet reads every cluster that this term has not read yet, all at once: whether two names mean one
// cluster must be known before the first write.
func (p *pass) meet(ctx context.Context) {
	known := p.board.world().Sides
	var g errgroup.Group
	g.SetLimit(reads)
	for name, c := range p.clusters {
		if _, tried := known[name]; tried {
			continue
		}
		p.fresh[name] = true
		g.Go(func() error {
			p.board.put(name, p.read(ctx, c))
			return nil
		})
	}
	_ = g.Wait() // its functions give no errors: a cluster that cannot be read is a side
}

// start begins a turn for every ready cluster that has none.
func (p *pass) start(ctx context.Context) {
	for name := range p.ready {
		if p.running[name] {
			continue
		}
		delete(p.ready, name)
		delete(p.due, name)
		p.running[name] = true
		fresh, first := p.fresh[name], !p.seen[name]
		delete(p.fresh, name)
		p.seen[name] = true
		go func() {
			t := p.turn(ctx, p.clusters[name], fresh)
			p.issue(ctx, &t)
			t.first = first
			p.done <- t
		}()
	}
}

// wake makes a cluster ready, and with it the clusters its ends wait for: those must be read again, too.
func (p *pass) wake(name api.ClusterName) {
	delete(p.due, name)
	p.ready[name] = true
	for _, row := range p.board.row(name) {
		if row.Standing != plan.Waiting && row.Standing != plan.Held || row.End.IsBase() {
			continue
		}
		for _, other := range []api.ClusterName{row.End.Link.Source, row.End.Link.Target} {
			if _, ok := p.clusters[other]; ok {
				p.ready[other] = true
			}
		}
	}
}

// next says who has a turn after this one: the cluster itself while it writes, its neighbours when what
// they depend on moved, and both when something waited for may have happened.
func (p *pass) next(t turn) {
	written, failed := tally(t.outcomes)
	switch {
	case written > 0:
		p.turns[t.name]++
		p.fails[t.name] = 0
	case failed > 0:
		p.fails[t.name]++
	}
	if written > 0 || t.moved {
		p.waits[t.name] = 0
	}
	switch {
	case p.stuck(t.name):
	case written > 0:
		p.ready[t.name] = true
	case failed > 0:
		p.due[t.name] = time.Now().Add(again)
	case !t.step.Next.IsZero() && t.step.Next.Before(p.deadline): // else it is not for this pass
		p.due[t.name] = time.Now().Add(min(patient, max(time.Until(t.step.Next), hasty)<<p.waits[t.name]))
		p.waits[t.name] = min(p.waits[t.name]+1, doublings)
	}
	for _, other := range t.issued {
		if _, ok := p.clusters[other]; ok && !p.stuck(other) {
			p.ready[other] = true
		}
	}
	for _, other := range p.board.neighbours(t.name, t.moved) {
		if _, ok := p.clusters[other]; ok && (t.moved || t.first) && !p.stuck(other) {
			p.ready[other] = true
		}
	}
	if p.turns[t.name] >= p.maxTurns() {
		p.board.refuse(t.name, object.Because("Contested",
			"still not as declared after %d turns that wrote: somebody else keeps changing the same objects", p.turns[t.name]))
	}
}

// stuck says that a cluster gets no more turns in this pass.
func (p *pass) stuck(name api.ClusterName) bool {
	return p.fails[name] >= maxFails || p.turns[name] >= p.maxTurns()
}

func (p *pass) maxTurns() int { return maxTurns + turnsPerPeer*len(p.clusters) }

func tally(outcomes []object.Outcome) (written, failed int) {
	for _, o := range outcomes {
		if o.Err != nil {
			failed++
		} else {
			written++
		}
	}
	return written, failed
}

// turn reads the cluster, plans its step from all that is known, and does it.
func (p *pass) turn(ctx context.Context, c fleet.Cluster, fresh bool) turn {
	t := turn{name: c.Name}
	if !fresh {
		t.moved = p.board.put(c.Name, p.read(ctx, c))
	}
	w := p.board.world()
	t.step = plan.Cluster(w, c.Name, p.loop.Renderer, p.loop.Policies...)
	if !p.loop.writes(c.Name) {
		return t
	}
	if t.step.Writes() == 0 {
		t.err = p.leaveRecord(ctx, t.step)
		return t
	}
	if t.err = p.board.remember(ctx, c, w.Sides[c.Name].Facts.UID); t.err != nil {
		return t
	}
	err := p.loop.Clusters.WithCluster(ctx, c.Name, func(conn Cluster) error {
		t.outcomes = act(ctx, conn, t.step)
		return nil
	})
	if err != nil {
		t.step.Refused = p.loop.why(err)
	}
	return t
}

// issue asks for the tokens that a turn's step needs: what they are bound to was seen. One that is not granted is told as
// a write that failed.
func (p *pass) issue(ctx context.Context, t *turn) {
	for _, n := range t.step.Needs {
		if ctx.Err() != nil || t.err != nil || !p.loop.writes(n.Link.Source) {
			return
		}
		token, err := p.loop.Clusters.Token(ctx, t.name, n.Request)
		if err == nil {
			p.board.issued(n.Link, token)
			t.issued = append(t.issued, n.Link.Source)
			continue
		}
		t.outcomes = append(t.outcomes, object.Outcome{Err: err, Change: object.Change{
			End: object.End{Cluster: t.name, Link: n.Link}, Action: object.Create, Key: tokenRequest(n.Request.Account),
			Why: object.Reason{Code: "Token", Message: "its source needs one"},
		}})
	}
}

// tokenRequest is how a request for a token of an account is called.
func tokenRequest(account object.Key) object.Key {
	return object.Key{Group: "authentication.k8s.io", Kind: "TokenRequest", Namespace: account.Namespace, Name: account.Name}
}

// leaveRecord forgets a cluster that departed, or is declared to leave, once nothing of ours is left in it: nobody need
// find it again, and what becomes of it is no longer our concern.
func (p *pass) leaveRecord(ctx context.Context, s plan.Step) error {
	if !s.Left() {
		return nil
	}
	return p.board.forget(ctx, s.Cluster)
}

// read observes a cluster; what fails makes it unknown, with the reason.
func (p *pass) read(ctx context.Context, c fleet.Cluster) pair.Side {
	side := pair.Side{Pass: p.number}
	err := p.loop.Clusters.WithCluster(ctx, c.Name, func(conn Cluster) error {
		ledger, err := conn.Observe(ctx, plan.Ledger())
		if err != nil {
			return err
		}
		side.Looked, err = plan.Watches(p.board.world(), c, p.loop.Renderer, ledger)
		if err != nil {
			side.Err = object.Because("Inventory", "%v", err)
			return nil
		}
		side.Seen, err = conn.Observe(ctx, side.Looked)
		if err != nil {
			return err
		}
		side.Facts = linkerd.FactsOf(c.Spec, conn.Address(), side.Seen)
		side.Known = true
		return nil
	})
	if err != nil {
		return pair.Side{Err: p.loop.why(err)}
	}
	p.judge(ctx, c, side)
	return side // not known where its inventories say nothing
}

func (l *Loop) why(err error) *object.Reason {
	if l.Explain == nil {
		return object.Because("Unknown", "%v", err)
	}
	r := l.Explain(err)
	return &r
}

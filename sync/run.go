package sync

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/linkwright/linkwright/sync/report"
)

// Run is one term: pass after pass until ctx ends. poke asks for a poll now; one that finds something new begins a pass,
// and ends what the pass before still waits for. What comes while a poke is answered is answered after it; many that wait
// are one, if the channel holds one. publish gets every report, one at a time, also while a pass waits. What cannot be read, or must not be applied, keeps the last
// good fleet in force.
func (l *Loop) Run(ctx context.Context, term int64, poke <-chan struct{}, publish func(report.Report)) error {
	t, logged := newTerm(l, term), journal{log: l.Log}
	t.grace, t.publish = grace, func(r report.Report, err error) {
		logged.tell(r, err)
		publish(r)
	}
	defer t.close()
	stop := t.meanwhile()
	defer func() { stop() }()
	decided, end := t.attend(ctx)
	defer end()
	head := t.poll(ctx, polled{}, nil)
	for ctx.Err() == nil {
		start := time.Now()
		w := l.watch(ctx, poke, decided, head)
		r, err := t.pass(ctx, head, w.news)
		if stop(); ctx.Err() == nil {
			t.report(r, err)
			t.rest(ctx, w.news, l.again(t.board, start))
		}
		if w.stop(); w.found() {
			head = w.head
		} else if ctx.Err() == nil {
			head = t.poll(ctx, head, decided)
		}
		stop = t.meanwhile()
	}
	return nil
}

// rest is the time between two passes: until the next is due, or there are news.
func (t *term) rest(ctx context.Context, news <-chan struct{}, next time.Time) {
	t.deadline = next
	t.serve(ctx, news, next, func(stopped bool) bool {
		t.calm()
		return stopped || !time.Now().Before(next)
	})
}

// calm ends what stands for a pass between two of them: what was read is too old for who comes later. A turn about keys needs
// none of it.
func (t *term) calm() {
	asked := false
	for _, l := range t.order {
		if l.running && !l.drifts && !t.straggles(l) || l.ready || len(l.awaits) > 0 {
			return
		}
		asked = asked || l.looked == t.number
	}
	if asked {
		t.number = t.board.begin()
	}
}

// every is the least time between two reports.
const every = time.Second

// report publishes what a pass did.
func (t *term) report(r report.Report, err error) {
	t.publish(r, err)
	t.said, t.news, t.last, t.trouble = time.Now(), false, r, err
	t.last.Clusters, t.last.Took, t.last.Between = nil, 0, true
	t.board.strip() // what was wanted was told
}

// due is when what was done between passes is to be told; zero: there is nothing.
func (t *term) due() time.Time {
	if !t.news || t.passing || !t.open || !t.last.Between {
		return time.Time{}
	}
	return t.said.Add(every)
}

// tell tells what was done between passes, and how all stands now.
func (t *term) tell() {
	at := t.due()
	if at.IsZero() || time.Now().Before(at) {
		return
	}
	r := t.last
	r.Clusters, r.At = t.board.rows(), time.Now()
	t.publish(r, cmp.Or(t.trouble, t.failed))
	t.said, t.news = time.Now(), false
}

// poll asks what the head declares; meanwhile it is as in a rest. What people decide does not wait for that: the last head stays.
func (t *term) poll(ctx context.Context, last polled, decided <-chan bool) (head polled) {
	asking, end := context.WithCancel(ctx)
	defer end()
	asked, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		head = t.loop.poll(asking)
	}()
	go func() {
		defer close(over)
		select {
		case <-asked:
			return
		case polls := <-decided:
			if !polls {
				end()
			}
		}
		<-asked
	}()
	t.serve(ctx, over, time.Time{}, func(stopped bool) bool { return stopped })
	<-over
	if asking.Err() != nil && head.err != nil {
		return last
	}
	return head
}

// watch polls whenever it is poked, until there is something else than a head, or people decided something.
type watch struct {
	head polled        // once news is closed
	news chan struct{} // closed once something new was found
	done chan struct{} // closed at its end
	end  context.CancelFunc
}

func (l *Loop) watch(ctx context.Context, poke <-chan struct{}, decided <-chan bool, last polled) *watch {
	ctx, end := context.WithCancel(ctx)
	w := &watch{news: make(chan struct{}), done: make(chan struct{}), end: end}
	go func() {
		defer close(w.done)
		for {
			poked, polls := false, true
			select {
			case <-ctx.Done():
				return
			case <-poke:
				poked = true
			case polls = <-decided:
			}
			if w.head = last; polls {
				w.head = l.poll(ctx)
			}
			if ctx.Err() == nil && (!poked || !w.head.same(last)) {
				close(w.news)
				return
			}
		}
	}()
	return w
}

// stop ends it. A poll under way is cut off: the next one, which comes at once, is as new.
func (w *watch) stop() {
	w.end()
	<-w.done
}

func (w *watch) found() bool {
	select {
	case <-w.news:
		return true
	default:
		return false
	}
}

// again is when the next pass begins: as the policy says, or earlier where a token is to be renewed. What a pass waits for
// in vain is not hurried so.
func (l *Loop) again(b *board, start time.Time) time.Time {
	policy, now := b.policy(), time.Now()
	next := policy.Next(start)
	if every, ok := policy.Every(); ok {
		next = start.Add(spread(every, rand.Float64())) //nolint:gosec // it spreads load, and guards nothing
	}
	if due := b.due(now.Add(patient)); !due.IsZero() && due.Before(next) {
		return due
	}
	return next
}

// spread shortens an interval by up to a tenth, at random (0 ≤ r < 1): many that were started at once do not poll at once,
// and what is new is still noticed within the interval. Schedules stay as they are written.
func spread(every time.Duration, r float64) time.Duration {
	return every - time.Duration(r*float64(every)/10)
}

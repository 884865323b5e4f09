// Package probe finds out whether the gateway of a target is alive, as linkerd2 multicluster/service-mirror/probe_worker.go does: by requests to the
// link's probe Service, through the proxy of its own pod.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Prober probes the gateway of one target. What it knows outlives an edit of the Link.
type Prober struct {
	transport http.RoundTripper
	metrics   Metrics
	changed   func()

	mu     sync.Mutex
	spec   Spec
	health health
	idle   bool          // the spec became zero, and Run does not know it yet
	again  chan struct{} // the spec changed
}

// health is what probes showed so far:
//
//	a probe       failures in a row    why the gateway is dead
//	succeeds      none                 it is not
//	fails         one more             as this probe says, from Spec.Threshold on; below it as before
//
// A gateway that never answered is not dead before that, and then is.
type health struct {
	failures int
	dead     error
}

func (h health) next(failure error, threshold int) health {
	if failure == nil {
		return health{}
	}
	h.failures++
	if h.dead != nil || h.failures >= threshold {
		h.dead = failure
	}
	return h
}

// New returns a Prober that probes nothing yet. It calls changed when the gateway dies, or is alive again, from the goroutine of Run. Each probe asks
// for a connection of its own, since a probe is to find out whether that works.
func New(transport http.RoundTripper, metrics Metrics, changed func()) *Prober {
	return &Prober{transport: transport, metrics: metrics, changed: changed, idle: true, again: make(chan struct{}, 1)}
}

// Set has the gateway probed as a Link says from now on, at once if that differs. A zero Spec stops it; a gateway that is not probed counts as alive.
func (p *Prober) Set(s Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == p.spec {
		return
	}
	p.spec, p.idle = s, !s.isProbed()
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// Presume has the gateway count as dead until a probe succeeds: another process found out that it is. It is to be called before Set.
func (p *Prober) Presume(dead error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.health, p.idle = health{dead: dead}, false
}

// Dead returns how the last probe failed, if as many in a row failed as the Spec allows; nil: the gateway counts as alive.
func (p *Prober) Dead() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health.dead
}

// Run probes until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	for {
		spec := p.current()
		var next <-chan time.Time // never
		if spec.isProbed() {
			p.take(ctx, spec)
			next = time.After(jittered(spec.Period))
		} else if p.becameIdle() {
			p.record(spec, nil)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.again:
		case <-next:
		}
	}
}

// current is the Spec, of which Run then knows.
func (p *Prober) current() Spec {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.again:
	default:
	}
	return p.spec
}

// becameIdle reports, once, that nothing is to be probed any more.
func (p *Prober) becameIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.idle
	p.idle = false
	return was
}

// take probes once.
func (p *Prober) take(ctx context.Context, spec Spec) {
	begun := time.Now()
	err := p.ask(ctx, spec)
	if ctx.Err() != nil {
		return // nothing failed: the process ends
	}
	p.metrics.probed(err == nil, time.Since(begun))
	p.record(spec, err)
}

// record notes a probe, and reports a change.
func (p *Prober) record(spec Spec, err error) {
	p.mu.Lock()
	was := p.health
	p.health = was.next(err, spec.Threshold)
	now := p.health
	p.mu.Unlock()
	p.metrics.alive(now.dead == nil)
	if (was.dead == nil) != (now.dead == nil) {
		p.changed()
	}
}

var errStatus = errors.New("the probe was not answered with 200 OK")

func (p *Prober) ask(ctx context.Context, spec Spec) error {
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, spec.URL, http.NoBody)
	if err != nil {
		return err
	}
	q.Close = true
	answer, err := p.transport.RoundTrip(q) // follows no redirect
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	err = errors.Join(err, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("%w: %s", errStatus, answer.Status), err)
	}
	return err
}

// jittered is a period, give or take a tenth: many processes are not to probe in step.
func jittered(period time.Duration) time.Duration {
	return period*9/10 + time.Duration(rand.Int64N(int64(period/5)+1)) //nolint:gosec // nobody guesses it to any avail
}

package testbed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// prober asks a gateway whether it lives. It begins without an answer, and one
// that never lived since is never reported dead.
type prober struct {
	link      string
	period    time.Duration // zero: asks nothing
	threshold uint64
	next      time.Time
	failures  uint64
	alive     bool
}

// newProber refuses a period at which Linkerd's controller panics; with what it
// cannot read, or without a path, it is silent.
func newProber(l link) (*prober, error) {
	p, spec := &prober{link: l.name}, l.spec.ProbeSpec
	if spec.Path == "" {
		return p, nil
	}
	period, err := time.ParseDuration(spec.Period)
	if err != nil {
		return p, nil //nolint:nilerr // as Linkerd's
	}
	if period < 10 {
		return nil, fmt.Errorf("probe period %s: the controller crashes", spec.Period)
	}
	threshold, err := strconv.ParseUint(orDefault(spec.FailureThreshold, "3"), 10, 32)
	if err != nil {
		return p, nil //nolint:nilerr // as Linkerd's
	}
	p.period, p.threshold = period, threshold
	p.next = time.Now().Add(p.jittered())
	return p, nil
}

func (p *prober) jittered() time.Duration {
	return p.period + rand.N(p.period/10) //nolint:gosec // no secret
}

// probe reports whether the gateway came to life or died.
func (p *prober) probe(ctx context.Context, ask func(context.Context, string) error) bool {
	if p.period == 0 || ask == nil || time.Now().Before(p.next) {
		return false
	}
	p.next = time.Now().Add(p.jittered())
	if err := ask(ctx, p.link); err != nil {
		p.failures++
		died := p.alive && p.failures >= p.threshold
		if died {
			p.alive = false
		}
		return died
	}
	p.failures = 0
	rose := !p.alive
	p.alive = true
	return rose
}

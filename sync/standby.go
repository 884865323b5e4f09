package sync

import (
	"context"
	"log/slog"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
)

// Standby is a daemon, of which one at a time leads. While it does not lead it watches the clusters and polls the
// repository, so that it can go on at once when it does. It plans and writes nothing then. Its methods are called one
// after the other.
type Standby struct {
	loop *Loop
	held *fleet.Fleet // the last that was valid; nil: none yet

	watching map[api.ClusterName][]object.Watch // what is watched in each cluster
}

// Standby gives a daemon that does not lead yet.
func (l *Loop) Standby() *Standby { return &Standby{loop: l} }

// Observe keeps the watches of all clusters open, and the last valid revision at hand, until ctx ends. It looks at each
// cluster again with each poll, since something else may have to be watched then. A cluster that cannot be read is read
// with the next poll.
func (s *Standby) Observe(ctx context.Context) {
	quiet := *s.loop // who leads acts on decisions, and logs them
	quiet.ReadOnly, quiet.Log = true, slog.New(slog.DiscardHandler)
	e := newEngine(&quiet, 0)
	e.store.Clusters.SetWatches(s.watching)
	defer func() { s.watching = e.store.Clusters.Watches() }()
	defer e.start(ctx)()
	for ctx.Err() == nil {
		start := time.Now()
		if head := s.loop.poll(ctx); head.err == nil {
			s.held = head.Fleet
		}
		if s.held != nil && ctx.Err() == nil && e.declare(ctx, s.held) == nil {
			e.store.Clusters.Forget()
			e.enroll()
			e.meet()
		}
		next := start.Add(time.Minute)
		if s.held != nil {
			next = s.loop.again(e.store, start)
		}
		select {
		case <-ctx.Done():
		case <-alarm(next):
		}
	}
}

// Lead is one period of leadership, of that number: see Loop.Run.
func (s *Standby) Lead(ctx context.Context, leadership int64, poke <-chan struct{}, publish func(report.Report)) error {
	e := newEngine(s.loop, leadership)
	e.held = s.held
	e.store.Clusters.SetWatches(s.watching)
	err := s.loop.run(ctx, e, poke, publish)
	if good, _ := e.store.Declared.InForce(); good != nil {
		s.held = good
	}
	s.watching = e.store.Clusters.Watches()
	return err
}

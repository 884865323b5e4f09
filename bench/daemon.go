package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	lw "github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// timeout bounds waiting for a daemon.
const timeout = 10 * time.Minute

// daemon is a running loop, with watches.
type daemon struct {
	clusters *clusters // nil: of a ring
	poke     chan struct{}
	reports  chan report.Report // the last one
	stop     func() error
}

// start runs a leader's loop over the benchmark's clusters, as a process that was just started.
func (c *benchmark) start(ctx context.Context) (*daemon, error) {
	cs, err := open(ctx, c.env.Clusters[0].Config, c.env.count, c.targets)
	if err != nil {
		return nil, err
	}
	d := begin(ctx, loop(c.fleet, cs, c.managementCluster, cs.registry), cs.close)
	d.clusters = cs
	return d, nil
}

// begin runs a loop; stop ends it, and closes what it used.
func begin(ctx context.Context, l *lw.Loop, end func(context.Context) error) *daemon {
	d := &daemon{poke: make(chan struct{}, 1), reports: make(chan report.Report, 1)}
	inner, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(inner, 1, d.poke, d.publish) }()
	d.stop = func() error {
		cancel()
		return errors.Join(<-ended, end(context.WithoutCancel(ctx)))
	}
	return d
}

// publish keeps the last report.
func (d *daemon) publish(r report.Report) {
	if r.When != report.AtEnd {
		return // no pass
	}
	d.dropReport()
	d.reports <- r
}

// dropReport drops a report that nobody took.
func (d *daemon) dropReport() {
	select {
	case <-d.reports:
	default:
	}
}

// nextReports waits for n more syncs, and returns the report of the last.
func (d *daemon) nextReports(ctx context.Context, n int) (last report.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d.dropReport()
	for range n {
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("wait for a pass: %w", ctx.Err())
		case last = <-d.reports:
		}
	}
	return last, nil
}

// written waits until so many objects, without the access namespace, were written since the last call.
func (d *daemon) written(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got := 0
	for {
		for _, ch := range d.clusters.takeWrites() {
			if ch.Key.Kind != "Namespace" {
				got++
			}
		}
		if got >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d objects were written: %w", got, want, ctx.Err())
		case <-d.clusters.news:
		}
	}
}

// waitReady waits until every end is ready.
func (d *daemon) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d.dropReport()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until every end is in place: %w", ctx.Err())
		case r := <-d.reports:
			if unreadyEnds(r) == 0 {
				return nil
			}
		}
	}
}

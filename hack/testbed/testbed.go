// Package testbed starts real Kubernetes clusters on loopback for tests and
// benchmarks, dresses them as Linkerd clusters, and plays Linkerd's service
// mirror controller. A cluster is a process of its own that ends, and removes
// its directory, when the process that started it is gone, however it went.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Options say which clusters to start.
type Options struct {
	// Names of the clusters, one each.
	Names []string
	// Dir gets one directory per cluster, which is removed at the end. Empty
	// means directories of their own under the system's temporary one.
	Dir string
	// Light starts an API server with service account tokens only: no pods, no
	// Deployments, no garbage collection. For many clusters at once.
	Light bool
	// Ahead is by how much the clock of a cluster goes ahead of this machine's,
	// in whole seconds; behind where it is negative. Its components stamp, issue
	// and refuse by that clock.
	Ahead map[string]time.Duration
	// Pool gives clusters that were closed before, and keeps those of these
	// ControlPlanes when they are closed. Nil means clusters of their own. Ahead
	// must be empty with it.
	Pool *Pool
	// AtOnce bounds how many clusters start at a time; zero means all.
	AtOnce int
}

// ControlPlanes is a set of running clusters.
type ControlPlanes struct {
	// Clusters in the order of Options.Names.
	Clusters []*Cluster

	opts     Options
	close    sync.Once
	closeErr error
}

// Start starts all clusters side by side and gives them when all are ready.
// If one fails, none is left behind. It needs the binaries of Binaries.
func Start(ctx context.Context, opts Options) (*ControlPlanes, error) {
	if opts.Pool != nil && len(opts.Ahead) > 0 {
		return nil, errors.New("start clusters: those of a pool have the clock of this machine: leave Ahead empty, or Pool")
	}
	bin, err := Binaries()
	if err != nil {
		return nil, err
	}
	atOnce := opts.AtOnce
	if atOnce <= 0 {
		atOnce = len(opts.Names)
	}
	bed := &ControlPlanes{Clusters: make([]*Cluster, len(opts.Names)), opts: opts}
	errs := make([]error, len(opts.Names))
	slots := make(chan struct{}, max(1, atOnce))
	var all sync.WaitGroup
	for i, name := range opts.Names {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			bed.Clusters[i], errs[i] = start(ctx, plan{bin: bin, opts: opts, name: name, index: i})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	return bed, nil
}

// Cluster returns the cluster of that name, or nil.
func (b *ControlPlanes) Cluster(name string) *Cluster {
	for _, c := range b.Clusters {
		if c != nil && c.Name == name {
			return c
		}
	}
	return nil
}

// CloseAfter closes the clusters of a test, at its end. Those of a test that
// failed are ended: what it left running may still write to them.
func (b *ControlPlanes) CloseAfter(t testing.TB) {
	t.Helper()
	if t.Failed() {
		for _, c := range b.Clusters {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Close ends all clusters and waits until their processes and directories are
// gone. With Options.Pool, the pool keeps those that it can make as new. Closing
// twice is fine.
func (b *ControlPlanes) Close() error {
	b.close.Do(func() { b.closeErr = b.closeAll() })
	return b.closeErr
}

func (b *ControlPlanes) closeAll() error {
	errs := make([]error, len(b.Clusters))
	var all sync.WaitGroup
	for i, c := range b.Clusters {
		if c == nil {
			continue
		}
		all.Go(func() {
			if b.opts.Pool != nil {
				errs[i] = b.opts.Pool.put(c, b.opts.Light, i)
			} else {
				errs[i] = c.Stop()
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("stop cluster %s: %w", c.Name, errs[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

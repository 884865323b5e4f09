package access

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/linkwright/linkwright/api"
)

// exchangeGrace is as long as a sync waits for a cluster that does not answer while others do: most connections are exchanged by then, and the sync
// goes by the new ones; the others stay as they are until that is done, at most --cluster-timeout.
const exchangeGrace = 2 * time.Second

// exchangeAll exchanges connections, and returns once that is done or grace is over. A server that does not answer delays only
// what is under way by itself then: the connection that there is stays in use.
func (c *connections) exchangeAll(ctx context.Context, moved []api.ClusterName) {
	var late atomic.Bool
	done := make(chan struct{}, len(moved))
	for _, name := range moved {
		c.exchanges.Go(func() {
			c.exchange(ctx, name)
			if late.Load() {
				c.notifyMoved(name)
			}
			done <- struct{}{}
		})
	}
	over := time.NewTimer(c.grace)
	defer over.Stop()
	for range moved {
		select {
		case <-done:
		case <-over.C:
			late.Store(true)
			return
		}
	}
}

// exchange makes a cluster's connection that of the place that was found last. Until it is complete, the one that there is
// stays in use. An exchange that is under way ends: where it leads to counts no more.
func (c *connections) exchange(ctx context.Context, name api.ClusterName) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	e, number := c.begin(name, end)
	if e == nil {
		return // it has left meanwhile
	}
	e.exchanging.Lock()
	defer e.exchanging.Unlock()
	now, at := c.entry(name)
	switch {
	case now != e: // it has left meanwhile, and may have come back
		return
	case at.err != nil || at.cfg == nil:
		c.close(ctx, name)
		return
	}
	if err := c.registry.Replace(ctx, name, at.cfg); err != nil && c.unusable(ctx, e, number, err) {
		c.close(ctx, name)
	}
}

// unusable reports whether an exchange failed since nobody could be reached so, and notes that; one that was ended is only to be found as new when
// it is read next.
func (c *connections) unusable(ctx context.Context, e *entry, number int, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.begun != number: // a later one is at it
		return false
	case ctx.Err() != nil:
		e.stamp = ""
		return false
	}
	e.target = target{err: err}
	return true
}

// begin counts an exchange and ends the one before; nil: the cluster is not declared.
func (c *connections) begin(name api.ClusterName, end context.CancelFunc) (*entry, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		return nil, 0
	}
	e.cancelExchange()
	e.end = end
	e.begun++
	return e, e.begun
}

// cancelExchange ends the exchange that was begun last; for who holds accesses.mu.
func (e *entry) cancelExchange() {
	if e.end != nil {
		e.end()
	}
}

// close closes a connection for all that begins from now on. What is under way in it ends by itself, and nobody waits for it.
func (c *connections) close(ctx context.Context, name api.ClusterName) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = c.registry.Stop(ctx, name) // it says that calls are under way, or that there is no connection
}

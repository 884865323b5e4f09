package access

import (
	"context"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Moved implements sync.Changes.
func (c *connections) Moved() <-chan struct{} { return c.moves }

// Recorded has a word in it once something in the management cluster moved, such as the record.
func (c *Clusters) Recorded() <-chan struct{} { return c.recorded }

// ObjectsMoved receives a value once something that is watched in a cluster moved, for a caller without Watch.
func (c *connections) ObjectsMoved() <-chan struct{} { return c.registry.Moved() }

// Take implements sync.Changes. A cluster whose access leads elsewhere has moved as a whole.
func (c *connections) Take() map[api.ClusterName]object.ChangedKeys {
	out := c.registry.Take()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.elsewhere {
		out[name] = object.ChangedKeys{All: true}
	}
	clear(c.elsewhere)
	return out
}

// Watch passes on what moves in clusters, and follows the Secrets by which they are reached as soon as these change, until
// ctx ends. A connection that is being exchanged delays nothing else.
func (c *Clusters) Watch(ctx context.Context) {
	var exchanges gosync.WaitGroup
	defer exchanges.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.registry.Moved():
		case <-c.management.moved():
			notify(c.recorded)
			for _, name := range c.refreshAll(ctx) {
				exchanges.Go(func() { c.follow(ctx, name) })
			}
		}
		c.notify()
	}
}

// refreshAll reads the accesses of all that is followed.
func (c *accesses) refreshAll(ctx context.Context) []api.ClusterName {
	c.following.Lock()
	defer c.following.Unlock()
	return c.refresh(ctx)
}

// follow exchanges a connection between syncs.
func (c *connections) follow(ctx context.Context, name api.ClusterName) {
	c.exchange(ctx, name)
	c.notifyMoved(name)
}

// notifyMoved says that a cluster moved as a whole.
func (c *connections) notifyMoved(name api.ClusterName) {
	c.mu.Lock()
	c.elsewhere[name] = true
	c.mu.Unlock()
	c.notify()
}

// notify says that something moved; many that were not heard yet are one.
func (c *connections) notify() { notify(c.moves) }

func notify(notified chan<- struct{}) {
	select {
	case notified <- struct{}{}:
	default:
	}
}

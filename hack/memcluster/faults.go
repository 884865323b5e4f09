package memcluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/linkwright/linkwright/object"
)

// Faults are the faults of a cluster; the zero value is none.
type Faults struct {
	Down    bool // no connection can be made
	Hanging bool // connections are accepted, and nothing is answered
	// Unauthorized: credentials of links are not accepted.
	Unauthorized bool
	Slow         time.Duration         // that each write takes
	Forbidden    []schema.GroupKind    // kinds that may not be read or written
	Closed       []object.Key          // kinds with a namespace, and perhaps a name, that may not be read or written there
	Refused      map[object.Key]string // objects that are invalid, and why: 422
	Kept         map[object.Key]string // objects that admission lets nobody delete, and why: 422
	// Denied are kinds by what may not be done with them: list, watch (of single objects), patch, delete.
	Denied    map[string][]schema.GroupKind
	Throttled int // so many tries to write are answered with 429, Retry-After: 1
}

// Fault changes the faults. Watches notice at once that the server is down or back, and after Options.Timeout that it
// hangs.
func (c *Cluster) Fault(change func(*Faults)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.faults
	change(&c.faults)
	switch now := c.faults; {
	case now.Down:
		c.breakWatches(errDown(c))
	case now.Hanging && !was.Hanging:
		time.AfterFunc(c.opts.Timeout, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.faults.Hanging {
				c.breakWatches(errHanging(c))
			}
		})
	case !now.Hanging && c.live.broken != nil:
		c.live.broken = nil
		c.live.invalidate()
		c.moveAll()
	}
}

func (c *Cluster) breakWatches(why error) {
	if c.live.broken != nil {
		c.live.broken = why
		return
	}
	if c.live.broken = why; c.live.open {
		c.moveAll()
	}
}

// connect logs a request and returns the server's failure, if any.
func (c *Cluster) connect(ctx context.Context, what string) error {
	c.mu.Lock()
	c.requests = append(c.requests, what)
	c.mu.Unlock()
	return c.respond(ctx)
}

// respond returns nil if the server responds: it may be down, or hang.
func (c *Cluster) respond(ctx context.Context) error {
	c.mu.Lock()
	f := c.faults
	c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.Down:
		return errDown(c)
	case !f.Hanging:
		return nil
	}
	if err := pause(ctx, c.opts.Timeout); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakWatches(errHanging(c))
	return errHanging(c)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func errDown(c *Cluster) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", c.Address(), syscall.ECONNREFUSED)}
}

func errHanging(c *Cluster) error {
	return fmt.Errorf("%s gave no answer within %s: %w", c.Address(), c.opts.Timeout, context.DeadlineExceeded)
}

// admit returns what is wrong with a write that reached the server.
func (c *Cluster) admit(ch object.Change) error {
	of := schema.GroupKind{Group: ch.Key.Group, Kind: ch.Key.Kind}
	verb, deletes := "patch", ch.Action == object.Delete || ch.Action == object.Replace
	if deletes {
		verb = "delete"
	}
	if err := c.authorize(of.WithVersion("v1"), verb, ch.Key); err != nil {
		return err
	}
	if why, ok := c.faults.Kept[ch.Key]; ok && deletes {
		return apierrors.NewInvalid(of, ch.Key.Name, field.ErrorList{field.Forbidden(nil, "denied request: "+why)})
	}
	if why, ok := c.faults.Refused[ch.Key]; ok {
		e := apierrors.NewInvalid(of, ch.Key.Name, nil)
		e.ErrStatus.Message += ": " + why
		return e
	}
	return nil
}

// throttled reports whether the server throttles an attempt.
func (c *Cluster) throttled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.Throttled == 0 {
		return false
	}
	c.faults.Throttled--
	return true
}

func (c *Cluster) authorize(of schema.GroupVersionKind, verb string, k object.Key) error {
	place := object.Key{Group: of.Group, Kind: of.Kind, Namespace: k.Namespace}
	closed := slices.Contains(c.faults.Closed, place)
	if place.Name = k.Name; k.Name != "" {
		closed = closed || slices.Contains(c.faults.Closed, place)
	}
	if !closed && !slices.Contains(c.faults.Forbidden, of.GroupKind()) && !slices.Contains(c.faults.Denied[verb], of.GroupKind()) {
		return nil
	}
	r, user := plural(of), `User "linkwright"`
	return apierrors.NewForbidden(r, k.Name, fmt.Errorf("%s cannot %s resource %q in API group %q", user, verb, r.Resource, r.Group))
}

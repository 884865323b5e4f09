package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// pollEvery is how often is read what nobody lets linkwright watch, and how often that is tried; so it is with what nobody lets linkwright read.
	pollEvery = 30 * time.Second
	// shortWatch is a watch that did not last.
	shortWatch = time.Second
	// maxShortWatches so many of them in a row are a fault.
	maxShortWatches = 5
	// early is a watch that ended so long before its time.
	early = 10 * time.Second
)

// run keeps a feed until ctx ends. What fails is tried again after a pause; while the cluster does not answer at all,
// nothing is tried here.
func (c *watcher) run(ctx context.Context, f *feed) {
	for fails := 0; ctx.Err() == nil; {
		c.breaker.wait(ctx)
		begun := time.Now()
		s, err := c.feed(ctx, f)
		if s != nil { // here, not deeper: it is where nearly all feeds wait nearly always, each with a stack of its own
			err = c.ended(ctx, f, s, c.take(f, s))
			begun = s.begun // a list before it may have taken long; the watch was brief all the same
		}
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil && time.Since(begun) > shortWatch:
			fails = 0
			continue
		case err == nil && fails >= maxShortWatches:
			err = fmt.Errorf("watch %s: the watch ends as soon as it begins", f.scope)
		}
		fails++
		if err != nil {
			c.breaker.record(ctx, err)
			c.feeds.setCondition(f, broken, err)
		}
		sleep(ctx, pause(fails))
	}
}

// feed reads the scope where it was not yet, and gives the watch of what becomes of it. It gives none, and no error, where
// going on is all there is to do.
func (c *watcher) feed(ctx context.Context, f *feed) (*stream, error) {
	r, ok, err := c.served(ctx, f.scope)
	if err != nil {
		return nil, err
	}
	if !ok {
		c.feeds.setCondition(f, absent, nil)
		idle(ctx, askAgain, f.again)
		return nil, nil
	}
	s, err := c.resume(ctx, r, f)
	if apierrors.IsForbidden(err) && (f.scope.name != "" || f.at != "") { // the right to list a name is not that to read it
		err = c.poll(ctx, r, f)
	}
	if f.scope.mayHide && apierrors.IsForbidden(err) {
		c.breaker.answer()
		c.feeds.setCondition(f, hidden, nil)
		idle(ctx, pollEvery, f.again)
		return nil, nil
	}
	return s, c.rediscover(ctx, r, f, err)
}

// ended closes a watch, and says what its end means.
func (c *watcher) ended(ctx context.Context, f *feed, s *stream, err error) error {
	s.close()
	f.interrupted = time.Since(s.begun) < watchFor-early
	return c.rediscover(ctx, s.as.resource, f, markBroken(f, c.expired(f, err)))
}

// expired has everything listed again where the server does not remember where the feed is: that is no error.
func (c *watcher) expired(f *feed, err error) error {
	if !isExpired(err) {
		return err
	}
	c.feeds.reset(f)
	return nil
}

func markBroken(f *feed, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("watch %s: %w", f.scope, err)
}

// rediscover looks for the kind again where its resource is not there any more; err is nil where it is not served now.
func (c *watcher) rediscover(ctx context.Context, r resource, f *feed, err error) error {
	if !unserved(err) {
		return err
	}
	c.kinds.drop(r.GroupVersion())
	c.feeds.reset(f)
	if _, ok, again := c.served(ctx, f.scope); ok || again != nil {
		return errors.Join(err, again)
	}
	return nil
}

// served asks where a kind is, one feed after the other, since the answer is about all kinds of its group.
func (c *watcher) served(ctx context.Context, s scope) (resource, bool, error) {
	if !acquire(ctx, c.feeds.finds) {
		return resource{}, false, ctx.Err()
	}
	defer releaseSlot(c.feeds.finds)
	found, err := c.find(ctx, []scope{s})
	if err != nil {
		return resource{}, false, err
	}
	r, ok := found[s.kind]
	if ok {
		err = s.fits(r)
	}
	if err != nil {
		return resource{}, false, fmt.Errorf("watch %s: %w", s, err)
	}
	return r, ok, nil
}

// poll reads a scope, again after writes of linkwright, until it is time to try whether it may be watched by now.
func (c *watcher) poll(ctx context.Context, r resource, f *feed) error {
	for end := time.Now().Add(pollEvery); ; {
		if err := c.reread(ctx, r, f); err != nil {
			return fmt.Errorf("read %s: %w", f.scope, err)
		}
		c.breaker.answer()
		c.feeds.setCondition(f, polled, nil)
		if !idle(ctx, time.Until(end), f.again) || !time.Now().Before(end) {
			return nil
		}
	}
}

// reread reads a scope: one object, or a list.
func (c *watcher) reread(ctx context.Context, r resource, f *feed) error {
	if f.scope.name == "" {
		return c.relist(ctx, r, f)
	}
	writes := c.feeds.written()
	l, err := c.get(ctx, r, f.scope)
	if err == nil {
		c.feeds.fill(f, l, writes)
	}
	return err
}

// idle waits for a time, or until there is a word in again; false: ctx ended first.
func idle(ctx context.Context, d time.Duration, again <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-again:
	case <-ctx.Done():
		return false
	}
	return true
}

// resume begins a watch from where the feed is; where that is nowhere, it lists before.
func (c *watcher) resume(ctx context.Context, r resource, f *feed) (*stream, error) {
	if err := c.checkRestored(ctx, r, f); err != nil {
		return nil, fmt.Errorf("list %s: %w", f.scope, err)
	}
	if f.at == "" {
		if err := c.relist(ctx, r, f); err != nil {
			return nil, fmt.Errorf("list %s: %w", f.scope, err)
		}
	}
	f.interrupted = true
	s, err := c.begin(ctx, r, f)
	if err != nil {
		return nil, markBroken(f, c.expired(f, err))
	}
	c.breaker.answer()
	c.feeds.setCondition(f, complete, nil)
	return s, nil
}

// checkRestored has everything listed again where a watch was torn and the server is not as far any more as the feed is: its etcd
// was restored from a backup. A watch from there would be answered, and show nothing until the server is as far again.
func (c *watcher) checkRestored(ctx context.Context, r resource, f *feed) error {
	if f.at == "" || !f.interrupted {
		return nil
	}
	req := f.scope.narrow(setPath(c.rest.Get(), r.path(f.scope.namespace, ""))).Param("limit", "1")
	_, list, err := c.metaPage(ctx, req, reading{resource: r})
	if err == nil && !reaches(list.ResourceVersion, f.at) {
		c.feeds.reset(f)
	}
	return err
}

func (c *watcher) relist(ctx context.Context, r resource, f *feed) error {
	if !acquire(ctx, c.feeds.lists) {
		return ctx.Err()
	}
	defer releaseSlot(c.feeds.lists)
	writes := c.feeds.written()
	l, err := c.list(ctx, r, f.scope)
	if err == nil && l.at == "" {
		err = errors.New("the list has no resourceVersion")
	}
	if err != nil {
		return err
	}
	c.feeds.fill(f, l, writes)
	return nil
}

// begin begins a watch. An API server that is not ready for it yet, as for a kind that was just installed, says when.
func (c *watcher) begin(ctx context.Context, r resource, f *feed) (*stream, error) {
	deadline := time.Now().Add(c.timeout)
	for {
		s, err := c.watch(ctx, r, f.scope, f.at)
		seconds, wait := apierrors.SuggestsClientDelay(err)
		pause := time.Duration(seconds) * time.Second
		if !wait || time.Now().Add(pause).After(deadline) || !sleep(ctx, max(pause, firstPause)) {
			return s, err
		}
	}
}

// take applies events until there are no more. A watch may end whenever the server, or what is between, wants: whether
// the cluster is there shows the next try. Only of a connection that stays silent that is known already.
func (c *watcher) take(f *feed, s *stream) error {
	for {
		raw, err := s.wait()
		if err == nil {
			err = c.event(f, s, raw)
		}
		if err != nil {
			return overOrBroken(err)
		}
	}
}

// overOrBroken is nil for a watch that just ended.
func overOrBroken(err error) error {
	var end *endOfWatch
	if errors.As(err, &end) && !connectionLost(err) {
		return nil
	}
	return err
}

// event takes what a watch told.
func (c *watcher) event(f *feed, s *stream, raw []byte) error {
	e, err := s.event(raw)
	if err != nil {
		return err
	}
	c.feeds.apply(f, e)
	return nil
}

package forge

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
)

const (
	lastTry             = 5 * time.Second // for what is under way, or waits, when a Poster ends
	firstPause          = time.Second     // after a failure; doubled with each
	longestPause        = 5 * time.Minute
	maxPosted, maxFails = 64, 16
)

// Poster posts the newest status: one request at a time, each status once, with pauses after failures.
type Poster struct {
	post   func(context.Context, Status) error
	logged func(Status, error)
	wake   chan struct{}

	mu     sync.Mutex
	newest *Status // waits, or is under way; mu

	// Of Run alone.
	posted    map[api.Commit]posted
	fails     int
	lastError string // the last failure that was told
}

// posted is what a commit's status is as far as we know, or that nothing more is tried.
type posted struct {
	status  Status
	givenUp bool
}

// NewPoster returns a Poster that calls post. told hears of failures, of the same one once.
func NewPoster(post func(context.Context, Status) error, logged func(Status, error)) *Poster {
	return &Poster{post: post, logged: logged, wake: make(chan struct{}, 1), posted: map[api.Commit]posted{}}
}

// Post hands over the newest status, in place of one that waits. It never blocks.
func (p *Poster) Post(s Status) {
	p.mu.Lock()
	p.newest = &s
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run posts until ctx ends, and then for as long as one last request may take.
func (p *Poster) Run(ctx context.Context) {
	var pause <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			if pause == nil { // else the server, or we, had enough
				p.try(ctx)
			}
			return
		case <-pause:
			pause = nil
		case <-p.wake:
			if pause != nil {
				continue // the newest is taken when the pause ends
			}
		}
		if wait := p.try(ctx); wait > 0 {
			pause = time.After(wait)
		}
	}
}

// try posts what waits, if anything does, and says how long to wait before it is tried again; zero: it is settled.
func (p *Poster) try(ctx context.Context) time.Duration {
	s := p.waiting()
	if s == nil {
		return 0
	}
	err := p.once(ctx, *s)
	if err == nil || permanent(err) {
		p.settle(s, err != nil)
	}
	switch {
	case err == nil:
		p.fails, p.lastError = 0, ""
		return 0
	case p.lastError != err.Error():
		p.lastError = err.Error()
		p.logged(*s, err)
	}
	if permanent(err) {
		p.fails = 0
		return 0
	}
	return p.patience(err)
}

// waiting returns the newest status, if it is news.
func (p *Poster) waiting() *Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest == nil {
		return nil
	}
	if last, ok := p.posted[p.newest.Commit]; ok && (last.givenUp || last.status == *p.newest) {
		p.newest = nil
	}
	return p.newest
}

// once returns one request. It has lastTry to end after ctx did, so that what is under way is not posted twice.
func (p *Poster) once(ctx context.Context, s Status) error {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(lastTry)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-own.Done():
		}
	})
	defer stop()
	return p.post(own, s)
}

// settle remembers what became of a status; a newer one may wait already.
func (p *Poster) settle(s *Status, givenUp bool) {
	if len(p.posted) >= maxPosted {
		clear(p.posted)
	}
	p.posted[s.Commit] = posted{*s, givenUp}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest == s {
		p.newest = nil
	}
}

// patience doubles with each failure, up to five minutes, unless the server says how long; some of it is chance.
func (p *Poster) patience(err error) time.Duration {
	pause := min(firstPause<<p.fails, longestPause)
	p.fails = min(p.fails+1, maxFails)
	pause += rand.N(pause / 4) //nolint:gosec // no secret: it keeps many from coming back at once
	if r, ok := errors.AsType[*Refusal](err); ok {
		pause = max(pause, r.Wait)
	}
	return pause
}

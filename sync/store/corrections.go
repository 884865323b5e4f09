package store

import (
	"maps"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// MaxCorrections is how many corrections of an object within contestWindow are let pass: after another one it is left alone for a while.
const MaxCorrections = 5

const (
	contestWindow = 10 * time.Minute
	// The first while, doubled with each correction in vain, and the longest.
	firstPause, longestPause = 30 * time.Second, 10 * time.Minute
)

// correction is what is remembered of an object that somebody else changed and we changed back.
type correction struct {
	last  []time.Time // within the window, at most one more than MaxCorrections
	until time.Time   // it is left alone; zero: it never was
	pause time.Duration
}

// correct counts another correction.
func (c *correction) correct(now time.Time) {
	for len(c.last) > 0 && now.Sub(c.last[0]) > contestWindow || len(c.last) > MaxCorrections {
		c.last = c.last[1:]
	}
	c.last = append(c.last, now)
	switch {
	case c.pause > 0 && now.Sub(c.until) <= contestWindow:
		c.pause = min(2*c.pause, longestPause)
	case len(c.last) > MaxCorrections:
		c.pause = firstPause
	default:
		c.pause = 0
		return
	}
	c.until = now.Add(c.pause)
}

// over reports whether nothing of it need be remembered.
func (c *correction) over(now time.Time) bool {
	return len(c.last) == 0 || now.Sub(c.last[len(c.last)-1]) > contestWindow && now.Sub(c.until) > contestWindow
}

// Corrections are what writes came to. The reconcile that wrote writes them.
type Corrections struct {
	mu        *sync.Mutex
	refused   func(error) (object.Rejection, bool)
	corrected map[api.ClusterName]map[object.Key]*correction
	failing   map[api.ClusterName]map[object.End]object.Reason // ends of which a write failed last, and which; nobody changes it
	immutable map[api.ClusterName]map[object.Key]state.Refusal // objects with fields that a server says cannot be changed
	followed  map[api.Pair]time.Time                           // when a link followed its target's facts last, under what is declared now
	results   *state.Results                                   // made of these; nil: one of them has changed since. Nobody changes it
}

// correct counts what a reconcile wrote. An object that was deleted is no quarrel over its content, and is not counted. c.mu is held.
func (c *Corrections) correct(name api.ClusterName, outcomes []object.Outcome, failed map[object.End]object.Reason, now time.Time) {
	if len(outcomes) > 0 {
		c.results = nil
	}
	c.fail(name, failed)
	for _, o := range outcomes {
		c.fix(name, o)
		if o.Err == nil && plan.Follows(o.Change) {
			c.followed[o.Change.End.Link] = now
		}
		if o.Err != nil || o.Change.Action == object.Create || o.Change.Why.Code != reason.Drift {
			continue
		}
		if c.corrected[name] == nil {
			c.corrected[name] = map[object.Key]*correction{}
		}
		of := c.corrected[name][o.Change.Key]
		if of == nil {
			of = &correction{}
			c.corrected[name][o.Change.Key] = of
		}
		of.correct(now)
	}
}

// fail remembers of which ends a write failed in a reconcile. Snapshots hold the map: it is never changed. c.mu is held.
func (c *Corrections) fail(name api.ClusterName, failed map[object.End]object.Reason) {
	if maps.Equal(failed, c.failing[name]) {
		return
	}
	all := map[api.ClusterName]map[object.End]object.Reason{name: failed}
	for other, ends := range c.failing {
		if other != name {
			all[other] = ends
		}
	}
	c.failing, c.results = all, nil
}

// fix remembers why an object cannot be changed, as the last write of it was refused. c.mu is held.
func (c *Corrections) fix(name api.ClusterName, o object.Outcome) {
	if o.Err == nil {
		delete(c.immutable[name], o.Change.Key)
	}
	if o.Err == nil || c.refused == nil {
		return
	}
	why, refused := c.refused(o.Err)
	if !refused {
		return
	}
	if c.immutable[name] == nil {
		c.immutable[name] = map[object.Key]state.Refusal{}
	}
	c.immutable[name][o.Change.Key] = state.Refusal{Rejection: why, Digest: o.Change.Object.Digest, Was: o.Change.Was}
}

// asResults returns the objects that are left alone, those that cannot be changed, and what else a step is planned from. c.mu is held.
func (c *Corrections) asResults() state.Results {
	if c.results == nil {
		c.results = &state.Results{Contested: c.contested(), Immutable: map[api.ClusterName]map[object.Key]state.Refusal{}, Failing: c.failing, Followed: maps.Clone(c.followed)}
		for name, keys := range c.immutable {
			c.results.Immutable[name] = maps.Clone(keys)
		}
	}
	return *c.results
}

// contested returns the objects that are left alone for a while, as far as they were corrected in vain. c.mu is held.
func (c *Corrections) contested() map[api.ClusterName]map[object.Key]state.Contest {
	out := map[api.ClusterName]map[object.Key]state.Contest{}
	for name, keys := range c.corrected {
		for k, of := range keys {
			if of.pause == 0 {
				continue
			}
			if out[name] == nil {
				out[name] = map[object.Key]state.Contest{}
			}
			out[name][k] = state.Contest{Until: of.until, Times: len(of.last)}
		}
	}
	return out
}

// expire forgets what nobody changed for long. c.mu is held.
func (c *Corrections) expire(now time.Time) {
	c.results = nil
	for name, keys := range c.corrected {
		if maps.DeleteFunc(keys, func(_ object.Key, of *correction) bool { return of.over(now) }); len(keys) == 0 {
			delete(c.corrected, name)
		}
	}
}

// keep forgets what is remembered of other clusters. c.mu is held.
func (c *Corrections) keep(names map[api.ClusterName]bool) {
	c.results = nil
	maps.DeleteFunc(c.corrected, func(n api.ClusterName, _ map[object.Key]*correction) bool { return !names[n] })
	maps.DeleteFunc(c.immutable, func(n api.ClusterName, _ map[object.Key]state.Refusal) bool { return !names[n] })
}

// ResetBackoff has objects of a cluster corrected again at once.
func (c *Corrections) ResetBackoff(name api.ClusterName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.corrected, name)
	c.results = nil
}

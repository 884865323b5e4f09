package sync

import (
	"maps"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/state"
)

const (
	// An object that was corrected more often than often within contestWindow is left alone for a while.
	often         = 5
	contestWindow = 10 * time.Minute
	// The first while, doubled with each correction in vain, and the longest.
	firstPause, longestPause = 30 * time.Second, 10 * time.Minute
)

// correction is what is remembered of an object that somebody else changed and we changed back.
type correction struct {
	last  []time.Time // within the window, at most one more than often
	until time.Time   // it is left alone; zero: it never was
	pause time.Duration
}

// correct counts another correction.
func (c *correction) correct(now time.Time) {
	for len(c.last) > 0 && now.Sub(c.last[0]) > contestWindow || len(c.last) > often {
		c.last = c.last[1:]
	}
	c.last = append(c.last, now)
	switch {
	case c.pause > 0 && now.Sub(c.until) <= contestWindow:
		c.pause = min(2*c.pause, longestPause)
	case len(c.last) > often:
		c.pause = firstPause
	default:
		c.pause = 0
		return
	}
	c.until = now.Add(c.pause)
}

// over says that nothing of it need be remembered.
func (c *correction) over(now time.Time) bool {
	return len(c.last) == 0 || now.Sub(later(c.last[len(c.last)-1], c.until)) > contestWindow
}

// correct counts what a reconcile corrected. An object that was deleted is no quarrel over its content, and is not counted.
func (b *board) correct(name api.ClusterName, outcomes []object.Outcome) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(outcomes) > 0 {
		b.derived.contested = nil
	}
	b.fail(name, outcomes)
	for _, o := range outcomes {
		b.fix(name, o)
		b.follow(o, now)
		if o.Err != nil || o.Change.Action == object.Create || o.Change.Why.Code != reason.Drift {
			continue
		}
		if b.corrected[name] == nil {
			b.corrected[name] = map[object.Key]*correction{}
		}
		c := b.corrected[name][o.Change.Key]
		if c == nil {
			c = &correction{}
			b.corrected[name][o.Change.Key] = c
		}
		c.correct(now)
	}
}

// fail remembers of which ends a write failed in a reconcile. b.mu is held. Worlds hold the map: it is never changed.
func (b *board) fail(name api.ClusterName, outcomes []object.Outcome) {
	now := map[object.End]bool{}
	for _, o := range outcomes {
		if o.Err != nil && !untried(o) {
			now[o.Change.End] = true
		}
	}
	if maps.Equal(now, b.failing[name]) {
		return
	}
	all := map[api.ClusterName]map[object.End]bool{name: now}
	for other, ends := range b.failing {
		if other != name {
			all[other] = ends
		}
	}
	b.failing = all
}

// fix remembers why an object cannot be changed, as the last write of it was refused; b.mu is held.
func (b *board) fix(name api.ClusterName, o object.Outcome) {
	if o.Err == nil {
		delete(b.fixed[name], o.Change.Key)
	}
	if o.Err == nil || b.loop.Refused == nil {
		return
	}
	why, refused := b.loop.Refused(o.Err)
	if !refused {
		return
	}
	if b.fixed[name] == nil {
		b.fixed[name] = map[object.Key]state.Refusal{}
	}
	b.fixed[name][o.Change.Key] = state.Refusal{Refusal: why, Digest: o.Change.Object.Digest, Was: o.Change.Was}
}

// quarrels are the objects that are left alone, as far as they were in vain, and those that cannot be changed; b.mu is held.
func (b *board) quarrels() (map[api.ClusterName]map[object.Key]state.Contest, map[api.ClusterName]map[object.Key]state.Refusal) {
	contested, fixed := map[api.ClusterName]map[object.Key]state.Contest{}, map[api.ClusterName]map[object.Key]state.Refusal{}
	for name, keys := range b.corrected {
		for k, c := range keys {
			if c.pause == 0 {
				continue
			}
			if contested[name] == nil {
				contested[name] = map[object.Key]state.Contest{}
			}
			contested[name][k] = state.Contest{Until: c.until, Times: len(c.last)}
		}
	}
	for name, keys := range b.fixed {
		fixed[name] = maps.Clone(keys)
	}
	return contested, fixed
}

// forgive forgets what nobody changed for long; b.mu is held.
func (b *board) forgive(now time.Time) {
	b.derived.contested = nil
	for name, keys := range b.corrected {
		if maps.DeleteFunc(keys, func(_ object.Key, c *correction) bool { return c.over(now) }); len(keys) == 0 {
			delete(b.corrected, name)
		}
	}
}

package overlay

import (
	"maps"
	"sync"
	"time"
)

// setbacks remembers what this machine failed to build a moment ago. It is safe for concurrent use.
type setbacks struct {
	mu    sync.Mutex
	known map[string]setback // by the hash of a Component
}

type setback struct {
	err   error
	until time.Time
}

// find returns the error of a build that is not yet to be tried again.
func (s *setbacks) find(hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.known[hash]; ok && time.Now().Before(b.until) {
		return b.err
	}
	return nil
}

// note has a build that failed wait three times as long as it took, and a second at least: so trying takes at most a
// quarter of the time, and what fails at once is soon tried again.
func (s *setbacks) note(hash string, err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.known, func(_ string, b setback) bool { return !now.Before(b.until) })
	if s.known == nil {
		s.known = map[string]setback{}
	}
	s.known[hash] = setback{err, now.Add(max(3*took, time.Second))}
}

package overlay

import (
	"maps"
	"sync"
	"time"
)

// backoff keeps the errors of builds that recently failed because of this machine. It is safe for concurrent use.
type backoff struct {
	mu      sync.Mutex
	entries map[string]backoffEntry // by the hash of a Component
}

type backoffEntry struct {
	err   error
	until time.Time
}

// get returns the error of a build that must not be tried again yet.
func (s *backoff) get(hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.entries[hash]; ok && time.Now().Before(b.until) {
		return b.err
	}
	return nil
}

// add delays the next attempt by three times the duration of the failed one, and at least a second: so attempts take at most a
// quarter of the time, and a build that fails at once is soon tried again.
func (s *backoff) add(hash string, err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.entries, func(_ string, b backoffEntry) bool { return !now.Before(b.until) })
	if s.entries == nil {
		s.entries = map[string]backoffEntry{}
	}
	s.entries[hash] = backoffEntry{err, now.Add(max(3*took, time.Second))}
}

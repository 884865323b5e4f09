package web

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// Wrong proofs in a second, and at once: of one address, and of all that have shown no right one.
	clientRate, clientBurst = 1, 20
	allClientsRate          = 10
	maxClients              = 1024 // addresses that are remembered
)

// clientLimits counts wrong proofs by where they come from. It refuses nobody before his proof was read: behind a proxy all have one address.
type clientLimits struct {
	mu  sync.Mutex
	by  map[string]*rate.Limiter // mu
	all *rate.Limiter
}

func newClientLimits() *clientLimits {
	return &clientLimits{by: map[string]*rate.Limiter{}, all: rate.NewLimiter(allClientsRate, clientBurst)}
}

// spend counts a wrong proof, and says that it is one too many.
func (s *clientLimits) spend(from string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.by[from]
	if one == nil {
		if len(s.by) >= maxClients {
			clear(s.by) // the bucket of all stays
		}
		one = rate.NewLimiter(clientRate, clientBurst)
		s.by[from] = one
	}
	mine, all := one.Allow(), s.all.Allow()
	return !mine || !all
}

// untrusted reports whether an address has sent too many wrong proofs.
func (s *clientLimits) untrusted(from string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.by[from]
	return one != nil && one.Tokens() < 1
}

// address is who sent a request, or the proxy in front of him.
func address(q *http.Request) string {
	host, _, err := net.SplitHostPort(q.RemoteAddr)
	if err != nil {
		return q.RemoteAddr
	}
	return host
}

// bodies are those that are read at once. Where there are too many, one that is there gives way to the next: what a true
// sender sends is there at once, and who sends slowly, or holds many, is in the way.
type bodies struct {
	mu   sync.Mutex
	read []*body // oldest first; mu
}

type body struct {
	suspect bool
	stop    func() // makes reading it fail
}

// enter makes room, at the cost of the oldest suspect, or of the oldest.
func (b *bodies) enter(next *body) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.read) >= hookBodies {
		victim := b.read[0]
		for _, other := range b.read {
			if other.suspect {
				victim = other
				break
			}
		}
		b.remove(victim)
		victim.stop()
	}
	b.read = append(b.read, next)
}

func (b *bodies) leave(left *body) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(left)
}

func (b *bodies) remove(left *body) {
	for i, other := range b.read {
		if other == left {
			b.read = append(b.read[:i], b.read[i+1:]...)
			return
		}
	}
}

// receive takes a place among those that are read, and bounds how long; the function that it gives leaves it.
func (b *bodies) receive(w http.ResponseWriter, suspect bool, patience time.Duration) func() {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(patience)) // where it cannot be set, the server's own counts
	mine := &body{suspect: suspect, stop: func() { _ = c.SetReadDeadline(time.Unix(1, 0)) }}
	b.enter(mine)
	return func() { b.leave(mine) }
}

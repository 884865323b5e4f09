// Package web serves the last report as JSON, health and metrics, and receives webhooks when Git has something new.
package web

import (
	"context"
	"net/http"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/sync/report"
)

// Options say how a Server judges itself.
type Options struct {
	// MaxAge is how old the last sync may be, while leading, before /healthz fails; zero: any age.
	MaxAge time.Duration
	// Standby has the server begin as a standby, until Lead. Without it, the server leads from the beginning.
	Standby bool
	// Version is what linkwright_build_info tells.
	Version string
	// Requests gives what was sent to clusters so far; nil: nothing is counted.
	Requests func() map[Sent]int
}

// Server shows what is published to it.
type Server struct {
	maxAge  time.Duration
	metrics *metrics

	mu      gosync.Mutex
	standby bool
	fresh   time.Time            // the last sync, or when leading began
	ready   bool                 // a sync was published
	answer  func() report.Answer // of the last report; nil: there is none
}

// New returns a server that has no report yet.
func New(o Options) *Server {
	s := &Server{maxAge: o.MaxAge, metrics: newMetrics(o), fresh: time.Now()}
	s.setStandby(o.Standby)
	return s
}

// Publish shows a report in place of the last one, and counts what its sync did: each report once. A sync that is under way is shown, and counted
// when it ends; metrics stay as they are until it has looked at every cluster.
//
// The answer is made once somebody asks for it: that of many links is large, and during a sync there is a report each second. Only the report
// at the end of a sync that wrote is turned into its answer at once, because it would keep the bodies of all writes until the next sync.
func (s *Server) Publish(r report.Report) {
	now := time.Now()
	answer := gosync.OnceValue(r.Answer)
	if r.When == report.AtEnd && r.HasWrites() {
		_ = answer()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.When != report.Syncing { // what was done is in the next report, too
		s.metrics.count(r, now)
	}
	if !s.standby && !r.Partial() {
		s.metrics.show(r)
	}
	if r.When == report.AtEnd {
		s.fresh = now
	}
	s.ready, s.answer = s.ready || r.When != report.Syncing, answer
}

// Lead has the server lead until leading ends, or until end is called. What was begun takes a while to end after leading, and a hook that is accepted
// meanwhile would not reach the next leader.
func (s *Server) Lead(leading context.Context) (end func()) {
	s.setStandby(false)
	stop := context.AfterFunc(leading, func() { s.setStandby(true) })
	return func() {
		stop()
		s.setStandby(true)
	}
}

// setStandby says whether this replica stands by: another one holds the lease, or it is not known yet who does. A standby is ready and healthy
// without any sync, and tells nothing of links and clusters: its leader does.
func (s *Server) setStandby(standby bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standby != standby {
		s.fresh = time.Now()
	}
	s.standby = standby
	s.metrics.lead(!standby)
}

// Handler answers GET of /healthz, /readyz, /metrics, /report.json and /.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /report.json", s.report)
	mux.HandleFunc("GET /{$}", s.report)
	return mux
}

// healthz fails when syncs stopped while leading: then a restart may help.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	age := time.Since(s.fresh)
	stuck := !s.standby && s.maxAge > 0 && age > s.maxAge
	s.mu.Unlock()
	if stuck {
		http.Error(w, "no sync has ended for "+age.Round(time.Second).String(), http.StatusServiceUnavailable)
		return
	}
	respondText(w, "ok")
}

func (s *Server) isStandby() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standby
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	ready, standby := s.ready, s.standby
	s.mu.Unlock()
	switch {
	case standby:
		respondText(w, "on standby: this replica does not hold the lease")
	case ready:
		respondText(w, "ok")
	default:
		http.Error(w, "the first sync has not ended yet", http.StatusServiceUnavailable)
	}
}

// report writes the last report piece by piece, so that its text is never in memory as a whole.
func (s *Server) report(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	if answer == nil {
		http.Error(w, "There is no report yet: this replica has not led.", http.StatusNotFound)
		return
	}
	head(w, "application/json")
	_ = answer().Write(w, report.JSON) // the client went away: nobody is left to tell
}

func respondText(w http.ResponseWriter, sentence string) {
	head(w, "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(sentence + "\n")) // as above
}

func head(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

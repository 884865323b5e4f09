package sync

import (
	"errors"
	"time"

	"github.com/linkwright/linkwright/sync/report"
)

// progressInterval is how much time passes between two calls of Loop.Progress.
const progressInterval = 500 * time.Millisecond

// progress shows how a single sync goes on while it is under way: to Loop.Progress, and in the log if the sync writes.
type progress struct {
	*engine
	journal journal
	logged  int // the version of the results that was logged
}

// start shows it until the returned function is called. Without Loop.Progress, only the end of a sync is logged.
func (p *progress) start() (stop func()) {
	if p.loop.Progress == nil {
		return func() {}
	}
	p.logged = -1
	return regularly(progressInterval, p.show)
}

func (p *progress) show() {
	r, version := p.store.SoFar(-1)
	if p.journal.log != nil && !p.loop.ReadOnly && version != p.logged {
		p.journal.record(r, nil)
		p.logged = version
	}
	p.busy(&r)
	p.loop.Progress(r)
}

// end shows the report of a sync. That somebody stopped it is no failure to log: the report says it.
func (p *progress) end(r report.Report, err error) {
	if !p.loop.ReadOnly {
		failed := err
		if errors.Is(err, ErrInterrupted) {
			failed = nil
		}
		p.journal.record(r, failed)
	}
	if p.loop.Progress != nil {
		p.loop.Progress(r)
	}
}

// busy adds to a report what goes on in each cluster, and until when the round waits.
func (s *scheduler) busy(r *report.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.round.open {
		r.Until = s.round.deadline
	}
	for i, c := range r.Clusters {
		is := report.Activity{Read: s.store.Clusters.Has(c.Name)}
		if w := s.worker(c.Name); w != nil && w.run != nil {
			is.Asked = w.run.lastAnswer()
		}
		r.Clusters[i].Activity = is
	}
}

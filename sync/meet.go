package sync

import (
	"context"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
)

// meet reads every cluster that this term has not read yet, all at once: whether two names mean one
// cluster must be known before the first write. One that does not answer while others do counts as not read, until it answers.
func (t *term) meet(ctx context.Context) {
	tried := map[api.ClusterName]bool{}
	for {
		unmet := t.unmet(ctx, tried)
		if len(unmet) == 0 {
			return
		}
		select {
		case u := <-t.ended:
			if t.end(u); u.pass != t.number && !u.known { // it began in an earlier pass: it is tried once more
				t.board.drop(u.cluster.Name)
			}
		case <-t.patience(unmet):
			for _, l := range unmet {
				t.board.put(l.cluster.Name, pair.Side{Err: silent(l)}, t.board.now())
			}
			return
		}
	}
}

// unmet are the lanes whose clusters are being read while nothing is known of them.
func (t *term) unmet(ctx context.Context, tried map[api.ClusterName]bool) (out []*lane) {
	for name, l := range t.lanes {
		if l.gone || t.board.has(name) || !l.running && tried[name] {
			continue
		}
		if !l.running {
			tried[name] = true
			t.launch(ctx, l, (*turn).meet)
		}
		out = append(out, l)
	}
	return out
}

// patience ends when none of the lanes is waited for any more.
func (t *term) patience(lanes []*lane) <-chan time.Time {
	var last time.Time
	for _, l := range lanes {
		at := t.straggling(l)
		if at.IsZero() {
			return nil
		}
		last = later(last, at)
	}
	return time.After(time.Until(last))
}

// silent says that a cluster does not answer.
func silent(l *lane) *object.Reason {
	return object.Because("Timeout", "no answer for %s; the other clusters did not wait: it has its turn when it answers",
		time.Since(l.heard()).Round(100*time.Millisecond))
}

package sync

import (
	"context"
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
)

// meet reads every cluster that this term has not read yet, all at once: whether two names mean one
// cluster must be known before the first write. One that does not answer while others do counts as not read, until it answers.
func (t *term) meet(ctx context.Context) {
	tried := map[*lane]bool{}
	unmet := t.unmet(ctx, t.order, tried)
	for len(unmet) > 0 {
		select {
		case u := <-t.ended:
			if t.end(u); u.pass != t.number && !u.known { // it began in an earlier pass: it is tried once more
				t.board.drop(u.cluster.Name)
			}
			if unmet = without(unmet, u.lane); len(t.unmet(ctx, []*lane{u.lane}, tried)) > 0 {
				unmet = append(unmet, u.lane)
			}
		case <-t.patience(unmet):
			for _, l := range unmet {
				t.board.put(l.cluster.Name, pair.Side{Err: silent(l)}, t.board.now())
			}
			return
		}
	}
}

// without is a list without a lane; their order does not matter.
func without(lanes []*lane, l *lane) []*lane {
	if at := slices.Index(lanes, l); at >= 0 {
		lanes[at] = lanes[len(lanes)-1]
		return lanes[:len(lanes)-1]
	}
	return lanes
}

// unmet are those of the lanes whose clusters are being read while nothing is known of them.
func (t *term) unmet(ctx context.Context, of []*lane, tried map[*lane]bool) (out []*lane) {
	for _, l := range of {
		if l.gone || t.board.has(l.cluster.Name) || !l.running && tried[l] {
			continue
		}
		if !l.running {
			tried[l] = true
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

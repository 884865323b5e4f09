package sync

import (
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
)

// followed is when a link followed its target's facts last, and what was declared then.
type followed struct {
	at     time.Time
	commit api.Commit
}

// follow remembers a write that was for nothing but a target's facts; b.mu is held.
func (b *board) follow(o object.Outcome, now time.Time) {
	if o.Err == nil && plan.Follows(o.Change) {
		b.derived.followed = nil
		b.followed[o.Change.End.Link] = followed{at: now, commit: declaredIn(b.fleet)}
	}
}

// lately are the links that followed under what is declared now; b.mu is held.
func (b *board) lately() map[api.Pair]time.Time {
	out := map[api.Pair]time.Time{}
	for link, f := range b.followed {
		if f.commit == declaredIn(b.fleet) {
			out[link] = f.at
		}
	}
	return out
}

func declaredIn(f *fleet.Fleet) api.Commit {
	if f == nil {
		return ""
	}
	return f.Commit
}

package plan

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// A link that followed its target's facts follows again after calmly, and up to spread later, each link at a time of its
// own: a gateway that moves on and on has its links' controllers start over no more often.
const followInterval, followJitter = 30 * time.Second, 3 * time.Second

// Follows reports whether a change is an update of a Linkerd Link for nothing but what its target tells of itself.
func Follows(c object.Change) bool {
	return c.Action == object.Update && c.Why.Code == reason.FactsChanged
}

func follows(o object.Object, observed object.Observation) bool {
	if o.Key.Kind != "Link" {
		return false
	}
	live, ok := observed.Body(o.Key)
	return ok && linkerd.Follows(live, o.Body)
}

// limitFollowing leaves out what follows the target's facts again too soon, with the probe that follows beside, and says why and until when; nil:
// nothing. What is declared, or somebody else changed, or a credential asks for, is never left out.
func limitFollowing(w state.Snapshot, end object.End, changes []object.Change) ([]object.Change, *object.Reason, time.Time) {
	last, ok := w.Followed[end.Link]
	until := last.Add(followInterval + jitter(end.Link))
	if !ok || !end.IsSource() || !w.Now.Before(until) || !slices.ContainsFunc(changes, Follows) {
		return changes, nil, time.Time{}
	}
	left := slices.DeleteFunc(changes, func(c object.Change) bool {
		return Follows(c) || c.Key.Kind == "Service" && c.Action == object.Update && c.Why.Code == reason.Changed
	})
	return left, object.Because(reason.RateLimited, "facts of cluster %s changed again: the link followed at %s, and follows again at %s UTC",
		end.Link.Target, last.UTC().Format(time.TimeOnly), until.UTC().Format(time.TimeOnly)), until
}

// jitter returns the link's own part of spread: always the same.
func jitter(link api.Pair) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(link.String())) // it never fails
	return time.Duration(h.Sum32()) % followJitter
}

// limitContested leaves the writes of contested objects out, whatever they are for: who overwrites an object whole changes its
// digest, too. An object that is missing is created at once, however often somebody deleted it. It says what was left out, or nil, and
// when the first of it is corrected again.
func limitContested(s state.Snapshot, changes []object.Change) (left []object.Change, why *object.Reason, until time.Time) {
	left = slices.DeleteFunc(changes, func(w object.Change) bool {
		contest, ok := s.Contested[w.End.Cluster][w.Key]
		if !ok || w.Action == object.Create || !s.Now.Before(contest.Until) {
			return false
		}
		if why == nil {
			why = object.Because(reason.Contested, "linkwright corrected %s %d times, and %s changed it each time, so linkwright waits until %s: stop the other writer, or leave it the field (spec.ignore of the SyncPolicy)",
				w.Key, contest.Times, w.Was.Writers(), contest.Until.UTC().Format(time.RFC3339))
		}
		until = earliest(until, contest.Until)
		return true
	})
	return left, why, until
}

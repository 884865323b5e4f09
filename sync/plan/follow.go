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

// A Link that followed its target's facts follows again after followInterval and up to followJitter, each link at its own time, so that the
// controllers of a gateway's links do not restart all the time.
const followInterval, followJitter = 30 * time.Second, 3 * time.Second

// Follows reports whether a change updates a Linkerd Link only because its target's facts changed.
func Follows(c object.Change) bool {
	return c.Action == object.Update && c.Why.Code == reason.FactsChanged
}

func follows(o object.Object, observed object.Observation) bool {
	if o.Key.Kind != "Link" {
		return false
	}
	live, ok := observed.Body(o.Key)
	return ok && linkerd.DiffersOnlyInFacts(live, o.Body)
}

// limitFollowing leaves out changes that follow the target's facts again too soon, with the probe that follows too, and returns why and until when;
// nil: nothing. It never leaves out what is declared, what somebody else changed, or what a credential needs.
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

// jitter is the link's own part of followJitter: always the same.
func jitter(link api.Pair) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(link.String())) // it never fails
	return time.Duration(h.Sum32()) % followJitter
}

// limitContested leaves out writes of contested objects. A missing object is created at once, however often somebody deleted it. It returns why
// something was left out, or nil, and when the first object is corrected again.
func limitContested(s state.Snapshot, changes []object.Change) (left []object.Change, why *object.Reason, until time.Time) {
	left = slices.DeleteFunc(changes, func(w object.Change) bool {
		contest, ok := s.Contested[w.End.Cluster][w.Key]
		if !ok || w.Action == object.Create || !s.Now.Before(contest.Until) {
			return false
		}
		if why == nil {
			why = object.Because(reason.Contested, "%s changes %s as often as linkwright corrects it: stop that writer, or leave it the field (spec.ignore of the SyncPolicy); linkwright corrected it %d times, and tries again at %s",
				w.Was.Writers(), w.Key, contest.Times, contest.Until.UTC().Format(time.RFC3339))
		}
		until = earliest(until, contest.Until)
		return true
	})
	return left, why, until
}

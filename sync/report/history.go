package report

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// History is what reports have said so far. The zero one is of none.
type History struct {
	states   map[subject]subjectState
	problems []string
	trouble  string // with the head that it is about
	applied  api.Commit
}

// Next gives the events that lead from what was reported before to a report, and the history with it. Writes are none of them: see
// Written. Trouble is why the sync failed, or the head was not applied, without what is of the moment only; empty: neither. Of a
// sync that is under way only states count: what becomes of the head is known at its end.
func (h History) Next(r Report, trouble string) (History, []Event) {
	next, out := h, []Event(nil)
	if r.When != Syncing {
		next.problems, out = h.declarations(r)
	}
	if r.Clusters != nil {
		var moved []transition
		next.states, moved = transitions(h.states, r)
		for _, t := range moved {
			out = append(out, t.event())
		}
	}
	if r.When == Syncing {
		return next, out
	}
	if next.trouble = trouble; trouble != "" {
		next.trouble = string(r.Head) + " " + trouble
	}
	if next.trouble != h.trouble {
		out = append(out, h.head(r, trouble))
	}
	if r.Commit != "" && r.Clusters != nil {
		if next.applied = r.Commit; h.applied != "" && h.applied != r.Commit {
			e := Event{Level: Info, Message: RevisionApplied}
			e.add("commit", string(r.Commit))
			e.add("was", string(h.applied))
			out = append(out, e)
		}
	}
	if r.When == AtEnd && r.Clusters != nil {
		out = append(out, r.done(len(out) > 0))
	}
	return next, out
}

// declarations are the problems of a report, with events of those that are new. They are the head's.
func (h History) declarations(r Report) (all []string, out []Event) {
	for _, p := range r.Problems {
		line := redacting(nil).line(Line(p))
		if all = append(all, line); slices.Contains(h.problems, line) {
			continue
		}
		e := Event{Level: Warn, Message: HasProblem}
		e.add("commit", string(r.Head))
		e.add("problem", line)
		out = append(out, e)
	}
	return all, out
}

// head is the event of another trouble, or of none any more.
func (h History) head(r Report, trouble string) Event {
	m := redacting(bodiesOf(r))
	e := Event{Level: Error, Message: RevisionNotApplied}
	switch {
	case trouble == "":
		e = Event{Level: Info, Message: SyncRecovered}
		e.add("commit", string(r.Commit))
		e.add("was", m.line(h.trouble))
		return e
	case r.Head == "" || r.Head == r.Commit || r.Polled.IsZero():
		e.Message = SyncFailed
		e.add("commit", string(r.Commit))
	default:
		e.add("commit", string(r.Head))
		e.add("applied", string(r.Commit))
	}
	e.add("error", m.line(trouble))
	return e
}

// done is the event of a sync that ended: quiet, if nothing was written and nothing changed; a warning, if clusters could not be read. It is none if
// the sync ended before it came to them.
func (r Report) done(changed bool) Event {
	c, e := r.Counts(), Event{Level: Info, Message: SyncDone}
	switch {
	case c.Written+c.Failed == 0 && !changed:
		e.Level = Debug
	case slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.Status() == Unknown && c.known() }):
		e.Level = Warn
	}
	e.add("commit", string(r.Commit))
	e.add("seconds", r.Took.Seconds())
	for _, n := range []Attr{
		{"written", c.Written},
		{"failed", c.Failed},
		{"links", len(Links(r))},
		{"blocked", c.Blocked},
		{"denied", c.Denied},
		{"clustersUnread", c.ClustersUnknown},
		{"clustersDenied", c.ClustersDenied},
	} {
		e.add(n.Key, n.Value)
	}
	e.add("unread", namesOfUnread(r.Clusters))
	return e
}

// namesOfUnread are the clusters that were not read.
func namesOfUnread(clusters []Cluster) string {
	var names []string
	for _, c := range clusters {
		if c.Status() == Unknown {
			names = append(names, string(c.Name))
		}
	}
	return strings.Join(names, ", ")
}

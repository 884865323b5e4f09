package sync

import (
	"log/slog"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// journal logs passes. What holds an end or a cluster up, and what is wrong with the declarations, is told
// when it begins and when it is over, not with every pass.
type journal struct {
	log   *slog.Logger
	open  map[entry]bool
	taken map[takeover]bool
	// trouble is what was told of the head, or of a pass that failed.
	trouble string
}

// takeover is whose values of which object were taken back.
type takeover struct {
	cluster  api.ClusterName
	object   object.Key
	managers string
}

// strays is what is told of objects that carry our label and are left alone.
const strays = "strays"

const maxTaken = 4096 // takeovers that are remembered

// entry is one thing that was told; its message may change while it lasts.
type entry struct{ cluster, link, code string }

func (j *journal) tell(r report.Report, err error) {
	now := map[entry]bool{}
	for _, p := range r.Problems {
		e := entry{code: report.Line(p)}
		if now[e] = true; !j.open[e] {
			j.log.Warn("declarations", "commit", string(r.Commit), "problem", e.code)
		}
	}
	for _, c := range r.Clusters {
		j.cluster(now, c)
	}
	for e := range j.open {
		if !now[e] && e.cluster != "" {
			j.log.Info("over", "cluster", e.cluster, "link", e.link, "code", e.code)
		}
	}
	j.head(r, err)
	j.open = now
	if r.Clusters == nil {
		return
	}
	c := r.Counts()
	if r.Between {
		j.log.Info("done between passes", "commit", string(r.Commit), "written", c.Written, "failed", c.Failed)
		return
	}
	j.log.Info("pass done", "commit", string(r.Commit), "took", r.Took, "written", c.Written, "failed", c.Failed,
		"inPlace", c.InPlace, "changing", c.Changing, "suspended", c.Suspended, "waiting", c.Waiting, "held", c.Held, "refused", c.Refused,
		"clustersRefused", c.ClustersRefused)
}

// head tells what is wrong with the head, or with the pass, and what is in force meanwhile; and that it is over.
func (j *journal) head(r report.Report, err error) {
	was := j.trouble
	if j.trouble = ""; err != nil {
		j.trouble = string(r.Head) + " " + cause(err)
	}
	switch {
	case j.trouble == was:
	case err == nil:
		j.log.Info("over", "commit", string(r.Commit), "was", was)
	case r.Clusters == nil, !r.Polled.IsZero() && r.Head == r.Commit:
		j.log.Error("pass failed", "commit", string(r.Commit), "head", string(r.Head), "error", err)
	default:
		j.log.Error("head not in force", "commit", string(r.Commit), "since", r.Since, "head", string(r.Head), "error", err)
	}
}

func (j *journal) cluster(now map[entry]bool, c report.Cluster) {
	for _, o := range c.Outcomes {
		if o.Err != nil {
			j.log.Warn("write failed", "cluster", string(c.Name), "link", o.Change.End.Link.String(), "object", o.Change.Key.String(), "error", o.Err)
		}
	}
	for _, o := range c.Outcomes {
		if o.Err == nil && o.Change.Why.Code == "Drift" && !o.Change.Was.IsZero() {
			j.take(takeover{c.Name, o.Change.Key, o.Change.Was.Rivals.Value()})
		}
	}
	for _, d := range c.Debts {
		j.once(now, entry{cluster: string(c.Name), link: d.Link.String()}, "owed", object.Because("Owed", "it goes once the cluster can be read: %s", d.Left))
	}
	if why := c.Step.Refused; why != nil {
		j.once(now, entry{cluster: string(c.Name)}, "cluster refused", why)
		return
	}
	if n := len(c.Step.Strays); n > 0 {
		j.once(now, entry{cluster: string(c.Name)}, strays, object.Because("Stray", "%d objects, the first is %s: %s", n+c.Step.MoreStrays, c.Step.Strays[0].Key, c.Step.Strays[0].Why))
	}
	for _, row := range c.Step.Rows {
		if row.Why == nil || row.Standing == plan.InPlace || row.Standing == plan.Changing || row.Quiet() {
			continue
		}
		e := entry{cluster: string(c.Name)}
		if !row.End.IsBase() {
			e.link = row.End.Link.String()
		}
		j.once(now, e, "end "+string(row.Standing), row.Why)
	}
}

// take tells the first time that values of somebody's are taken back.
func (j *journal) take(t takeover) {
	say := j.log.Info
	if j.taken[t] {
		say = j.log.Debug
	}
	say("taken back", "cluster", string(t.cluster), "object", t.object.String(), "from", t.managers)
	if j.taken == nil || len(j.taken) >= maxTaken {
		j.taken = map[takeover]bool{}
	}
	j.taken[t] = true
}

// once tells what is as people declared it without a warning.
func (j *journal) once(now map[entry]bool, e entry, what string, why *object.Reason) {
	e.code = why.Code
	if now[e] = true; j.open[e] {
		return
	}
	if what == strays {
		j.log.Info("not ours", "cluster", e.cluster, "code", why.Code, "reason", why.Message)
		return
	}
	said := []any{"cluster", e.cluster, "link", e.link, "standing", what, "code", why.Code, "reason", why.Message}
	if what == "end "+string(plan.Suspended) || what == "end "+string(plan.Removed) {
		j.log.Info("as declared", said...)
		return
	}
	j.log.Warn("not in place", said...)
}

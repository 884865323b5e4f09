package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// rolloutOf returns how far a cluster's rollout is; nil: none is declared, or nobody has looked.
func rolloutOf(m mask, r *plan.Rollout) *output.Rollout {
	if r == nil || r.Declared == nil {
		return nil
	}
	p := r.Progress
	if r.Untouched && r.Hold != nil { // nothing keeps that in the cluster
		p.Why = r.Hold
	}
	return progressOf(m, p)
}

func progressOf(m mask, p rollout.Progress) *output.Rollout {
	if p.At.IsZero() && p.Why == nil {
		return nil
	}
	return &output.Rollout{
		Workloads: p.Total, Current: p.Current, Restarting: p.Restarting, Outdated: p.Outdated, Failing: p.Failing, Unknown: p.Unknown,
		Reason: m.reason(p.Why), Since: p.At,
	}
}

// RolloutLine says how far a rollout is, in a line.
func RolloutLine(p rollout.Progress) string {
	if r := progressOf(redacting(nil), p); r != nil {
		return rolloutLine(*r)
	}
	return "no workload was compared yet"
}

// rolloutLine says how far a rollout is, in a line.
func rolloutLine(r output.Rollout) string {
	switch {
	case r.Workloads == 0 && r.Reason == nil:
		return "no meshed workload lets linkwright restart it"
	case r.Workloads == 0:
		return sentence(r.Reason)
	}
	parts := []string{fmt.Sprintf("%d of %s run the current proxy", r.Current, object.Count(r.Workloads, "workload"))}
	for _, n := range []struct {
		count int
		what  string
	}{{r.Restarting, "restarting"}, {r.Outdated, "outdated"}, {r.Failing, "failing"}, {r.Unknown, "unknown"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	line := strings.Join(parts, ", ")
	if r.Reason != nil {
		line += ": " + sentence(r.Reason)
	}
	return line
}

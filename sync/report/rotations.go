package report

import (
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Rotation is the request for another token of a link, and what became of it.
type Rotation struct {
	plan.Rotation
	Skipped bool  // after a signal
	Err     error // of the write
}

func (r Rotation) state() string {
	switch {
	case r.Skipped:
		return "Skipped"
	case r.Denied != nil:
		return "Denied"
	case r.Err != nil:
		return "Failed"
	case r.Requested:
		return "AlreadyRequested"
	}
	return "Requested"
}

// RotationsAnswer is what became of requests, or in a dry run of that mode would become of them; an empty mode: they were written.
func RotationsAnswer(dryRun string, all []Rotation, text string) Answer {
	m := redacting(nil)
	items := make([]output.Rotation, len(all))
	for i, r := range all {
		items[i] = output.Rotation{
			Source: string(r.Link.Source), Target: string(r.Link.Target), State: r.state(),
			Reason: m.reason(r.Denied), WaitsFor: m.reason(r.WaitsFor), Note: m.reason(r.Note),
		}
		if r.Err != nil {
			items[i].Error = m.line(r.Err.Error())
		}
	}
	return Plain(output.RotationList{TypeMeta: output.Of(output.KindRotationList), DryRun: dryRun, Items: items}, text)
}

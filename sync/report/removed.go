package report

import (
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// RemovedLink is a link that was removed within a week, as the record has it.
type RemovedLink struct {
	Pair     api.Pair
	Revision api.Commit // that was applied then; empty: it is not known
	At       time.Time
}

// Pairs are the links that inventories record.
func (o Overview) Pairs() []api.Pair {
	out := make([]api.Pair, len(o.Links))
	for i, l := range o.Links {
		out[i] = l.Pair
	}
	return out
}

// removedEvents say when the last object of removed links went.
func removedEvents(all []RemovedLink) []output.Event {
	m, out := redacting(nil), make([]output.Event, 0, len(all))
	for _, l := range all {
		message := "it is not declared, and nothing of it is left"
		if l.Revision != "" {
			message = m.line("revision "+l.Revision.Short()+" does not declare it") + ", and nothing of it is left"
		}
		out = append(out, output.Event{
			TypeMeta: output.Of(output.KindEvent), Type: output.Normal, Reason: string(reason.Removed),
			Object:    output.Link{Source: m.line(string(l.Pair.Source)), Target: m.line(string(l.Pair.Target))}.Ref(),
			Condition: object.Removed, Status: object.True, Message: message, LastTransition: l.At,
		})
	}
	return out
}

package sync

import (
	"log/slog"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/report"
)

// journal logs what reports tell that those before did not.
type journal struct {
	log     *slog.Logger
	history report.History
}

func (j *journal) tell(r report.Report, err error) {
	next, events := j.history.Next(r, cause(err))
	j.history = next
	logged(j.log, events)
}

// wrote logs the writes to a cluster. What was not tried is none.
func (l *Loop) wrote(cluster api.ClusterName, commit api.Commit, outcomes []object.Outcome) {
	if slices.ContainsFunc(outcomes, apply.NotBegun) {
		outcomes = slices.DeleteFunc(slices.Clone(outcomes), apply.NotBegun)
	}
	logged(l.Log, report.Written(cluster, commit, l.advised(outcomes)))
}

// logged logs events; without a log nobody hears of them.
func logged(log *slog.Logger, events []report.Event) {
	if log == nil {
		return
	}
	for _, e := range events {
		say := map[report.Level]func(string, ...any){report.Debug: log.Debug, report.Info: log.Info, report.Warn: log.Warn, report.Error: log.Error}[e.Level]
		attrs := make([]any, 0, len(e.Attrs))
		for _, a := range e.Attrs {
			attrs = append(attrs, slog.Any(a.Key, a.Value))
		}
		say(e.Message, attrs...)
	}
}

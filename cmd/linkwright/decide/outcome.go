package decide

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
)

// outcome is what became of decisions.
type outcome struct {
	changes   []changed
	unchanged string   // what was as asked for already
	followed  bool     // a process follows what was recorded
	unheld    bool     // and none runs
	details   []string // lines about what was recorded, also in a dry run
	after     []string // lines for people, once the record is written
	note      string   // why what was recorded has no effect yet
}

type changed struct {
	how report.DecisionChange
	of  inventory.Decision
}

func (o *outcome) add(how report.DecisionChange, all ...inventory.Decision) {
	for _, d := range all {
		o.changes = append(o.changes, changed{how, d})
	}
}

// answer is what was done, or in a dry run what would be done.
func (o outcome) answer(w cli.Writing) report.Answer {
	var all []report.Decision
	for _, c := range o.changes {
		d := reported(c.of)
		if d.Change = c.how; c.how == report.Recorded {
			d.Note = o.note
			if o.unheld {
				d.Note = cmp.Or(o.note, notHeld)
			}
		}
		all = append(all, d)
	}
	return report.DecisionsAnswer(w.DryMode(), all, o.text(w))
}

func (o outcome) text(w cli.Writing) string {
	var lines []string
	for _, c := range o.changes {
		switch c.how {
		case report.Recorded:
			lines = append(lines, w.Would("recorded: "+c.of.String()))
		case report.Replaced:
			lines = append(lines, "replaces: "+c.of.String())
		case report.Withdrawn:
			lines = append(lines, w.Would("taken back: "+c.of.String()))
		}
	}
	if o.unchanged != "" {
		lines = append(lines, o.unchanged)
	}
	lines = append(lines, o.details...)
	if !w.Dry() {
		if o.followed {
			lines = append(lines, o.follows())
		}
		lines = append(lines, o.after...)
	}
	if o.note != "" {
		lines = append(lines, fmt.Sprintf("Note: %s.", o.note))
	}
	return strings.Join(lines, "\n") + "\n"
}

// follows says which process follows what was recorded, and when.
func (o outcome) follows() string { return follows(o.unheld) }

// Follows says which process of an installation follows what was recorded, and when.
func Follows(ctx context.Context, management object.Cluster, at object.Installation) string {
	return follows(!held(ctx, management, at))
}

func follows(unheld bool) string {
	if unheld {
		return notHeld + "."
	}
	return "A running daemon follows it within seconds, or at its next sync if it may not watch the record. linkwright sync follows it, too."
}

package decide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// outcome is what became of decisions.
type outcome struct {
	changes   []changed
	unchanged string // what was as asked for already
	followed  bool   // a process is to follow what was recorded or taken back
	following Following
	stays     []state.Pending // in an abandoned cluster
	details   []string        // lines about what was recorded, also in a dry run
	after     []string        // lines for people, once the record is written
	result    string          // how to see what comes of it, if a process follows it
	note      string          // why what was recorded has no effect yet
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
		if d.Change = c.how; c.how != report.Replaced {
			d.Note = cmp.Or(o.note, o.following.Note())
		}
		if c.how == report.Recorded {
			d.Stays = o.stays
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
		if o.following != "" {
			lines = append(lines, string(o.following))
		}
		lines = append(lines, o.after...)
		if o.result != "" && o.following != ByNobody {
			lines = append(lines, o.result)
		}
	}
	if o.note != "" {
		lines = append(lines, fmt.Sprintf("Note: %s.", o.note))
	}
	return strings.Join(lines, "\n") + "\n"
}

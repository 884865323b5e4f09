package report

import (
	"strings"
	"time"

	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

// Kinds of decisions that reports treat apart, as the record names them.
const (
	abandonKind  = "AbandonCluster"      // gives a cluster up for good
	allowKind    = "AllowNonFastForward" // allows a revision that is no fast-forward
	resumeKind   = "Resume"              // shows that a suspension ended
	withdrawKind = "WithdrawApproval"    // shows that an approval was taken back
)

// Decision is what a person decided and what is in effect; nil fields are none. Unread: this release does not understand it, and
// nothing follows from it.
type Decision struct {
	Kind   string
	Object string // a cluster, a link or a revision
	UID    string
	Until  time.Time
	By     string
	At     time.Time
	Reason string
	Unread bool

	Change  DecisionChange  // of commands that decide
	Removes []string        // by an approval
	Stays   []state.Pending // in an abandoned cluster; sorted by link
	Note    string          // why it has no effect yet
}

// DecisionChange is what a command did with a decision.
type DecisionChange string

// Changes of decisions.
const (
	Recorded  DecisionChange = "Recorded"
	Replaced  DecisionChange = "Replaced"
	Withdrawn DecisionChange = "Withdrawn"
)

// DecisionsAnswer is what a command did with decisions, or in a dry run of that mode would do; an empty mode: it did.
func DecisionsAnswer(dryRun string, all []Decision, text string) Answer {
	items := decisionsOf(all)
	if items == nil {
		items = []output.Decision{}
	}
	return Plain(output.DecisionList{TypeMeta: output.Of(output.KindDecisionList), DryRun: dryRun, Items: items}, text)
}

func decisionsOf(all []Decision) (out []output.Decision) {
	m := redacting(nil)
	for _, d := range all {
		var removes []string
		for _, text := range d.Removes {
			removes = append(removes, m.line(text))
		}
		out = append(out, output.Decision{
			Kind: m.line(d.Kind), Object: m.line(d.Object), UID: m.line(d.UID), Until: d.Until, By: m.line(d.By), At: d.At,
			Reason: m.line(d.Reason), Understood: !d.Unread, Change: string(d.Change), Removes: removes, Stays: pendingOf(m, d.Stays), Note: m.line(d.Note),
		})
	}
	return out
}

// decisionRows are cells, the first row being the head.
func decisionRows(all []output.Decision) [][]string {
	rows := [][]string{{"decision", "about", "by", "since", "until", "reason"}}
	for _, one := range all {
		about := one.Object
		if one.UID != "" {
			about += "=" + one.UID
		}
		reason := one.Reason
		if !one.Understood {
			reason = strings.TrimPrefix(reason+"; not understood: linkwright ignores it", "; ")
		}
		rows = append(rows, []string{one.Kind, about, one.By, moment(one.At), moment(one.Until), reason})
	}
	return rows
}

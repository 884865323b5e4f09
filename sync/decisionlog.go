package sync

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
)

// logRecord logs what people decided since the record was last read, and what linkwright did not understand. A process that reads the record for
// the first time logs all that is in effect, and nothing that is past. A command that only reads logs no decisions.
func (l *Loop) logRecord(last, now inventory.Record) {
	if l.Log == nil {
		return
	}
	for _, d := range now.Decisions {
		if slices.Contains(last.Decisions, d) || d.Expired(time.Now()) || d.Past() && last.Was.IsZero() {
			continue
		}
		if err := d.Check(); err != nil {
			l.Log.Warn("decision not understood: linkwright ignores it", "decision", d.String(), "error", err)
			continue
		}
		if !l.ReadOnly {
			l.logDecision(d)
		}
	}
	if !l.ReadOnly {
		l.logApprovals(last, now)
	}
	for _, text := range now.Unread {
		if !slices.Contains(last.Unread, text) {
			l.Log.Warn("approval not understood: linkwright ignores it", "approval", text)
		}
	}
	for _, text := range now.Unreadable {
		if !slices.Contains(last.Unreadable, text) {
			l.Log.Warn("record not understood: until another revision is applied, linkwright removes only what you approve",
				"record", inventory.RecordKey(l.Owner, l.Management.Namespace).String(), "text", text)
		}
	}
}

// decisionMessage says in words what a person decided. Approvals are logged by logApprovals, because an earlier release records them alone.
func decisionMessage(kind inventory.DecisionKind) string {
	return map[inventory.DecisionKind]string{
		inventory.AcceptCluster:       "cluster accepted under this name",
		inventory.AllowNonFastForward: "non-fast-forward commit allowed",
		inventory.AbandonCluster:      "cluster to be abandoned",
		inventory.Reconcile:           "reconcile requested",
		inventory.Suspend:             "suspended",
		inventory.Resume:              "resumed",
		inventory.WithdrawApproval:    "approval withdrawn",
	}[kind]
}

// logDecision logs what a person decided: who, about what, when and why.
func (l *Loop) logDecision(d inventory.Decision) {
	message := decisionMessage(d.Kind)
	if message == "" {
		return
	}
	why := d.Reason
	if d.By == "" && d.Kind == inventory.Resume {
		why = "the time of the suspension is over"
	}
	link := ""
	if d.Source != "" {
		link = d.Link().String()
	}
	attrs := given("cluster", string(d.Cluster), "link", link, "uid", d.UID, "commit", string(d.Revision), "approval", d.Hash, "removes", d.Removes, "by", d.By)
	attrs = append(attrs, given("at", moment(d.At), "until", moment(d.Until), "why", why)...)
	logEvents(l.Log, []report.Event{{Level: report.Info, Message: message, Attrs: attrs}})
}

// logApprovals logs new approvals, and those that ended by themselves.
func (l *Loop) logApprovals(last, now inventory.Record) {
	in := func(all []inventory.Approval, a inventory.Approval) bool { return slices.ContainsFunc(all, a.Same) }
	for _, a := range now.Approvals {
		if !in(last.Approvals, a) && !a.Expired(time.Now()) {
			logEvents(l.Log, []report.Event{{Level: report.Info, Message: "removal approved", Attrs: given("approval", a.Hash, "removes", a.Removes(), "by", a.By, "at", moment(a.At))}})
		}
	}
	for _, a := range last.Approvals {
		withdrawn := func(d inventory.Decision) bool { return d.Kind == inventory.WithdrawApproval && d.Hash == a.Hash }
		if !in(now.Approvals, a) && !slices.ContainsFunc(now.Decisions, withdrawn) {
			logEvents(l.Log, []report.Event{{Level: report.Info, Message: "approval ended", Attrs: given("approval", a.Hash, "removes", a.Removes(), "by", a.By, "at", moment(a.At))}})
		}
	}
}

// logUsedUp logs which decisions were removed, but for those that were past.
func (l *Loop) logUsedUp(gone []inventory.Decision) {
	for _, d := range gone {
		if l.Log != nil && !d.Past() {
			l.Log.Info("decision used up", "decision", d.String())
		}
	}
}

// given are keys and values without those that are empty.
func given(pairs ...string) (out []report.Attr) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, report.Attr{Key: pairs[i], Value: pairs[i+1]})
		}
	}
	return out
}

// moment is a time for the log; empty: none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

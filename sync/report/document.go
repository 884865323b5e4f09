package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// nothingApplied is what is said before the first sync, and after an uninstall.
const nothingApplied = "nothing is applied yet: run linkwright sync --repo URL, or start linkwright run"

// notApplied is what is said of a link of which nothing is written yet, while no process is about to write it.
const notApplied = "the link is not applied yet: run linkwright sync --repo URL, or start linkwright run"

// document is a report as it may be shown: every format is made of it.
type document struct {
	output.SyncReport // without links and clusters
	links             []linkDoc
	clusters          []clusterDoc
	at                time.Time
	unread            int // clusters that the sync did not come to
}

// linkDoc is a link with what only texts need.
type linkDoc struct {
	output.Link
	phase   plan.Phase // of the worse end
	touched bool       // something was written for it
}

// clusterDoc is a cluster with what only texts need.
type clusterDoc struct {
	output.Cluster
	phase plan.Phase // of its base, if it has one
}

// Answer is what a sync did.
func (r Report) Answer() Answer {
	d := r.document()
	return documented(d.answer(), d.text, d.markdown)
}

func (d document) answer() output.SyncReport {
	out := d.SyncReport
	out.Links, out.Clusters = linksOf(d.links), clustersOf(d.clusters)
	return out
}

func linksOf(all []linkDoc) []output.Link {
	out := make([]output.Link, len(all))
	for i, l := range all {
		out[i] = l.Link
	}
	return out
}

func clustersOf(all []clusterDoc) []output.Cluster {
	out := make([]output.Cluster, len(all))
	for i, c := range all {
		out[i] = c.Cluster
	}
	return out
}

func (r Report) document() document {
	m, counts := redacting(bodiesOf(r)), r.Counts()
	d := document{at: r.At, SyncReport: output.SyncReport{
		TypeMeta:        output.Of(output.KindSyncReport),
		AppliedRevision: string(r.Commit), ObservedRevision: string(r.Head), Error: m.line(r.Err),
		AsDeclared: r.AsDeclared(), ReadOnly: r.ReadOnly, Syncing: r.When == Syncing, Seconds: r.Took.Seconds(),
		Summary: output.Summary{
			Links: map[string]int{}, Bases: map[string]int{}, Clusters: map[string]int{},
			Written: counts.Written, Failed: counts.Failed, PendingCleanup: counts.Cleanup,
		},
		Problems: problemsOf(m, r.Problems),
	}}
	touched, changes := map[api.Pair]bool{}, r.unwritten()
	for _, c := range r.Clusters {
		doc := clusterDocOf(m, c)
		if doc.Base != nil && doc.Base.Reason == nil {
			doc.Base.Reason = r.toWrite(changes, c.base())
		}
		d.Summary.Clusters[doc.Status]++
		d.Summary.Planned += len(c.planned())
		if !c.known() {
			d.unread++
		}
		if doc.Base != nil {
			d.Summary.Bases[doc.Base.Status]++
		}
		d.clusters = append(d.clusters, doc)
		for _, o := range c.Outcomes {
			touched[o.Change.End.Link] = true
		}
	}
	recorded := make(map[api.Pair]LinkConditions, len(r.Recorded))
	for _, l := range r.Recorded {
		recorded[l.Link] = l
	}
	for _, l := range Links(r) {
		doc := linkDocOf(m, l, recorded[l.Pair])
		switch {
		case doc.Reason == nil:
			doc.Reason = r.toWrite(changes, l.Source, l.Target)
		case doc.Reason.Code == reason.WaitingForSource:
			doc.Reason = cmp.Or(r.toWrite(changes, l.Source), doc.Reason)
		}
		if _, applied := recorded[l.Pair]; r.NeverApplied {
			doc.neverApplied(nothingApplied)
		} else if !applied && r.unrecorded(l) {
			doc.neverApplied(notApplied)
		}
		d.Summary.Links[doc.Status]++
		doc.touched = touched[l.Pair]
		d.links = append(d.links, doc)
	}
	countLinks(d.clusters, d.links)
	return d
}

// neverApplied replaces reasons by which a link waits for a running sync: it was never applied, and waiting does not help.
func (l *linkDoc) neverApplied(message string) {
	waits := func(why *object.Reason) bool {
		return why != nil && (why.Code == reason.CredentialNotIssued || why.Code == reason.Progressing)
	}
	whys := []**object.Reason{&l.Reason, &l.SourceEnd.Reason, &l.TargetEnd.Reason}
	for i := range l.Stages {
		whys = append(whys, &l.Stages[i].Reason)
	}
	for _, why := range whys {
		if waits(*why) {
			*why = object.Because(reason.NotAppliedYet, "%s", message)
		}
	}
}

// countLinks has every cluster count the links with an end in it.
func countLinks(clusters []clusterDoc, links []linkDoc) {
	at := make(map[string]int, len(clusters))
	for i, c := range clusters {
		at[c.Name] = i
	}
	for _, l := range links {
		for _, name := range []string{l.Source, l.Target} {
			if i, ok := at[name]; ok {
				clusters[i].Links = counting(clusters[i].Links, l.Link)
			}
		}
	}
}

func counting(n output.LinkCount, l output.Link) output.LinkCount {
	if n.Total++; l.Ready == object.True {
		n.Ready++
	}
	return n
}

// bodiesOf are the bodies whose secrets a message could repeat.
func bodiesOf(r Report) []keyed {
	var out []keyed
	for _, c := range r.Clusters {
		for _, o := range c.Outcomes {
			out = append(out, keyed{o.Change.Key, o.Change.Object.Body})
		}
		for _, ch := range c.planned() {
			out = append(out, keyed{ch.Key, ch.Object.Body})
		}
	}
	return out
}

// linkDocOf makes the link of a row and of the conditions that its inventories record.
func linkDocOf(m mask, l LinkRow, recorded LinkConditions) linkDoc {
	status, why := l.Status(), l.Reason()
	if status == Leaving && recorded.Failed != nil { // it is to be tried again
		status, why = Stalled, reasonOf(failedRemoval(*recorded.Failed))
	}
	ready := recordedReady(recorded.Conditions)
	out := output.Link{
		TypeMeta: output.Of(output.KindLink), Source: string(l.Pair.Source), Target: string(l.Pair.Target),
		Ready: readyOf(status, l.Leaving, cmp.Or(l.Source.Condition().Status, ready.Status)), Status: string(status), Leaving: l.Leaving, Reason: m.reason(why),
		SourceEnd: endDocOf(m, l.Source), TargetEnd: endDocOf(m, l.Target), Stages: stagesOf(m, l.Source), Conditions: m.conditions(recorded.Conditions),
	}
	if ready.Status == out.Ready {
		out.Since = ready.Since
	}
	return linkDoc{Link: out, phase: l.Phase}
}

// readyOf is the condition Ready of what has a status. A suspended link is ready if its stages passed, or else as it is recorded: known has that. One
// that leaves is not, as it is no longer declared.
func readyOf(status Status, leaving bool, known string) string {
	switch {
	case status == Ready:
		return object.True
	case status == Unknown:
		return object.Unknown
	case status == Suspended && !leaving:
		return cmp.Or(known, object.Unknown)
	}
	return object.False
}

// recordedReady is the condition Ready among those that inventories record; zero: there is none.
func recordedReady(all []object.Condition) object.Condition {
	for _, c := range all {
		if c.Type == object.Ready {
			return c
		}
	}
	return object.Condition{}
}

func endDocOf(m mask, r plan.Row) output.End {
	d := output.End{Status: string(endStatus(r.Phase, r.Leaving)), Reason: m.reason(r.Why), Deleting: r.Deleting}
	for _, u := range r.Unready {
		d.NotReady = append(d.NotReady, output.NotReady{Object: u.Key, Reason: m.line(u.Why), Failed: u.Failed})
	}
	return d
}

func stagesOf(m mask, row plan.Row) (out []output.Stage) {
	for _, v := range row.Health {
		out = append(out, output.Stage{Name: v.Stage.String(), State: v.Result.String(), Reason: m.reason(v.Why)})
	}
	return out
}

func clusterDocOf(m mask, c Cluster) clusterDoc {
	d := clusterDoc{Cluster: output.Cluster{
		TypeMeta: output.Of(output.KindCluster), Name: string(c.Name), Ready: readyOf(c.Status(), false, ""), Status: string(c.Status()),
		Reason: m.reason(c.Why()), Revision: string(c.Applied), Unconfined: m.reason(c.Step.Unconfined),
		Rollout: rolloutOf(m, c.Step.Rollout), Orphans: orphansOf(c.Step.Listed), MoreOrphans: c.Step.More, PendingCleanup: pendingOf(m, c.Cleanup),
	}}
	if row := c.base(); row.Phase != "" {
		d.Base, d.phase = &output.Base{End: endDocOf(m, row), Leaving: row.Leaving}, row.Phase
		if abandoned(row.Why) { // the row lists what stays
			d.PendingCleanup = nil
		}
	}
	for _, o := range c.Outcomes {
		d.Written = added(d.Written, writeOf(m, o.Change, o.Err))
	}
	for _, ch := range c.planned() {
		d.Planned = added(d.Planned, writeOf(m, ch, nil))
	}
	return d
}

// base is the row of a cluster's base, if there is anything to say of it; else zero.
func (c Cluster) base() (base plan.Row) {
	for _, row := range c.Step.Rows {
		if row.End.IsBase() && !row.HasNothingToReport() && c.Status() == Ready {
			base = row
		}
	}
	return base
}

// hasLeft reports whether a cluster that is declared to leave holds nothing of linkwright any more.
func (c Cluster) hasLeft() bool {
	why := c.base().Why
	return why != nil && why.Code == reason.CleanupComplete
}

func writeOf(m mask, c object.Change, err error) output.Write {
	w := output.Write{
		Cluster: string(c.End.Cluster), Action: c.Action.String(), Object: c.Key, Reason: m.reason(&c.Why), Times: 1,
		Source: string(c.End.Link.Source), Target: string(c.End.Link.Target),
	}
	if err != nil {
		text := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s %s: ", c.Action, c.Key))
		w.Error = cmp.Or(m.line(text), "failed")
	}
	return w
}

// added counts what was tried again instead of repeating it.
func added(all []output.Write, w output.Write) []output.Write {
	for i, old := range all {
		if old.Action == w.Action && old.Object == w.Object && *old.Reason == *w.Reason && old.Error == w.Error && old.Source == w.Source && old.Target == w.Target {
			all[i].Times++
			return all
		}
	}
	return append(all, w)
}

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

// End is what the inventories say of one end of a link.
type End string

// Ends.
const (
	RecordedEnd End = "Recorded"
	LeavingEnd  End = "Leaving"
	AbsentEnd   End = "Absent"
	UnknownEnd  End = "Unknown" // its cluster was not read
)

// RecordedLink is a link as inventories record it.
type RecordedLink struct {
	Pair           api.Pair
	Source, Target End
	Conditions     []object.Condition // that the inventory of the source's end records
	// Denied is the condition Ready by which the inventory of the target's end records a denial; nil: it records none.
	Denied *object.Condition
	// Failed is the condition Ready by which the inventory of an end that leaves records which write failed; nil: it records none.
	Failed  *object.Condition
	Missing []object.Key // Secrets that inventories list and that do not exist; sorted
	// Suspended says who suspended the link or one of its clusters; nil: nobody decided that.
	Suspended *object.Reason
	Mirrors   *Mirrors // nil: they were not read
	// RemovalDenied says that the record denies to remove the link: nothing of it is leaving yet in the inventories.
	RemovalDenied bool
}

// RecordedCluster is a cluster in the management cluster's record.
type RecordedCluster struct {
	Name      api.ClusterName
	Why       *object.Reason // why it could not be read; nil: it was
	Applied   api.Commit     // the revision that its base inventory carries; empty: none, or it was not read
	Leaving   bool
	Cleanup   []state.Pending     // ends of removed links that it still holds, sorted by link
	Suspended *object.Reason      // who suspended it; nil: nobody decided that
	Values    []output.ProxyValue // of Linkerd's installation, as its base inventory has them
	Rollout   rollout.Progress    // the same
}

// Overview is the status of an installation as the management cluster's record and the clusters' inventories have it, whatever is declared:
// links sorted by pair, clusters by name.
type Overview struct {
	Opening
	Links    []RecordedLink
	Clusters []RecordedCluster
	// Suspensions are decisions to suspend, also those whose time is over, and to resume.
	Suspensions []Decision
	// Approvals are those in effect, and those that were given or taken back within a week.
	Approvals []Decision
	Removed   []RemovedLink // within a week
	Ages      bool          // show how long ago moments were
	Err       string        // why no revision could be compared with the clusters; empty: none was, or there is no error
}

// AsDeclared says that all is as declared, as far as inventories record it: the observed revision is applied in all clusters, all of them
// were read, every link that it declares is ready, none is being removed, waits for its removal or is left in a cluster, whoever leads is alive, and no
// uninstall began.
func (o Overview) AsDeclared() bool {
	for _, l := range o.Links {
		if c := o.ready(l); c.Status != object.True || o.Revision.holdsRemoval(l) {
			return false
		}
	}
	return o.current() && o.Revision.Denied == nil && o.unwritten() == 0 && !slices.ContainsFunc(o.Clusters, func(c RecordedCluster) bool {
		return c.Why != nil || len(c.Cleanup) > 0 || o.other(c.Name) != ""
	})
}

// WithoutTime is the same without what differs because time goes by.
func (o Overview) WithoutTime() Overview {
	o.Ages = false
	if o.Leader != nil {
		l := o.Leader.still(o.At)
		o.Leader = &l
	}
	o.Writers = slices.Clone(o.Writers)
	for i, l := range o.Writers {
		o.Writers[i] = l.still(o.At)
	}
	return o
}

// AsRecorded says of which clusters no process syncs the links, how old what they record is, and what to do if a process died; empty: all are
// synced, or nobody knows.
func (o Overview) AsRecorded() string {
	var names []string
	var newest time.Time
	died := ""
	for _, c := range o.Clusters {
		if by := o.syncedBy(c.Name); !by.Leads(o.At) && !by.ended().IsZero() {
			names = append(names, string(c.Name))
			if by.lost(o.At) {
				died = " " + again
			}
			if by.ended().After(newest) {
				newest = by.ended()
			}
		}
	}
	which := ""
	switch {
	case len(names) == 0:
		return ""
	case len(names) < len(o.Clusters):
		which = " " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("No process syncs%s: this is as recorded %s ago.%s", which, age(newest, o.At), died)
}

// NotRead says which clusters were not read, so that a list of what clusters record may lack something; empty: all were.
func (o Overview) NotRead() string {
	var names []string
	for _, c := range o.Clusters {
		if c.Why != nil {
			names = append(names, string(c.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Not read: %s. This list may be incomplete. To see why, run linkwright get clusters.", strings.Join(names, ", "))
}

// Unread says that no cluster could be read at all.
func (o Overview) Unread() bool {
	return len(o.Clusters) > 0 && !slices.ContainsFunc(o.Clusters, func(c RecordedCluster) bool { return c.Why == nil })
}

// NoneRead says that none of these clusters could be read.
func NoneRead(clusters []RecordedCluster) string {
	names := make([]string, 0, len(clusters))
	for _, c := range clusters {
		names = append(names, string(c.Name))
	}
	return noneRead(names)
}

func noneRead(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("cluster %s could not be read", names[0])
	}
	return fmt.Sprintf("none of %s could be read: %s", object.Count(len(names), "cluster"), nameFirst(names))
}

// overviewDoc is an Overview as it may be shown.
type overviewDoc struct {
	output.Status
	opening  openingDoc
	declared int  // how many links the applied revision declares
	approved bool // what is denied was approved since
	at       time.Time
}

// Answer is the status of everything.
func (o Overview) Answer() Answer {
	d := o.document()
	return Answer{Document: d.Status, texts: map[Format]func() string{
		Text:     func() string { return d.text(false) },
		Wide:     func() string { return d.text(true) },
		Markdown: d.markdown,
	}}
}

// Write writes the status in a format.
func (o Overview) Write(w io.Writer, f Format) error { return o.Answer().Write(w, f) }

func (o Overview) document() overviewDoc {
	m, in := redacting(nil), make([]carried, 0, len(o.Clusters))
	for _, c := range o.Clusters {
		in = append(in, carried{name: string(c.Name), commit: string(c.Applied), read: c.Why == nil})
	}
	opening := openingDocOf(m, o.Opening, in)
	opening.unwritten = o.unwritten()
	if !o.Ages {
		opening.at = time.Time{}
	}
	links := o.links(m)
	return overviewDoc{opening: opening, declared: o.Revision.Links, approved: o.Revision.Approval.Given, at: opening.at, Status: output.Status{
		TypeMeta: output.Of(output.KindStatus), AsDeclared: o.AsDeclared(),
		AppliedRevision: string(o.Revision.Applied), ObservedRevision: string(o.Revision.Observed), Error: m.line(o.Err),
		Denied: o.Revision.denial(m), UnwrittenLinks: opening.unwritten, UninstallSince: opening.uninstall.Since, Leader: opening.leaderOutput(), Writers: opening.writersOutput(),
		Decisions: decisionsOf(o.Decisions), Revisions: opening.revisions, Links: links, Clusters: o.clusters(m, links),
	}}
}

func (o Overview) links(m mask) []output.Link {
	out := make([]output.Link, 0, len(o.Links))
	for _, l := range o.Links {
		c := o.ready(l)
		status, why := statusWord(l, c), reasonOf(c)
		if suspended := o.Revision.suspension(l); suspended != nil && status != string(Denied) && status != string(Unknown) {
			status, why = string(Suspended), suspendedReason(suspended, l.Conditions, c)
		}
		all := l.Conditions
		for _, c := range []*object.Condition{l.Denied, l.Failed} {
			if c != nil && !slices.Contains(all, *c) {
				all = append(slices.Clone(all), *c)
			}
		}
		out = append(out, output.Link{
			TypeMeta: output.Of(output.KindLink), Source: string(l.Pair.Source), Target: string(l.Pair.Target),
			Ready: c.Status, Status: status, Leaving: l.Source == LeavingEnd || l.Target == LeavingEnd || l.RemovalDenied || c.Reason == reason.Leaving || o.Revision.holdsRemoval(l),
			Reason: m.reason(o.Revision.denialOf(why)), Since: c.Since,
			SourceEnd: recordedEnd(m, l.Source, l.Pair.Source, o.Clusters), TargetEnd: recordedEnd(m, l.Target, l.Pair.Target, o.Clusters), Conditions: m.conditions(all),
		})
	}
	return out
}

// recordedEnd is an end in a cluster, with why that was not read.
func recordedEnd(m mask, is End, cluster api.ClusterName, clusters []RecordedCluster) output.End {
	out := output.End{Inventory: string(is)}
	if is != UnknownEnd {
		return out
	}
	if at := slices.IndexFunc(clusters, func(c RecordedCluster) bool { return c.Name == cluster }); at >= 0 {
		out.Reason = m.reason(clusters[at].Why)
	}
	return out
}

// suspendedReason is the reason of a suspended link: who suspended it, whether changes wait, and why it is not ready.
func suspendedReason(why *object.Reason, recorded []object.Condition, ready object.Condition) *object.Reason {
	switch {
	case suspendedWith(recorded, reason.Waiting):
		why = why.With("changes wait for that")
	case suspendedWith(recorded, reason.Leaving):
		why = why.With("its removal waits for that")
	}
	if ready.Status != object.False || ready.Reason == reason.Leaving {
		return why
	}
	return notReadyToo(why, message("", reasonOf(ready)))
}

// suspendedWith says that the condition Suspended has a reason.
func suspendedWith(recorded []object.Condition, why reason.Code) bool {
	return slices.ContainsFunc(recorded, func(c object.Condition) bool { return c.Type == object.Suspended && c.Reason == why })
}

// denial is what the applied revision may not remove; empty: it may remove everything.
func (r Revision) denial(m mask) string {
	if r.Denied == nil {
		return ""
	}
	return m.line(r.Denied.Message)
}

// denialOf is the reason that a recorded denial names, as reports with --repo have it. An inventory records of some only the code: the reason
// then says how people approve it.
func (r Revision) denialOf(why *object.Reason) *object.Reason {
	if why == nil || cause(why) == reason.Denied || why.Code != reason.Denied {
		return why
	}
	code := cause(why)
	text := strings.TrimPrefix(strings.TrimPrefix(why.Message, string(code)), ": ")
	if text == "" && r.Denied != nil && r.Denied.Code == code {
		text = r.Approval.How
	}
	return object.Because(code, "%s", text)
}

// detailed is a link with the whole message of what denies it: inventories record the code alone.
func (r Revision) detailed(l output.Link) output.Link {
	why := redacting(nil).reason(r.Denied)
	if why != nil && l.Reason != nil && l.Status == string(Denied) && l.Reason.Code == why.Code {
		l.Reason = why
	}
	return l
}

// reasonOf is the reason of a condition; nil if it says nothing more than that all is well.
func reasonOf(c object.Condition) *object.Reason {
	if c.Reason == reason.Healthy && c.Message == "" {
		return nil
	}
	return &object.Reason{Code: c.Reason, Message: c.Message}
}

func (d overviewDoc) text(wide bool) string {
	return paragraphs(d.opening.line(), d.denial(), table(linkRows(d.Links, d.at, wide, shownOnce{})), table(d.notReady()), table(decisionRows(d.Decisions)), d.more())
}

func (d overviewDoc) markdown() string {
	return paragraphs(d.opening.line(), d.denial(), markdownTable(linkRows(d.Links, d.at, false, shownOnce{})), markdownTable(d.notReady()), markdownTable(decisionRows(d.Decisions)), d.more())
}

// denial is a line about what is denied.
func (d overviewDoc) denial() string {
	if d.Denied == "" {
		return ""
	}
	if d.approved {
		return approvedLine(d.Denied)
	}
	return "Denied: " + d.Denied + ".\n"
}

// approvedLine is a line about a denial that was approved since.
func approvedLine(denied string) string { return strings.ToUpper(denied[:1]) + denied[1:] + ".\n" }

// notReady are the clusters that were not read, those that still hold something of removed links, and those whose rollout is not complete.
func (d overviewDoc) notReady() [][]string {
	rows := [][]string{{"cluster", "status", "message"}}
	for _, c := range d.Clusters {
		if c.Status == string(Unknown) {
			rows = append(rows, []string{c.Name, c.Status, message(c.Status, c.Reason)})
		}
		if len(c.PendingCleanup) > 0 {
			rows = append(rows, []string{c.Name, "CleanupPending", pendingWords(c)})
		}
		if c.Rollout != nil && !c.Rollout.Complete() {
			rows = append(rows, []string{c.Name, "Rollout", rolloutLine(*c.Rollout)})
		}
	}
	return rows
}

// pendingWords name the removed links of which a cluster still holds an end.
func pendingWords(c output.Cluster) string {
	var links []string
	for _, p := range c.PendingCleanup {
		links = append(links, pair(p.Source, p.Target))
	}
	return "of removed links: " + strings.Join(links, ", ")
}

// more is what no row shows.
func (d overviewDoc) more() string {
	switch {
	case d.UnwrittenLinks > 0:
		return fmt.Sprintf("linkwright has written nothing yet of %d of %s that the revision declares: linkwright status --repo URL shows why.\n", d.UnwrittenLinks, object.Count(d.declared, "link"))
	case len(d.Links) > 0:
		return ""
	}
	var unread []string
	for _, c := range d.Clusters {
		if c.Status == string(Unknown) {
			unread = append(unread, c.Name)
		}
	}
	switch read := len(d.Clusters) - len(unread); {
	case len(unread) == 0:
		return "no link in " + object.Count(len(d.Clusters), "cluster") + "\n"
	case read == 0:
		return "Links are unknown, because " + noneRead(unread) + ".\n"
	default:
		return fmt.Sprintf("no link in the %s that could be read; the others may have links\n", object.Count(read, "cluster"))
	}
}

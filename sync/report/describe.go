package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// page is what describe shows of one link or cluster, beside its item.
type page struct {
	revision  string
	observed  string // why the observed revision is not applied
	problems  string
	writes    string
	links     []output.Link  // of a cluster
	events    []output.Event // newest last
	now       time.Time
	offline   bool            // the repository was not read
	approved  bool            // what the applied revision may not remove was approved since
	unread    *output.Cluster // a cluster of a link that was not read; nil: both were
	idle      bool            // no process syncs the link now
	uninstall string          // how an uninstall that began goes on; empty: none began
}

// LinkAnswer is all that a report has about a link: its status, both ends, its stages, what is written or would be, and what to do; false:
// the report has no such link.
func (r Report) LinkAnswer(p api.Pair) (Answer, bool) {
	d := r.document()
	for _, l := range d.links {
		if l.Source == string(p.Source) && l.Target == string(p.Target) {
			var writes string
			l.Written, l.Planned, writes = d.writesOf(l.Link)
			recorded := Overview{Opening: Opening{At: r.At}, Suspensions: r.Suspensions}
			return describeLink(l.Link, page{
				revision: d.AppliedRevision, problems: d.problems(), writes: writes, events: recorded.eventsAbout([]output.Link{l.Link}, l.Source, l.Target), now: d.at,
				unread: unreadOf(l.Link, clustersOf(d.clusters)), idle: r.idle(p.Source), uninstall: r.Uninstall().next(),
			}), true
		}
	}
	return Answer{}, false
}

// ClusterAnswer is all that a report has about a cluster; false: the report has no such cluster.
func (r Report) ClusterAnswer(name api.ClusterName) (Answer, bool) {
	d := r.document()
	for i, c := range d.clusters {
		if c.Name == string(name) {
			revision := cmp.Or(c.Revision, d.AppliedRevision)
			if r.Clusters[i].hasLeft() {
				revision = ""
			}
			return describeCluster(c.withSuspension(), page{
				revision: revision, problems: d.problems(), writes: c.writesText(d.ReadOnly),
				links: touching(linksOf(d.links), c.Name), now: d.at, uninstall: r.Uninstall().next(),
			}), true
		}
	}
	return Answer{}, false
}

// withSuspension is the cluster, Suspended if its base is: then nothing is written there. The reason moves from the base to the cluster.
func (c clusterDoc) withSuspension() output.Cluster {
	out := c.Cluster
	if c.Status != string(Ready) || c.phase != plan.Suspended {
		return out
	}
	base := *c.Base
	out.Status, out.Reason, base.Reason = string(Suspended), base.Reason, nil
	out.Base = &base
	return out
}

// LinkAnswer is all that inventories record about a link; false: they record no such link.
func (o Overview) LinkAnswer(p api.Pair) (Answer, bool) {
	d := o.document()
	for _, l := range d.Links {
		if l.Source == string(p.Source) && l.Target == string(p.Target) {
			return describeLink(o.Revision.detailed(l), page{
				revision: d.AppliedRevision, observed: d.notApplied(), events: o.eventsAbout([]output.Link{l}, l.Source, l.Target), now: d.at,
				offline: true, approved: o.Revision.Approval.Given, unread: unreadOf(l, d.Clusters), idle: o.idle(p.Source), uninstall: o.Revision.Uninstall.next(),
			}), true
		}
	}
	return Answer{}, false
}

// ClusterAnswer is all that the record and inventories say about a cluster; false: the record has no such cluster.
func (o Overview) ClusterAnswer(name api.ClusterName) (Answer, bool) {
	d := o.document()
	for _, c := range d.Clusters {
		if c.Name == string(name) {
			links := touching(d.Links, c.Name)
			return describeCluster(c, page{revision: c.Revision, observed: d.notApplied(), links: links, events: o.eventsAbout(links, c.Name), now: d.at, offline: true, uninstall: o.Revision.Uninstall.next()}), true
		}
	}
	return Answer{}, false
}

// notApplied is the observed revision and why it is not applied; empty: it is applied, or none was observed.
func (d overviewDoc) notApplied() string {
	is := d.opening.observed
	if is.reason == nil || is.commit == "" || is.commit == d.AppliedRevision {
		return ""
	}
	return is.commit + ", not applied: " + message("", is.reason)
}

func describeLink(l output.Link, p page) Answer {
	return Answer{Document: l, texts: map[Format]func() string{Text: func() string {
		heading := fields("Link", l.Source+"/"+l.Target, "Ready", l.Ready, "Status", words(l.Status, l.Leaving), "Since", since(l.Since, p.now), "Revision", p.revision, "Observed", p.observed)
		shown := shownOnce{}
		shown.whole("", l.Reason)
		return paragraphs(p.problems, heading+meaning(l.Reason), endsTable(l, shown), stagesTable(l, shown), p.writes, p.eventsText(l.Reason), p.next(l.Ready, l.Leaving, l.Reason, "link "+l.Source+"/"+l.Target))
	}}}
}

func describeCluster(c output.Cluster, p page) Answer {
	return Answer{Document: c, texts: map[Format]func() string{Text: func() string {
		heading := fields("Cluster", c.Name, "Ready", c.Ready, "Status", c.Status, "Revision", p.revision, "Observed", p.observed)
		links := cmp.Or(table(linkRows(p.links, p.now, false, shownOnce{})), "It has no links.\n")
		return paragraphs(p.problems, heading+meaning(c.Reason), about(c), links, p.writes, p.eventsText(c.Reason), p.next(c.Ready, false, c.Reason, "cluster "+c.Name))
	}}}
}

// next is the next step, if there is one.
func (p page) next(ready string, leaving bool, why *object.Reason, what string) string {
	step := ""
	switch {
	case p.uninstall != "":
		step = p.uninstall
	case why == nil:
	case why.Code == reason.Suspended && ready == object.False:
		step = resume(why.Command, leaving)
	case why.Code == reason.PruneLimitExceeded && p.approved:
		step = "Wait until a running daemon follows the approval, or run linkwright sync --repo URL."
	case p.unread != nil && slices.Contains(ofUnread(), why.Code):
		e, _ := reason.Find(p.unread.Reason.Code)
		step = fmt.Sprintf("Cluster %s was not read (%s). %s", p.unread.Name, p.unread.Reason.Code, filled(e.Plain(e.Remedy), p.unread.Name))
	case p.idle && slices.Contains(leftToSync(), why.Code):
		step = "Run linkwright sync --repo URL: no process syncs the link now."
	default:
		e, _ := reason.Find(cause(why))
		step = e.Plain(e.Remedy)
		if name, ok := strings.CutPrefix(what, "cluster "); ok {
			step = filled(step, name)
		}
		if why.Command != "" {
			step = strings.Replace(step, "linkwright approve HASH", why.Command, 1)
		}
	}
	switch {
	case step != "":
	case p.offline && ready != object.True:
		step = "To see what a sync would do, run linkwright describe " + what + " --repo URL."
	default:
		return ""
	}
	return "Next step:  " + step + "\n"
}

// resume is the step that ends a suspension; without a command it is declared.
func resume(command string, leaving bool) string {
	does, how := "repairs", "remove suspend from the declaration"
	if leaving {
		does = "removes"
	}
	if command != "" {
		how = "run " + command
	}
	return fmt.Sprintf("Resume it, so that linkwright %s it: %s.", does, how)
}

// filled is what to do about a cluster, with its name in the commands.
func filled(step, name string) string {
	return strings.NewReplacer("cluster add NAME ", "cluster add "+name+" ", "abandon NAME", "abandon "+name, "accept cluster NAME=", "accept cluster "+name+"=").Replace(step)
}

// ofUnread are the reasons of a link that come of a cluster that was not read, whose own reason says more.
func ofUnread() []reason.Code {
	return []reason.Code{reason.NotRead, reason.EndNotRead, reason.TargetNotRead, reason.WaitingForTarget, reason.WaitingForSource, reason.Unknown}
}

// leftToSync are the reasons of a link that a daemon or the next sync ends.
func leftToSync() []reason.Code {
	return []reason.Code{
		reason.Progressing, reason.SecretMissing, reason.NotReported, reason.RevisionMismatch, reason.ControllerMissing, reason.NotAppliedYet,
		reason.Leaving, reason.Draining, reason.Terminating, reason.Waiting, reason.WaitingForRead, reason.WaitingForSource, reason.WaitingForLinks, reason.WaitingForReplacement,
	}
}

// unreadOf is a cluster of a link that was not read, the source first; nil: both were.
func unreadOf(l output.Link, clusters []output.Cluster) *output.Cluster {
	for _, name := range []string{l.Source, l.Target} {
		for _, c := range clusters {
			if c.Name == name && c.Status == string(Unknown) && c.Reason != nil {
				return &c
			}
		}
	}
	return nil
}

// cause is the code of a reason: of Denied and NotRendered, the one that their message begins with.
func cause(why *object.Reason) reason.Code {
	code, _, _ := strings.Cut(why.Message, ":")
	if _, known := reason.Find(reason.Code(code)); known && (why.Code == reason.Denied || why.Code == reason.NotRendered) {
		return reason.Code(code)
	}
	return why.Code
}

// eventsText are the events. A long message is shown once; why is what the page began with.
func (p page) eventsText(why *object.Reason) string {
	shown, all := map[string]bool{}, slices.Clone(p.events)
	if why != nil {
		shown[why.Message] = true
	}
	for i, e := range all {
		if len(e.Message) > maxRepeated && shown[e.Message] {
			all[i].Message = "see above"
		}
		shown[e.Message] = true
	}
	text := table(eventRows(all, p.now))
	if text == "" {
		return ""
	}
	return "Events (the last transition of each condition):\n" + text
}

// since is a moment, and how long ago it was.
func since(at, now time.Time) string {
	if ago := age(at, now); ago != "" {
		return moment(at) + " (" + ago + " ago)"
	}
	return moment(at)
}

// fields are lines of a name and a value each; those without a value are left out.
func fields(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(&b, "%-12s%s\n", pairs[i]+":", pairs[i+1])
		}
	}
	return b.String()
}

// meaning is a reason, with what its table says about it.
func meaning(why *object.Reason) string {
	if why == nil {
		return ""
	}
	e, _ := reason.Find(why.Code)
	return fields("Reason", string(why.Code), "Message", why.Message, "Meaning", e.Plain(e.Meaning))
}

func endsTable(l output.Link, shown shownOnce) string {
	return table([][]string{
		{"end", "cluster", "status", "message"},
		{"source", l.Source, endWord(l.SourceEnd), shown.whole(l.SourceEnd.Status, l.SourceEnd.Reason)},
		{"target", l.Target, endWord(l.TargetEnd), shown.whole(l.TargetEnd.Status, l.TargetEnd.Reason)},
	})
}

func stagesTable(l output.Link, shown shownOnce) string {
	rows := [][]string{{"stage", "state", "message"}}
	for _, s := range l.Stages {
		rows = append(rows, []string{s.Name, s.State, shown.whole("", s.Reason)})
	}
	return table(rows)
}

// writesOf are the writes of a link that were done or would be, and the text about them, cluster by cluster.
func (d document) writesOf(l output.Link) (written, planned []output.Write, text string) {
	var blocks []string
	for _, c := range d.clusters {
		c.Written, c.Planned = writesFor(l, c.Written), writesFor(l, c.Planned)
		written, planned = append(written, c.Written...), append(planned, c.Planned...)
		blocks = append(blocks, c.writesText(d.ReadOnly))
	}
	return written, planned, paragraphs(blocks...)
}

func writesFor(l output.Link, all []output.Write) (out []output.Write) {
	for _, w := range all {
		if w.Source == l.Source && w.Target == l.Target {
			out = append(out, w)
		}
	}
	return out
}

// about is what a cluster has beside its links.
func about(c output.Cluster) string {
	base, unconfined, found, pending := "", "", "", ""
	if c.Base != nil {
		base = strings.TrimSuffix(words(c.Base.Status, c.Base.Leaving)+": "+message(c.Base.Status, c.Base.Reason), ": ")
	}
	if missesPolicies(c.Unconfined) {
		unconfined = sentence(c.Unconfined)
	}
	if len(c.Orphans) > 0 {
		found = orphans(c)
	}
	if len(c.PendingCleanup) > 0 {
		pending = pendingWords(c)
	}
	meaning := ""
	if c.Base != nil {
		meaning = baseMeaning
	}
	restarts := ""
	if c.Rollout != nil {
		restarts = rolloutLine(*c.Rollout)
	}
	return fields("Base", base, "Base means", meaning, "Rollout", restarts, "Unconfined", unconfined, "Orphans", found, "Cleanup", pending) + setValues(c.Values)
}

// setValues lists the values of Linkerd's installation that linkwright set.
func setValues(all []output.ProxyValue) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Values of proxies that linkwright set:\n")
	for _, v := range all {
		before := "not there before"
		if v.Before != "" {
			before = "before " + v.Before
		}
		b.WriteString(Printable(fmt.Sprintf("  %s is %s, %s", v.Path, v.Set, before)) + "\n")
	}
	return b.String()
}

// touching are the links with an end in a cluster.
func touching(all []output.Link, cluster string) []output.Link {
	others := func(l output.Link) bool { return l.Source != cluster && l.Target != cluster }
	return slices.DeleteFunc(slices.Clone(all), others)
}

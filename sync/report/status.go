package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// statusDoc is the answer of status over a report.
type statusDoc struct {
	output.Status
	opening  string
	approved string // a line: who approved what the next sync removes; empty: nobody did
	doc      document
}

// Works says that AsDeclared is true, and that no link is known not to work: none is Stalled, none leaves although it is suspended, and
// none that was written is suspended and not ready.
func (r Report) Works() bool {
	return r.AsDeclared() && !slices.ContainsFunc(r.document().links, func(l linkDoc) bool {
		return l.Status == string(Stalled) || l.Status == string(Suspended) && (l.Leaving || l.Ready == object.False && len(l.Conditions) > 0)
	})
}

// StatusAnswer is how every link and every cluster is.
func (r Report) StatusAnswer() Answer {
	s := r.status()
	return Answer{Document: s.Status, texts: map[Format]func() string{
		Text:     func() string { return s.text(false) },
		Wide:     func() string { return s.text(true) },
		Markdown: s.markdown,
	}}
}

func (r Report) status() statusDoc {
	d := r.document()
	opening, in := Opening{Revision: Revision{Applied: r.Commit, Observed: r.Head}, At: r.At}, make([]carried, 0, len(r.Clusters))
	if r.Opening != nil {
		opening = *r.Opening
	}
	for _, c := range r.Clusters {
		in = append(in, carried{name: string(c.Name), commit: string(c.Applied), read: c.Status() != Unknown, left: c.hasLeft()})
	}
	m := redacting(bodiesOf(r))
	o := openingDocOf(m, opening, in)
	o.never = r.NeverApplied
	out := statusDoc{doc: d, Status: output.Status{
		TypeMeta: output.Of(output.KindStatus), AsDeclared: r.Works(),
		AppliedRevision: d.AppliedRevision, ObservedRevision: cmp.Or(d.ObservedRevision, string(opening.Revision.Observed)), Error: d.Error,
		UninstallSince: o.uninstall.Since, Leader: o.leaderOutput(), Writers: o.writersOutput(), Problems: d.Problems, Revisions: o.revisions, Decisions: decisionsOf(opening.Decisions),
		Links: linksOf(d.links), Clusters: withoutWrites(d.clusters),
	}}
	if now := opening.Revision; now.Approval.Given && now.Denied != nil && now.Why == nil {
		out.Denied = redacting(nil).line(now.Denied.Message)
		out.approved = approvedLine(out.Denied)
	}
	if r.Opening != nil {
		out.opening = o.line()
		out.doc = d.without(m.reason(opening.Revision.Why))
	}
	return out
}

// without is a document whose text does not repeat why the observed revision is not applied: an error, or the first error of its declarations.
func (d document) without(why *object.Reason) document {
	if why == nil || why.Message == "" {
		return d
	}
	if strings.HasSuffix(d.Error, why.Message) {
		d.Error = ""
		return d
	}
	first := slices.IndexFunc(d.Problems, func(p output.Problem) bool {
		return p.Severity == severityError && strings.HasPrefix(why.Message, problemLine(p))
	})
	if first >= 0 {
		_, d.Error, _ = strings.Cut(d.Error, "; ") // what follows the line that says that they are invalid
		d.Problems = slices.Delete(slices.Clone(d.Problems), first, first+1)
	}
	return d
}

// withoutWrites are clusters as they are, without what was written. Nobody reads an abandoned cluster.
func withoutWrites(all []clusterDoc) []output.Cluster {
	out := clustersOf(all)
	for i := range out {
		out[i].Written, out[i].Planned = nil, nil
		if base := out[i].Base; base != nil && abandoned(base.Reason) {
			out[i].Status, out[i].Ready = string(Unknown), object.Unknown
			out[i].Reason = object.Because(reason.Abandoned, "the cluster was abandoned and cannot be read")
		}
	}
	return out
}

func (s statusDoc) text(wide bool) string {
	shown := shownOnce{}
	links, clusters := table(linkRows(s.Links, s.doc.at, wide, shown)), table(s.clusterRows(shown))
	return paragraphs(s.opening, s.approved, s.doc.problems(), links, clusters, columns("", s.doc.pending()), table(decisionRows(s.Decisions)), s.baseMeaning())
}

// baseMeaning says what a base is, if a row shows one.
func (s statusDoc) baseMeaning() string {
	if !slices.ContainsFunc(s.Clusters, func(c output.Cluster) bool { return c.Base != nil }) {
		return ""
	}
	return baseMeaning + "\n"
}

func (s statusDoc) markdown() string {
	shown := shownOnce{}
	links, clusters := markdownTable(linkRows(s.Links, s.doc.at, false, shown)), markdownTable(s.clusterRows(shown))
	return paragraphs(s.opening, s.approved, s.doc.problemList(), links, clusters, s.doc.pendingTable(), markdownTable(decisionRows(s.Decisions)))
}

// linkRows are cells, the first row being the head. Ages are counted to now; zero: there are none. Without a repository nobody knows how ends
// are, and the columns of ends are about their inventories.
func linkRows(links []output.Link, now time.Time, wide bool, shown shownOnce) [][]string {
	head := []string{"source", "target", "ready", "status", "age", "message"}
	if wide {
		of := "inventory"
		if slices.ContainsFunc(links, func(l output.Link) bool { return l.SourceEnd.Status != "" || l.TargetEnd.Status != "" }) {
			of = "end"
		}
		head = []string{"source", "target", "ready", "status", "age", "since", "source " + of, "target " + of, "message"}
	}
	rows := [][]string{head}
	for _, l := range links {
		row := []string{l.Source, l.Target, l.Ready, words(l.Status, l.Leaving), age(l.Since, now)}
		if wide {
			row = append(row, moment(l.Since), endWord(l.SourceEnd), endWord(l.TargetEnd))
		}
		rows = append(rows, append(row, shown.message(l.Status, l.Reason)))
	}
	return rows
}

// endWord is how an end is, in one word.
func endWord(e output.End) string { return cmp.Or(e.Status, e.Inventory) }

func (s statusDoc) clusterRows(shown shownOnce) [][]string {
	rows := [][]string{{"cluster", "status", "message"}}
	for _, c := range s.Clusters {
		rows = append(rows, []string{c.Name, c.Status, shown.whole(c.Status, c.Reason)})
		if c.Base != nil {
			rows = append(rows, []string{"", baseWords(c.Base), shown.whole(c.Base.Status, c.Base.Reason)})
		}
		if missesPolicies(c.Unconfined) && c.Status == string(Ready) {
			rows = append(rows, []string{"", "not confined", sentence(c.Unconfined)})
		}
		if c.Rollout != nil {
			rows = append(rows, []string{"", "rollout", rolloutLine(*c.Rollout)})
		}
		if len(c.Orphans) > 0 {
			rows = append(rows, []string{"", "orphans", orphans(c)})
		}
	}
	return rows
}

// table aligns rows under a head in capitals; without rows there is no table.
func table(rows [][]string) string {
	if len(rows) < 2 {
		return ""
	}
	out := []string{strings.ToUpper(strings.Join(rows[0], "\t"))}
	for _, r := range rows[1:] {
		out = append(out, strings.Join(r, "\t"))
	}
	return columns("", out)
}

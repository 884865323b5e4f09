package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// document is a report as it may be shown: JSON is exactly this, the other formats are made of it.
type document struct {
	Applied  string       `json:"appliedRevision,omitempty"`
	Observed string       `json:"observedRevision,omitempty"`
	Error    string       `json:"error,omitempty"`   // why there was no sync, or only one of the applied revision
	ReadOnly bool         `json:"readOnly"`          // nothing was written anywhere
	Syncing  bool         `json:"syncing,omitempty"` // a sync is under way: clusters that it has not looked at yet are Unknown
	Clean    bool         `json:"clean"`             // everything is as declared or suspended, and nothing failed
	Seconds  float64      `json:"seconds,omitempty"`
	Summary  summary      `json:"summary"`
	Problems []problemDoc `json:"problems"`
	Links    []linkDoc    `json:"links"`          // sorted by source, then target
	Cleanup  []cleanupDoc `json:"pendingCleanup"` // sorted by cluster, then source, then target
	Clusters []clusterDoc `json:"clusters"`       // sorted by name
}

// summary counts links, bases and clusters by status, and writes.
type summary struct {
	Links    map[Status]int `json:"links"`
	Bases    map[Status]int `json:"bases"` // those that have anything to tell
	Clusters map[Status]int `json:"clusters"`
	Written  int            `json:"written"`
	Failed   int            `json:"failed"`
	Cleanup  int            `json:"pendingCleanup"`
	Planned  int            `json:"planned"` // and not done: read only, or not ours to write
}

type problemDoc struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Warning bool   `json:"warning"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

type linkDoc struct {
	Source    string         `json:"source"`
	Target    string         `json:"target"`
	Status    Status         `json:"status"`
	Leaving   bool           `json:"leaving"`
	Reason    *object.Reason `json:"reason,omitempty"`
	SourceEnd endDoc         `json:"sourceEnd"`
	TargetEnd endDoc         `json:"targetEnd"`
	Health    []stageDoc     `json:"health"` // all stages in order; none of a link that leaves
	phase     plan.Phase     // of the worse end
	touched   bool
}

type endDoc struct {
	Status   Status         `json:"status"`
	Reason   *object.Reason `json:"reason,omitempty"`
	Deleting []object.Key   `json:"deleting,omitempty"` // of linkwright, later gates included
	NotReady []unreadyDoc   `json:"notReady,omitempty"` // of an end where all is as declared
	phase    plan.Phase
}

type unreadyDoc struct {
	Key    object.Key `json:"key"`
	Reason string     `json:"reason"`
	Failed bool       `json:"failed"` // it will not be by waiting
}

type clusterDoc struct {
	Name   string         `json:"name"`
	Status Status         `json:"status"`
	Reason *object.Reason `json:"reason,omitempty"`
	Base   *baseDoc       `json:"base,omitempty"` // where it has anything to tell
	confinedDoc
	straysDoc
	Writes  []writeDoc `json:"writes"`  // in the order done
	Planned []writeDoc `json:"planned"` // and not done
}

// baseDoc is how what a cluster holds once stands, whatever its links.
type baseDoc struct {
	endDoc
	Leaving bool `json:"leaving"`
}

// writeDoc is a write; those that are the same in all are told once, with how often.
type writeDoc struct {
	Action string         `json:"action"`
	Key    object.Key     `json:"key"`
	Source string         `json:"source,omitempty"` // of the link it is for; empty: for the cluster itself
	Target string         `json:"target,omitempty"`
	Reason *object.Reason `json:"reason,omitempty"`
	Error  string         `json:"error,omitempty"`
	Times  int            `json:"times"`
}

func (r Report) document() document {
	m := redacting(bodiesOf(r))
	counts := r.Counts()
	d := document{
		Applied: string(r.Commit), Observed: string(r.Head), Error: m.line(r.Err), ReadOnly: r.ReadOnly, Syncing: r.When == Syncing, Clean: r.Clean(), Seconds: r.Took.Seconds(),
		Summary: summary{
			Links: map[Status]int{}, Bases: map[Status]int{}, Clusters: map[Status]int{}, Written: counts.Written, Failed: counts.Failed, Cleanup: counts.Cleanup,
		},
		Problems: problemDocs(m, r.Problems), Links: []linkDoc{}, Cleanup: r.cleanup(), Clusters: []clusterDoc{},
	}
	touched := map[api.Pair]bool{}
	for _, c := range r.Clusters {
		d.Summary.Clusters[c.Status()]++
		d.Summary.Planned += len(c.planned())
		doc := clusterDocOf(m, c)
		if doc.Base != nil {
			d.Summary.Bases[doc.Base.Status]++
		}
		d.Clusters = append(d.Clusters, doc)
		for _, o := range c.Outcomes {
			touched[o.Change.End.Link] = true
		}
	}
	for _, l := range Links(r) {
		d.Summary.Links[l.Status()]++
		doc := linkDocOf(m, l)
		doc.touched = touched[l.Pair]
		d.Links = append(d.Links, doc)
	}
	return d
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

func problemDocs(m mask, problems []api.Problem) []problemDoc {
	out := make([]problemDoc, 0, len(problems))
	for _, p := range problems {
		out = append(out, problemDoc{
			File: m.line(p.Pos.File), Line: p.Pos.Line, Column: p.Pos.Col, Warning: p.Warning, Code: p.Code,
			Message: m.line(api.Problem{Message: p.Message, See: p.See}.String()), Hint: m.line(p.Hint),
		})
	}
	return out
}

func (p problemDoc) String() string {
	return Line(api.Problem{
		Pos: api.Pos{File: p.File, Line: p.Line, Col: p.Column}, Warning: p.Warning, Message: p.Message, Hint: p.Hint,
	})
}

func linkDocOf(m mask, l LinkRow) linkDoc {
	return linkDoc{
		Source: string(l.Pair.Source), Target: string(l.Pair.Target), Status: l.Status(), phase: l.Phase, Leaving: l.Leaving,
		Reason: m.reason(l.Reason()), SourceEnd: endDocOf(m, l.Source), TargetEnd: endDocOf(m, l.Target),
		Health: stageDocs(m, l.Source),
	}
}

func endDocOf(m mask, r plan.Row) endDoc {
	d := endDoc{Status: endStatus(r.Phase, r.Leaving), Reason: m.reason(r.Why), Deleting: r.Going, phase: r.Phase}
	for _, u := range r.Unready {
		d.NotReady = append(d.NotReady, unreadyDoc{Key: u.Key, Reason: m.line(u.Why), Failed: u.Failed})
	}
	return d
}

func (l linkDoc) pair() string { return l.Source + "→" + l.Target }

func (l linkDoc) words() string { return words(l.Status, l.Leaving) }

// words are a status and, of what is denied or blocked while it leaves, that it leaves.
func words(s Status, leaving bool) string {
	if leaving && s != Removed && s != Leaving {
		return string(s) + " (leaving)"
	}
	return string(s)
}

// words are as those of a link.
func (b baseDoc) words() string {
	return "base " + words(b.Status, b.Leaving)
}

// notes are the rows of a cluster that is not just Ready: its status, and what its base has to tell.
func (c clusterDoc) notes() (rows [][]string) {
	if c.Status != Ready {
		rows = append(rows, []string{c.Name, string(c.Status), sentence(c.Reason)})
	}
	if c.Base != nil {
		rows = append(rows, []string{c.Name, c.Base.words(), sentence(c.Base.Reason)})
	}
	if len(c.Strays) > 0 {
		rows = append(rows, []string{c.Name, "orphans", c.strays()})
	}
	return rows
}

func clusterDocOf(m mask, c Cluster) clusterDoc {
	d := clusterDoc{
		Name: string(c.Name), Status: c.Status(), Reason: m.reason(c.Why()), Writes: []writeDoc{}, Planned: []writeDoc{},
		confinedDoc: confinedDoc{m.reason(c.Step.Unconfined)}, straysDoc: straysDoc{c.Step.Strays, c.Step.MoreStrays},
	}
	for _, row := range c.Step.Rows {
		if row.End.IsBase() && !row.Quiet() && c.Status() == Ready {
			d.Base = &baseDoc{endDocOf(m, row), row.Leaving}
		}
	}
	for _, o := range c.Outcomes {
		d.Writes = added(d.Writes, writeDocOf(m, o.Change, o.Err))
	}
	for _, ch := range c.planned() {
		d.Planned = added(d.Planned, writeDocOf(m, ch, nil))
	}
	return d
}

func writeDocOf(m mask, c object.Change, err error) writeDoc {
	w := writeDoc{
		Action: c.Action.String(), Key: c.Key, Reason: m.reason(&c.Why), Times: 1,
		Source: string(c.End.Link.Source), Target: string(c.End.Link.Target),
	}
	if err != nil {
		said := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s %s: ", c.Action, c.Key))
		w.Error = cmp.Or(m.line(said), "failed")
	}
	return w
}

// added counts what was tried again instead of repeating it.
func added(all []writeDoc, w writeDoc) []writeDoc {
	for i, old := range all {
		if old.Action == w.Action && old.Key == w.Key && *old.Reason == *w.Reason && old.Error == w.Error && old.Source == w.Source && old.Target == w.Target {
			all[i].Times++
			return all
		}
	}
	return append(all, w)
}

// writes counts the outcomes.
func (c clusterDoc) writes() (written, failed int) {
	for _, w := range c.Writes {
		if w.Error != "" {
			failed += w.Times
		} else {
			written += w.Times
		}
	}
	return written, failed
}

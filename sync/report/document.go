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
	Commit   string       `json:"commit,omitempty"`
	Head     string       `json:"head,omitempty"`    // the newest that was seen, in force or not
	Error    string       `json:"error,omitempty"`   // why there was no pass, or only one of the last good commit
	ReadOnly bool         `json:"readOnly"`          // nothing was written anywhere
	Syncing  bool         `json:"syncing,omitempty"` // a pass is under way: clusters that it has not looked at yet are unread
	Clean    bool         `json:"clean"`             // everything declared is in place or suspended, and nothing failed
	Seconds  float64      `json:"seconds,omitempty"`
	Summary  summary      `json:"summary"`
	Problems []problemDoc `json:"problems"`
	Links    []linkDoc    `json:"links"`    // sorted by source, then target
	Debts    []debtDoc    `json:"debts"`    // sorted by cluster, then source, then target
	Clusters []clusterDoc `json:"clusters"` // sorted by name
}

// summary counts links by state, bases by standing, clusters by state, and writes.
type summary struct {
	Links    map[plan.Standing]int `json:"links"`
	Bases    map[plan.Standing]int `json:"bases"` // those that have anything to tell
	Clusters map[State]int         `json:"clusters"`
	Written  int                   `json:"written"`
	Failed   int                   `json:"failed"`
	Debts    int                   `json:"debts"`
	Planned  int                   `json:"planned"` // and not done: read only, or not ours to write
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
	State     plan.Standing  `json:"state"`    // the word by which it is counted
	Standing  plan.Standing  `json:"standing"` // of the worse end
	Leaving   bool           `json:"leaving"`
	Reason    *object.Reason `json:"reason,omitempty"`
	SourceEnd endDoc         `json:"sourceEnd"`
	TargetEnd endDoc         `json:"targetEnd"`
	Health    []stageDoc     `json:"health"` // all stages in order; none of a link that leaves
	touched   bool
}

type endDoc struct {
	Standing plan.Standing  `json:"standing"`
	Reason   *object.Reason `json:"reason,omitempty"`
	Going    []object.Key   `json:"going,omitempty"`    // of ours, gates to come included
	NotReady []unreadyDoc   `json:"notReady,omitempty"` // of an end in place
}

type unreadyDoc struct {
	Key    object.Key `json:"key"`
	Reason string     `json:"reason"`
	Failed bool       `json:"failed"` // it will not be by waiting
}

type clusterDoc struct {
	Name   string         `json:"name"`
	State  State          `json:"state"`
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
		Commit: string(r.Commit), Head: string(r.Head), Error: m.line(r.Err), ReadOnly: r.ReadOnly, Syncing: r.When == Syncing, Clean: r.Clean(), Seconds: r.Took.Seconds(),
		Summary: summary{
			Links: map[plan.Standing]int{}, Bases: map[plan.Standing]int{}, Clusters: map[State]int{}, Written: counts.Written, Failed: counts.Failed, Debts: counts.Debts,
		},
		Problems: problemDocs(m, r.Problems), Links: []linkDoc{}, Debts: r.debts(), Clusters: []clusterDoc{},
	}
	touched := map[api.Pair]bool{}
	for _, c := range r.Clusters {
		d.Summary.Clusters[c.State()]++
		d.Summary.Planned += len(c.planned())
		doc := clusterDocOf(m, c)
		if doc.Base != nil {
			d.Summary.Bases[doc.Base.Standing]++
		}
		d.Clusters = append(d.Clusters, doc)
		for _, o := range c.Outcomes {
			touched[o.Change.End.Link] = true
		}
	}
	for _, l := range Links(r) {
		d.Summary.Links[l.State()]++
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
		Source: string(l.Pair.Source), Target: string(l.Pair.Target), State: l.State(), Standing: l.Standing, Leaving: l.Leaving,
		Reason: m.reason(l.Why), SourceEnd: endDocOf(m, l.Source), TargetEnd: endDocOf(m, l.Target),
		Health: stageDocs(m, l.Source),
	}
}

func endDocOf(m mask, r plan.Row) endDoc {
	d := endDoc{Standing: r.Standing, Reason: m.reason(r.Why), Going: r.Going}
	for _, u := range r.Unready {
		d.NotReady = append(d.NotReady, unreadyDoc{Key: u.Key, Reason: m.line(u.Why), Failed: u.Failed})
	}
	return d
}

func (l linkDoc) pair() string { return l.Source + "→" + l.Target }

// words are standing and, of what leaves, that it does.
func (l linkDoc) words() string {
	if l.Leaving && l.Standing != plan.Removed {
		return "leaving (" + string(l.Standing) + ")"
	}
	return string(l.Standing)
}

// words are as those of a link.
func (b baseDoc) words() string {
	return "base " + linkDoc{Standing: b.Standing, Leaving: b.Leaving}.words()
}

// notes are the rows of a cluster that is not just ready: its state, and what its base has to tell.
func (c clusterDoc) notes() (rows [][]string) {
	if c.State != Ready {
		rows = append(rows, []string{c.Name, string(c.State), sentence(c.Reason)})
	}
	if c.Base != nil {
		rows = append(rows, []string{c.Name, c.Base.words(), sentence(c.Base.Reason)})
	}
	if len(c.Strays) > 0 {
		rows = append(rows, []string{c.Name, "strays", c.strays()})
	}
	return rows
}

func clusterDocOf(m mask, c Cluster) clusterDoc {
	d := clusterDoc{
		Name: string(c.Name), State: c.State(), Reason: m.reason(c.Why()), Writes: []writeDoc{}, Planned: []writeDoc{},
		confinedDoc: confinedDoc{m.reason(c.Step.Unconfined)}, straysDoc: straysDoc{c.Step.Strays, c.Step.MoreStrays},
	}
	for _, row := range c.Step.Rows {
		if row.End.IsBase() && !row.Quiet() && c.State() == Ready {
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

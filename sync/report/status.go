package report

import (
	"strings"

	"github.com/linkwright/linkwright/object"
)

// status is how things stand, without what was written.
type status struct {
	openingDoc
	Applied  string          `json:"appliedRevision,omitempty"`
	Observed string          `json:"observedRevision,omitempty"`
	Error    string          `json:"error,omitempty"`
	Clean    bool            `json:"clean"`
	Problems []problemDoc    `json:"problems"`
	Links    []linkDoc       `json:"links"`          // sorted by source, then target
	Cleanup  []cleanupDoc    `json:"pendingCleanup"` // sorted by cluster, then source, then target
	Clusters []clusterStatus `json:"clusters"`       // sorted by name
	doc      document
	opens    bool
}

type clusterStatus struct {
	Name   string         `json:"name"`
	Status Status         `json:"status"`
	Reason *object.Reason `json:"reason,omitempty"`
	Base   *baseDoc       `json:"base,omitempty"` // where it has anything to tell
	confinedDoc
	straysDoc
}

func (r Report) status() status {
	d := r.document()
	s := status{
		Applied: d.Applied, Observed: d.Observed, Error: d.Error, Clean: d.Clean, Problems: d.Problems, Links: d.Links, Cleanup: d.Cleanup,
		Clusters: []clusterStatus{}, doc: d,
	}
	for _, c := range d.Clusters {
		s.Clusters = append(s.Clusters, clusterStatus{Name: c.Name, Status: c.Status, Reason: c.Reason, Base: c.Base, confinedDoc: c.confinedDoc, straysDoc: c.straysDoc})
	}
	if s.opens = r.Opening != nil; s.opens {
		in := make([]carried, 0, len(r.Clusters))
		for _, c := range r.Clusters {
			in = append(in, carried{string(c.Name), string(c.Applied), c.Status() != Unknown})
		}
		s.openingDoc = openingDocOf(redacting(bodiesOf(r)), *r.Opening, in)
	}
	return s
}

// opening is the line that status opens with.
func (s status) opening() string {
	if !s.opens {
		return ""
	}
	return s.line()
}

func (s status) text() string {
	links, clusters := table(linkRows(s.Links)), table(s.clusterRows())
	return paragraphs(s.opening(), s.doc.problems(), links, clusters, columns("", s.doc.pending()))
}

func (s status) markdown() string {
	return paragraphs(s.opening(), s.doc.problemList(), markdownTable(linkRows(s.Links)), markdownTable(s.clusterRows()), s.doc.pendingTable())
}

// linkRows are cells, the first row being the head.
func linkRows(links []linkDoc) [][]string {
	rows := [][]string{{"source", "target", "status", "message"}}
	for _, l := range links {
		rows = append(rows, []string{l.Source, l.Target, l.words(), sentence(l.Reason)})
	}
	return rows
}

func (s status) clusterRows() [][]string {
	rows := [][]string{{"cluster", "status", "message"}}
	for _, c := range s.Clusters {
		rows = append(rows, []string{c.Name, string(c.Status), sentence(c.Reason)})
		if c.Base != nil {
			rows = append(rows, []string{"", c.Base.words(), sentence(c.Base.Reason)})
		}
		if c.missesPolicies() && c.Status == Ready {
			rows = append(rows, []string{"", "not confined", sentence(c.Unconfined)})
		}
		if len(c.Strays) > 0 {
			rows = append(rows, []string{"", "orphans", c.strays()})
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

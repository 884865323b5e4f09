package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Formats of what inventories tell, beside Text, Markdown and JSON.
const (
	Wide   Format = "wide" // text with all that is known
	AsYAML Format = "yaml" // what JSON tells
)

// ToldFormats are those of Told, the first being the default.
func ToldFormats() []Format { return []Format{Text, Wide, Markdown, JSON, AsYAML} }

// End of a link, by the inventory of it.
type End string

// Ends.
const (
	Recorded   End = "Recorded"
	LeavingEnd End = "Leaving"
	Absent     End = "Absent"
	UnknownEnd End = "Unknown" // nobody knows
)

// ToldLink is a link of which an inventory tells.
type ToldLink struct {
	Pair           api.Pair
	Source, Target End
	Conditions     []object.Condition // that were told last
	// Denied is what the inventory of its target's end tells of a denial; nil: nothing.
	Denied  *object.Condition
	Missing []object.Key // Secrets that inventories name and that are not there; sorted
}

// ToldCluster is one that the management cluster remembers; Why says why it could not be read, nil: it was.
type ToldCluster struct {
	Name    api.ClusterName
	Why     *object.Reason
	Applied api.Commit // the revision that its base inventory carries; empty: none, or it was not read
	Cleanup []api.Pair // removed links of which it still holds an end, as the record says; sorted
}

// Told is what inventories tell of links, whatever is declared: links sorted by pair, clusters by name.
type Told struct {
	Opening
	Links     []ToldLink
	Clusters  []ToldCluster
	Decisions []Decision // of people, that are in effect or not understood
	Denied    string     // what the applied revision is denied to remove, and what people can do; empty: nothing
	Ages      bool       // say how long ago moments were
}

// Clean says that all is as declared, as far as inventories tell: the observed revision is applied in all clusters, all of them were
// read, every link that it declares is ready, none is being removed or left in a cluster, and whoever leads is alive.
func (t Told) Clean() bool {
	for _, l := range t.Links {
		if c := t.ready(l); c.Status != object.True {
			return false
		}
	}
	return t.Opening.Clean() && t.Denied == "" && t.unwritten() == 0 && !slices.ContainsFunc(t.Clusters, func(c ToldCluster) bool {
		return c.Why != nil || len(c.Cleanup) > 0 || t.other(c.Name) != ""
	})
}

// Still is what tells the same as long as nothing but time goes by.
func (t Told) Still() Told {
	t.Ages = false
	if t.Leader != nil {
		l := t.Leader.still(t.At)
		t.Leader = &l
	}
	t.Writers = slices.Clone(t.Writers)
	for i, l := range t.Writers {
		t.Writers[i] = l.still(t.At)
	}
	return t
}

// Unread says that no cluster could be read at all.
func (t Told) Unread() bool {
	return len(t.Clusters) > 0 && !slices.ContainsFunc(t.Clusters, func(c ToldCluster) bool { return c.Why == nil })
}

// toldDoc is Told as it may be shown.
type toldDoc struct {
	openingDoc
	Clean     bool             `json:"clean"`
	Unwritten int              `json:"unwritten,omitempty"` // links that are declared, and of which nothing was ever written
	Links     []toldLinkDoc    `json:"links"`               // sorted by source, then target
	Clusters  []toldClusterDoc `json:"clusters"`            // sorted by name
	Decisions []decisionDoc    `json:"decisions,omitempty"`
	Denied    string           `json:"denied,omitempty"`
	declared  int
	wide      bool
}

type toldLinkDoc struct {
	Source     string             `json:"source"`
	Target     string             `json:"target"`
	Ready      string             `json:"ready"`  // True, False or Unknown
	Status     string             `json:"status"` // Ready, Progressing, Stalled, Denied, Leaving or Unknown
	Reason     reason.Code        `json:"reason"`
	Message    string             `json:"message,omitempty"`
	Since      time.Time          `json:"since,omitzero"`
	SourceEnd  End                `json:"sourceEnd"`
	TargetEnd  End                `json:"targetEnd"`
	Conditions []object.Condition `json:"conditions"` // as they were told last
}

type toldClusterDoc struct {
	Name    string         `json:"name"`
	Read    bool           `json:"read"`
	Applied string         `json:"applied,omitempty"`        // revision
	Cleanup []string       `json:"pendingCleanup,omitempty"` // links
	Reason  *object.Reason `json:"reason,omitempty"`
}

func (t Told) document() toldDoc {
	m := redacting(nil)
	d := toldDoc{Clean: t.Clean(), Unwritten: t.unwritten(), declared: t.Revision.Links, Links: []toldLinkDoc{}, Clusters: []toldClusterDoc{}, Decisions: decisionDocs(t.Decisions), Denied: m.line(t.Denied)}
	for _, l := range t.Links {
		c := t.ready(l)
		d.Links = append(d.Links, toldLinkDoc{
			Source: string(l.Pair.Source), Target: string(l.Pair.Target), Ready: c.Status, Status: statusWord(l, c), Reason: c.Reason, Message: m.line(c.Message),
			Since: c.Since, SourceEnd: l.Source, TargetEnd: l.Target, Conditions: append([]object.Condition{}, l.Conditions...),
		})
	}
	in := make([]carried, 0, len(t.Clusters))
	for _, c := range t.Clusters {
		doc := toldClusterDoc{Name: string(c.Name), Read: c.Why == nil, Applied: string(c.Applied), Reason: m.reason(c.Why)}
		for _, p := range c.Cleanup {
			doc.Cleanup = append(doc.Cleanup, p.String())
		}
		d.Clusters = append(d.Clusters, doc)
		in = append(in, carried{doc.Name, doc.Applied, doc.Read})
	}
	d.openingDoc = openingDocOf(m, t.Opening, in)
	if !t.Ages {
		d.at = time.Time{}
	}
	return d
}

// Write tells it in one of ToldFormats.
func (t Told) Write(w io.Writer, f Format) error {
	d := t.document()
	switch f {
	case Wide:
		d.wide, f = true, Text
	case AsYAML:
		out, err := yaml.Marshal(d)
		if err != nil {
			return fmt.Errorf("encode status: %w", err)
		}
		_, err = w.Write(out)
		return err
	}
	return tell(w, f, d)
}

func (d toldDoc) text() string {
	return paragraphs(d.line(), d.denial(), table(d.rows()), table(d.unread()), table(d.decisions()), d.more())
}

func (d toldDoc) markdown() string {
	return paragraphs(d.line(), d.denial(), markdownTable(d.rows()), markdownTable(d.unread()), markdownTable(d.decisions()), d.more())
}

// denial is a line about what is denied.
func (d toldDoc) denial() string {
	if d.Denied == "" {
		return ""
	}
	return "Denied: " + d.Denied + ".\n"
}

// rows are cells, the first row being the head.
func (d toldDoc) rows() [][]string {
	head := []string{"source", "target", "ready", "status", "age", "message"}
	if d.wide {
		head = append(head[:5:5], "since", "source end", "target end", "message")
	}
	rows := [][]string{head}
	for _, l := range d.Links {
		row := []string{l.Source, l.Target, l.Ready, l.Status, d.age(l.Since)}
		if d.wide {
			row = append(row, moment(l.Since), string(l.SourceEnd), string(l.TargetEnd))
		}
		rows = append(rows, append(row, l.words()))
	}
	return rows
}

// age is how long ago a moment was, as kubectl tells it.
func (d toldDoc) age(since time.Time) string {
	if d.at.IsZero() || since.IsZero() {
		return ""
	}
	return brief(max(d.at.Sub(since), 0))
}

// brief is a duration in the unit in which kubectl would tell it.
func brief(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

// words are the message of a link, with its reason where that says more than the status.
func (l toldLinkDoc) words() string {
	if string(l.Reason) == l.Status || l.Ready == object.True || strings.HasSuffix(l.Message, ": "+string(l.Reason)) {
		return l.Message
	}
	return sentence(&object.Reason{Code: l.Reason, Message: l.Message})
}

// unread are the clusters of which nothing is known, and those that still hold something of removed links.
func (d toldDoc) unread() [][]string {
	rows := [][]string{{"cluster", "status", "message"}}
	for _, c := range d.Clusters {
		if !c.Read {
			rows = append(rows, []string{c.Name, string(Unknown), sentence(c.Reason)})
		}
		if len(c.Cleanup) > 0 {
			rows = append(rows, []string{c.Name, "CleanupPending", "of removed links: " + strings.Join(c.Cleanup, ", ")})
		}
	}
	return rows
}

// more is what no row tells.
func (d toldDoc) more() string {
	switch {
	case d.Unwritten > 0:
		return fmt.Sprintf("linkwright has written nothing yet of %d of %s that the revision declares: linkwright status --repo URL shows why.\n", d.Unwritten, count(d.declared, "link"))
	case len(d.Links) > 0:
		return ""
	}
	return "no link in " + count(len(d.Clusters), "cluster") + "\n"
}

// moment is a time in UTC; empty for none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

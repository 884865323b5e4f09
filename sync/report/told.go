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
	Recorded   End = "recorded"
	LeavingEnd End = "leaving"
	Absent     End = "absent"
	NotRead    End = "not read" // nobody knows
)

// ToldLink is a link of which an inventory tells.
type ToldLink struct {
	Pair           api.Pair
	Source, Target End
	Conditions     []object.Condition // that were told last
}

// ToldCluster is one that the home cluster remembers; Why says why it could not be read, nil: it was.
type ToldCluster struct {
	Name    api.ClusterName
	Why     *object.Reason
	Applied api.Commit // the revision that its base inventory carries; empty: none, or it was not read
	Cleanup []api.Pair // removed links of which it still holds an end, as the record says; sorted
}

// Told is what inventories tell of links, whatever is declared: links sorted by pair, clusters by name.
type Told struct {
	Links     []ToldLink
	Clusters  []ToldCluster
	Decisions []Decision // of people, that are in effect or not understood
	Leader    *Leader    // nil: there is no lease, or it could not be read
	At        time.Time  // when all of it was read
	Ages      bool       // say how long ago moments were: not where what is unchanged is shown once
}

// Reasons for which nobody knows whether a link is ready.
const (
	notTold   = "NotTold" // an earlier release wrote it last, or nothing is known of it yet
	notRead   = "NotRead" // its source could not be read
	leavesNow = "Leaving"
)

// ready is the condition Ready of a link as it is to be told.
func (l ToldLink) ready() object.Condition {
	reason := ""
	switch i := slices.IndexFunc(l.Conditions, func(c object.Condition) bool { return c.Type == object.Ready }); {
	case l.Source == LeavingEnd || l.Target == LeavingEnd:
		reason = leavesNow
	case l.Source == NotRead:
		reason = notRead
	case i >= 0:
		return l.Conditions[i]
	default:
		reason = notTold
	}
	return object.Condition{Type: object.Ready, Status: object.Unknown, Reason: reason}
}

// Clean says that all is as declared, as far as inventories tell: all clusters were read, every link is ready and
// none is being removed or left in a cluster, and whoever leads is alive.
func (t Told) Clean() bool {
	for _, l := range t.Links {
		if c := l.ready(); c.Status != object.True {
			return false
		}
	}
	if t.Leader != nil && t.Leader.lost(t.At) {
		return false
	}
	return !slices.ContainsFunc(t.Clusters, func(c ToldCluster) bool { return c.Why != nil || len(c.Cleanup) > 0 })
}

// toldDoc is Told as it may be shown.
type toldDoc struct {
	Clean     bool             `json:"clean"`
	Leader    *leaderDoc       `json:"leader,omitempty"`
	Links     []toldLinkDoc    `json:"links"`    // sorted by source, then target
	Clusters  []toldClusterDoc `json:"clusters"` // sorted by name
	Decisions []decisionDoc    `json:"decisions,omitempty"`
	wide      bool
	at        time.Time // what ages are counted to; zero: none are told
}

type toldLinkDoc struct {
	Source     string             `json:"source"`
	Target     string             `json:"target"`
	Ready      string             `json:"ready"` // True, False or Unknown
	Reason     string             `json:"reason"`
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
	d := toldDoc{Clean: t.Clean(), Leader: leaderAt(t.Leader, t.At), Links: []toldLinkDoc{}, Clusters: []toldClusterDoc{}, Decisions: decisionDocs(t.Decisions)}
	if t.Ages {
		d.at = t.At
	}
	for _, l := range t.Links {
		c := l.ready()
		d.Links = append(d.Links, toldLinkDoc{
			Source: string(l.Pair.Source), Target: string(l.Pair.Target), Ready: c.Status, Reason: c.Reason, Message: m.line(c.Message),
			Since: c.Since, SourceEnd: l.Source, TargetEnd: l.Target, Conditions: append([]object.Condition{}, l.Conditions...),
		})
	}
	for _, c := range t.Clusters {
		doc := toldClusterDoc{Name: string(c.Name), Read: c.Why == nil, Applied: string(c.Applied), Reason: m.reason(c.Why)}
		for _, p := range c.Cleanup {
			doc.Cleanup = append(doc.Cleanup, p.String())
		}
		d.Clusters = append(d.Clusters, doc)
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
	return paragraphs(d.head(), table(d.rows()), table(d.unread()), table(d.decisions()), d.none())
}

func (d toldDoc) markdown() string {
	return paragraphs(d.head(), markdownTable(d.rows()), markdownTable(d.unread()), markdownTable(d.decisions()), d.none())
}

// rows are cells, the first row being the head.
func (d toldDoc) rows() [][]string {
	head := []string{"source", "target", "ready", "reason", "since"}
	if d.wide {
		head = append(head, "source end", "target end", "also true", "message")
	}
	rows := [][]string{head}
	for _, l := range d.Links {
		row := []string{l.Source, l.Target, l.Ready, l.Reason, moment(l.Since)}
		if d.wide {
			row = append(row, string(l.SourceEnd), string(l.TargetEnd), l.others(), l.Message)
		}
		rows = append(rows, row)
	}
	return rows
}

// others are the types of what is True beside Ready.
func (l toldLinkDoc) others() string {
	var out []string
	for _, c := range l.Conditions {
		if c.Type != object.Ready && c.Status == object.True {
			out = append(out, c.Type)
		}
	}
	return strings.Join(out, ",")
}

// unread are the clusters of which nothing is known, and those that still hold something of removed links.
func (d toldDoc) unread() [][]string {
	rows := [][]string{{"cluster", "state", "reason"}}
	for _, c := range d.Clusters {
		if !c.Read {
			rows = append(rows, []string{c.Name, string(Unread), sentence(c.Reason)})
		}
		if len(c.Cleanup) > 0 {
			rows = append(rows, []string{c.Name, "pending cleanup", "of removed links: " + strings.Join(c.Cleanup, ", ")})
		}
	}
	return rows
}

func (d toldDoc) none() string {
	if len(d.Links) > 0 {
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

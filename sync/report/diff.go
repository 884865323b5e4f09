package report

import (
	"bytes"
	"io"
	"slices"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// Diff is what would be written, cluster by cluster in name order.
type Diff struct {
	Problems []api.Problem
	Clusters []ClusterDiff
}

// ClusterDiff is one cluster's part of a Diff. Denied: nothing may be written there at all.
type ClusterDiff struct {
	Name    api.ClusterName
	Denied  *object.Reason
	Rows    []plan.Row
	Objects []ObjectDiff // in the order of writing
}

// ObjectDiff is one object before and after. A body without bytes: the object is not there.
type ObjectDiff struct {
	Action        object.Action
	Key           object.Key
	Why           object.Reason
	Before, After object.Body
	Going         bool // goes at a later gate of an unlink, not in this step
}

// Different says that something would be written.
func (d Diff) Different() bool {
	return slices.ContainsFunc(d.Clusters, func(c ClusterDiff) bool { return slices.ContainsFunc(c.Objects, ObjectDiff.differs) })
}

// Stopped says that something declared would not be done: a cluster or an end is denied, or an end is blocked.
func (d Diff) Stopped() bool {
	return slices.ContainsFunc(d.Clusters, func(c ClusterDiff) bool {
		return c.Denied != nil || slices.ContainsFunc(c.Rows, func(r plan.Row) bool { return stops(r.Phase, r.Why) })
	})
}

// stops says that an end that stands so does not become what is declared before somebody does something about it. A
// token comes by itself; where its Secret is only written in the mind, it never does.
func stops(s plan.Phase, why *object.Reason) bool {
	return s == plan.Denied || s == plan.Blocked && (why == nil || why.Code != reason.CredentialNotIssued)
}

// Unfinished says that an end whose removal began before is still there, and waits: such as for mirrors that are being drained.
func (d Diff) Unfinished() bool {
	return slices.ContainsFunc(d.Clusters, func(c ClusterDiff) bool {
		return slices.ContainsFunc(c.Rows, func(r plan.Row) bool { return r.Leaving && r.Phase == plan.Waiting })
	})
}

func (o ObjectDiff) differs() bool { return o.Going || o.Action != object.None }

// Write tells the differences. key gives what the secrets of a cluster are hashed with (the uid of its
// kube-system); where it gives nothing, or is nil, not even a change of theirs is shown.
func (d Diff) Write(w io.Writer, f Format, key func(api.ClusterName) string) error {
	return tell(w, f, d.document(key))
}

// diffDoc is a Diff as it may be shown: JSON is exactly this.
type diffDoc struct {
	Different bool             `json:"different"`
	Problems  []problemDoc     `json:"problems"`
	Clusters  []clusterDiffDoc `json:"clusters"` // sorted by name
}

type clusterDiffDoc struct {
	Name    string          `json:"name"`
	Reason  *object.Reason  `json:"denied,omitempty"` // nothing may be written here
	Ends    []rowDoc        `json:"ends"`
	Objects []objectDiffDoc `json:"objects"` // in the order of writing
}

// rowDoc is an end: of a link, or, without source and target, of the cluster itself.
type rowDoc struct {
	Source  string         `json:"source,omitempty"`
	Target  string         `json:"target,omitempty"`
	Status  Status         `json:"status"`
	Leaving bool           `json:"leaving"`
	Reason  *object.Reason `json:"reason,omitempty"`
	phase   plan.Phase
}

type objectDiffDoc struct {
	Action string         `json:"action"`
	Key    object.Key     `json:"key"`
	Reason *object.Reason `json:"reason"`
	Later  bool           `json:"later"`            // only once what is before it in an unlink is gone
	Before any            `json:"before,omitempty"` // masked, without what the API server writes
	After  any            `json:"after,omitempty"`
	patch  string         // from Before to After, as YAML
}

func (d Diff) document(key func(api.ClusterName) string) diffDoc {
	var secrets []keyed
	for _, c := range d.Clusters {
		for _, o := range c.Objects {
			secrets = append(secrets, keyed{o.Key, o.Before}, keyed{o.Key, o.After})
		}
	}
	m := redacting(secrets)
	out := diffDoc{Different: d.Different(), Problems: problemDocs(m, d.Problems), Clusters: []clusterDiffDoc{}}
	for _, c := range d.Clusters {
		k := ""
		if key != nil {
			k = key(c.Name)
		}
		out.Clusters = append(out.Clusters, clusterDiffDocOf(m, k, c))
	}
	return out
}

// clusterDiffDocOf: messages are redacted, bodies hashed.
func clusterDiffDocOf(m mask, key string, c ClusterDiff) clusterDiffDoc {
	out := clusterDiffDoc{Name: string(c.Name), Reason: m.reason(c.Denied), Ends: []rowDoc{}, Objects: []objectDiffDoc{}}
	for _, r := range c.Rows {
		out.Ends = append(out.Ends, rowDoc{
			Source: string(r.End.Link.Source), Target: string(r.End.Link.Target),
			Status: endStatus(r.Phase, r.Leaving), phase: r.Phase, Leaving: r.Leaving, Reason: m.reason(r.Why),
		})
	}
	for _, o := range c.Objects {
		if o.differs() {
			out.Objects = append(out.Objects, objectDiffDocOf(m, key, c.Name, o))
		}
	}
	return out
}

func objectDiffDocOf(m mask, key string, cluster api.ClusterName, o ObjectDiff) objectDiffDoc {
	h := m.hashing(key)
	d := objectDiffDoc{
		Action: o.Action.String(), Key: o.Key, Reason: m.reason(&o.Why), Later: o.Going,
		Before: h.shown(o.Key, o.Before), After: h.shown(o.Key, o.After),
	}
	if o.Going && o.Action == object.None {
		d.Action = object.Delete.String()
	}
	d.patch = patch(string(cluster)+"/"+o.Key.String(), asYAML(d.Before), asYAML(d.After))
	return d
}

// patch is a unified diff; empty where there is nothing to see.
func patch(name string, before, after []byte) string {
	from, to := name, name
	if len(before) == 0 {
		from = "/dev/null"
	}
	if len(after) == 0 {
		to = "/dev/null"
	}
	_, rest, _ := bytes.Cut(unified.Diff(from, before, to, after), []byte("\n"))
	return string(rest)
}

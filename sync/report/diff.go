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
	"github.com/linkwright/linkwright/sync/report/output"
)

// Diff is what would be written, cluster by cluster in name order.
type Diff struct {
	Problems []api.Problem
	Created  []plan.NewLink
	Unlinks  []plan.Unlink
	Narrowed []plan.Narrowing
	Restarts []plan.Restarts
	Clusters []ClusterDiff
}

// ClusterDiff is one cluster's part of a Diff. Denied: nothing may be written there at all, or it could not be read.
type ClusterDiff struct {
	Name    api.ClusterName
	Denied  *object.Reason
	Rows    []plan.Row
	Objects []ObjectDiff // in the order of writing
	Next    []ObjectDiff // of the sync after an adoption; no text shows it
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

// stops reports whether an end in that phase does not become what is declared before somebody acts. A
// token comes by itself; where its Secret is only written in a simulation, it never does.
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

// Answer is the differences. key gives what the secrets of a cluster are hashed with (the uid of its
// kube-system); where it gives nothing, or is nil, not even a change of theirs is shown.
func (d Diff) Answer(key func(api.ClusterName) string) Answer {
	doc := d.document(key)
	return documented(doc.answer(), doc.text, doc.markdown)
}

// Write writes the differences in a format.
func (d Diff) Write(w io.Writer, f Format, key func(api.ClusterName) string) error {
	return d.Answer(key).Write(w, f)
}

// diffDoc is a Diff as it may be shown, with what only texts need.
type diffDoc struct {
	output.Diff // without clusters
	created     newLinks
	unlinks     unlinkDocs
	clusters    []clusterDiffDoc
}

type clusterDiffDoc struct {
	output.ClusterDiff               // without ends and objects
	unlinks            unlinksByPair // of the whole diff
	ends               []rowDoc
	objects            []objectDiffDoc
	next               []objectDiffDoc
}

type rowDoc struct {
	output.EndDiff
	phase plan.Phase
	held  int // changes that wait until it is resumed
}

type objectDiffDoc struct {
	output.ObjectDiff
	patch string // from Before to After, as YAML; empty for what is only named
}

func (d diffDoc) answer() output.Diff {
	out := d.Diff
	out.Clusters = make([]output.ClusterDiff, len(d.clusters))
	for i, c := range d.clusters {
		c.Ends, c.Objects, c.Next = make([]output.EndDiff, len(c.ends)), shownObjects(c.objects), shownObjects(c.next)
		for j, e := range c.ends {
			c.Ends[j] = e.EndDiff
		}
		out.Clusters[i] = c.ClusterDiff
	}
	return out
}

func shownObjects(all []objectDiffDoc) []output.ObjectDiff {
	out := make([]output.ObjectDiff, len(all))
	for i, o := range all {
		out[i] = o.ObjectDiff
	}
	return out
}

func (d Diff) document(key func(api.ClusterName) string) diffDoc {
	var secrets []keyed
	for _, c := range d.Clusters {
		for _, o := range slices.Concat(c.Objects, c.Next) {
			secrets = append(secrets, keyed{o.Key, o.Before}, keyed{o.Key, o.After})
		}
	}
	m := redacting(secrets)
	out := diffDoc{Diff: output.Diff{TypeMeta: output.Of(output.KindDiff), Different: d.Different(), Problems: problemsOf(m, d.Problems)}}
	out.Unlinks, out.unlinks = []output.Unlink{}, unlinkDocsOf(m, d.Unlinks)
	for _, u := range out.unlinks {
		out.Unlinks = append(out.Unlinks, u.document())
	}
	out.created = d.Created
	out.Created = out.created.documents()
	out.Narrowed, out.Restarts = narrowedOf(m, d.Narrowed), followingOf(d.Restarts)
	unlinks := out.unlinks.byPair()
	for _, c := range d.Clusters {
		k := ""
		if key != nil {
			k = key(c.Name)
		}
		doc := clusterDiffDocOf(m, k, c)
		doc.unlinks = unlinks
		out.clusters = append(out.clusters, doc)
	}
	return out
}

// clusterDiffDocOf: messages are redacted, bodies hashed.
func clusterDiffDocOf(m mask, key string, c ClusterDiff) clusterDiffDoc {
	out := clusterDiffDoc{ClusterDiff: output.ClusterDiff{Name: string(c.Name), Reason: m.reason(c.Denied)}}
	if c.Denied != nil {
		out.Status = string(clusterStatus(c.Denied))
	}
	for _, r := range c.Rows {
		held := 0
		if r.Phase == plan.Suspended {
			held = r.Held
		}
		out.ends = append(out.ends, rowDoc{output.EndDiff{
			Source: string(r.End.Link.Source), Target: string(r.End.Link.Target),
			Status: string(endStatus(r.Phase, r.Leaving)), Leaving: r.Leaving, Reason: m.reason(r.Why),
		}, r.Phase, held})
	}
	for _, o := range c.Objects {
		if o.differs() {
			out.objects = append(out.objects, objectDiffDocOf(m, key, c.Name, o))
		}
	}
	for _, o := range c.Next {
		out.next = append(out.next, objectDiffDocOf(m, key, c.Name, o))
	}
	return out
}

func objectDiffDocOf(m mask, key string, cluster api.ClusterName, o ObjectDiff) objectDiffDoc {
	h := m.hashing(key)
	d := objectDiffDoc{ObjectDiff: output.ObjectDiff{
		Action: o.Action.String(), Object: o.Key, Reason: m.reason(&o.Why), Later: o.Going,
		Before: h.shown(o.Key, o.Before), After: h.shown(o.Key, o.After),
	}}
	if o.Going && o.Action == object.None {
		d.Action = object.Delete.String()
	}
	if !d.named() {
		d.patch = patch(string(cluster)+"/"+o.Key.String(), asYAML(d.Before), asYAML(d.After))
	}
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

package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// NewLink is a declared link of which nothing is in its source yet.
type NewLink struct {
	Link api.Pair
	linkerd.Chosen
}

// NewLinks returns the links of which the steps of Simulate create the Linkerd Link, sorted by link.
func NewLinks(w state.Snapshot, steps map[api.ClusterName][]Step) (out []NewLink) {
	for name, all := range steps {
		written := map[api.Pair]object.Body{} // the Linkerd Links as they are in the end: some selectors may come later
		for _, s := range all {
			for _, c := range s.Changes {
				_, created := written[c.End.Link]
				if c.Key == linkerd.LinkKey(w.Spec(name).Linkerd, c.End.Link.Target) && (created || isFirst(w, c)) {
					written[c.End.Link] = c.Object.Body
				}
			}
		}
		for link, body := range written {
			out = append(out, NewLink{link, linkerd.SelectorsIn(body).Chosen()})
		}
	}
	slices.SortFunc(out, func(a, b NewLink) int { return a.Link.Compare(b.Link) })
	return out
}

// isFirst reports whether a change creates an object of an end that has no inventory.
func isFirst(w state.Snapshot, c object.Change) bool {
	_, recorded := inventory.Of(w.Owner, c.End, w.Clusters[c.End.Cluster].Live)
	return c.Action == object.Create && !recorded
}

// Narrowing is a declared link whose selectors no longer choose some services.
type Narrowing struct {
	Link api.Pair
	Mirrors
	Lost []object.Key // mirrors and federated Services that may go
}

// Narrowings returns the links whose selectors the steps of Simulate narrow, sorted by link.
func Narrowings(w state.Snapshot, steps map[api.ClusterName][]Step) (out []Narrowing) {
	m := newMirrorReader(w)
	for name, all := range steps {
		for _, s := range all {
			for _, c := range s.Changes {
				if c.Action != object.Drain || c.Why.Code == reason.Draining {
					continue
				}
				link := c.End.Link
				n := Narrowing{Link: link, Mirrors: m.of(link)}
				if live := w.Clusters[name].Live; n.Known {
					body, _ := live.Body(c.Key)
					n.Lost = linkerd.SelectorsIn(c.Object.Body).Lost(linkerd.SelectorsIn(body), m.mirrors[link.Source][link.Target], live)
				}
				out = append(out, n)
			}
		}
	}
	slices.SortFunc(out, func(a, b Narrowing) int { return a.Link.Compare(b.Link) })
	return out
}

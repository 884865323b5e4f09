package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// Unlink is the removal of one link, as simulated steps do it.
type Unlink struct {
	Link   api.Pair
	Target api.ClusterName // the cluster of the target's end: Link.Target may be a second name of it
	Begun  bool            // an earlier sync began it
	Mirrors
	Stopped  *object.Reason // why nothing of the link is removed; nil: nothing stops it
	Stages   []UnlinkStage  // in order; if Stopped is PruneLimitExceeded, those that an approval allows
	Waiting  *object.Reason // what is waited for after all stages; nil: nothing is left
	Deadline time.Duration  // how long the drain may take; zero: there is none
}

// Mirrors are the Services that exist in a source because of one link.
type Mirrors struct {
	Known     bool           // the source was read
	Unread    *object.Reason // why it was not; nil, and not Known: no cluster is read at all
	Services  []object.Key   // mirrors of the target's services
	Serving   int            // how many of these have a ready endpoint
	Federated []object.Key   // Services of which the target is a member
}

// UnlinkStage is what is done next in one of the clusters.
type UnlinkStage struct {
	Kind    StageKind
	Cluster api.ClusterName
	Objects []object.Key
}

// StageKind is what a stage of an unlink does.
type StageKind string

// Stages of an unlink.
//
//	EmptySelectors  linkwright empties the selectors of the Linkerd Link
//	RemoveMirrors   Linkerd's controller then removes the mirrors
//	DeleteMirrors   linkwright deletes the mirrors, or what is left of them
//	DeleteObjects   linkwright deletes its own objects, and what Linkerd's controller left beside mirrors
const (
	EmptySelectors StageKind = "EmptySelectors"
	RemoveMirrors  StageKind = "RemoveMirrors"
	DeleteMirrors  StageKind = "DeleteMirrors"
	DeleteObjects  StageKind = "DeleteObjects"
)

// Unlinks returns what the steps of Simulate remove of links, sorted by link. If a prune limit denies a removal, it simulates what an approval
// would allow.
func Unlinks(w state.Snapshot, steps map[api.ClusterName][]Step, r Renderer, policies ...Policy) []Unlink {
	out := unlinks(w, steps)
	if !slices.ContainsFunc(out, Unlink.NeedsApproval) {
		return out
	}
	w.Guard.Approvals = append(slices.Clone(w.Guard.Approvals), inventory.Approval{Units: Removal(w, r).Units, At: w.Now})
	_, steps = Simulate(w, r, policies...)
	for _, then := range unlinks(w, steps) {
		i := slices.IndexFunc(out, func(u Unlink) bool { return u.Link == then.Link })
		if i >= 0 && out[i].NeedsApproval() {
			out[i].Stages, out[i].Waiting = then.Stages, then.Waiting
		}
	}
	return out
}

// NeedsApproval reports whether a prune limit stops the removal.
func (u Unlink) NeedsApproval() bool {
	return u.Stopped != nil && u.Stopped.Code == reason.PruneLimitExceeded
}

// leavingRows are the rows of a link's ends, source first, before the first step and after the last.
type leavingRows struct{ first, last []Row }

func unlinks(w state.Snapshot, steps map[api.ClusterName][]Step) (out []Unlink) {
	found := map[api.Pair]leavingRows{}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		for i, s := range steps[name] {
			for _, r := range s.Rows {
				if !r.Leaving || r.End.IsBase() || w.Linked(r.End.Link) || w.CurrentName(r.End.Link.Source) != r.End.Link.Source {
					continue // it is declared, and moves
				}
				found[r.End.Link] = found[r.End.Link].with(r, i == 0, i == len(steps[name])-1)
			}
		}
	}
	m := newMirrorReader(w)
	for _, link := range slices.SortedFunc(maps.Keys(found), api.Pair.Compare) {
		out = append(out, m.unlink(link, found[link], steps))
	}
	return out
}

// with adds the row of an end.
func (l leavingRows) with(r Row, first, last bool) leavingRows {
	add := func(all []Row) []Row {
		if r.End.IsSource() {
			return slices.Insert(all, 0, r)
		}
		return append(all, r)
	}
	if first {
		l.first = add(l.first)
	}
	if last {
		l.last = add(l.last)
	}
	return l
}

func (m mirrorReader) unlink(link api.Pair, rows leavingRows, steps map[api.ClusterName][]Step) Unlink {
	u := Unlink{Link: link, Target: m.TargetCluster(link), Deadline: m.Policy().Prune.Deadline(), Mirrors: m.of(link)}
	inv, _ := inventory.Of(m.Owner, object.End{Cluster: link.Source, Link: link}, m.Clusters[link.Source].Live)
	u.Begun = inv.Leaving
	u.Stopped = reasonIn(rows.first, Denied, Suspended, Blocked)
	u.Waiting = reasonIn(rows.last, Waiting, Blocked)
	if u.Stopped != nil {
		u.Waiting = nil
	}
	for _, name := range slices.Compact([]api.ClusterName{link.Source, u.Target}) {
		for _, s := range steps[name] {
			for _, c := range s.Changes {
				if c.End.Link == link {
					u = u.with(name, c)
				}
			}
		}
	}
	return u
}

// reasonIn returns the reason of the first row with one of the phases.
func reasonIn(rows []Row, phases ...Phase) *object.Reason {
	for _, r := range rows {
		if slices.Contains(phases, r.Phase) && r.Why != nil {
			return r.Why
		}
	}
	return nil
}

// mirrorReader gives the mirrors of links. It groups those of each source once.
type mirrorReader struct {
	state.Snapshot
	mirrors map[api.ClusterName]map[api.ClusterName]linkerd.Mirror
	health  map[api.ClusterName]map[api.ClusterName]linkerd.GatewayHealth
}

func newMirrorReader(w state.Snapshot) mirrorReader {
	return mirrorReader{w, map[api.ClusterName]map[api.ClusterName]linkerd.Mirror{}, map[api.ClusterName]map[api.ClusterName]linkerd.GatewayHealth{}}
}

// of returns the mirrors of a link, if they are known.
func (m mirrorReader) of(link api.Pair) Mirrors {
	source, l := m.Clusters[link.Source], m.Spec(link.Source).Linkerd
	switch {
	case source.Reading == state.Simulated:
		return Mirrors{}
	case !source.Known():
		return Mirrors{Unread: cmp.Or(source.Err, object.Because(reason.Unknown, "linkwright has not read it"))}
	}
	if why := source.Live.HidesAny(linkerd.MirrorWatches(l)...); why != nil {
		return Mirrors{Unread: why}
	}
	if m.mirrors[link.Source] == nil {
		m.mirrors[link.Source], m.health[link.Source] = linkerd.MirrorsOf(l, source.Live), linkerd.GatewayHealths(l, source.Live)
	}
	found := m.mirrors[link.Source][link.Target]
	out := Mirrors{Known: true, Services: found.Services, Serving: m.health[link.Source][link.Target].Serving}
	for _, f := range found.Federated {
		out.Federated = append(out.Federated, f.Key)
	}
	return out
}

// with adds a change to the stages.
func (u Unlink) with(cluster api.ClusterName, c object.Change) Unlink {
	switch {
	case c.Action == object.Drain && c.Why.Code == reason.Draining:
		u.Stages = append(u.Stages, UnlinkStage{EmptySelectors, cluster, []object.Key{c.Key}},
			UnlinkStage{RemoveMirrors, cluster, slices.Concat(u.Services, u.Federated)})
	case c.Why.Code == reason.LeftByController && u.isMirror(c.Key):
		u = u.add(UnlinkStage{DeleteMirrors, cluster, []object.Key{c.Key}})
	case c.Action == object.Delete:
		u = u.add(UnlinkStage{DeleteObjects, cluster, []object.Key{c.Key}})
	}
	return u
}

// isMirror reports whether a key is a mirror Service, its Endpoints, or a federated Service.
func (u Unlink) isMirror(k object.Key) bool {
	k.Kind = "Service"
	return slices.Contains(u.Services, k) || slices.Contains(u.Federated, k)
}

// add adds a stage. Stages of one kind that follow each other in one cluster are one.
func (u Unlink) add(s UnlinkStage) Unlink {
	if last := len(u.Stages) - 1; last >= 0 && u.Stages[last].Kind == s.Kind && u.Stages[last].Cluster == s.Cluster {
		u.Stages = slices.Clone(u.Stages)
		u.Stages[last].Objects = append(slices.Clone(u.Stages[last].Objects), s.Objects...)
		return u
	}
	u.Stages = append(slices.Clone(u.Stages), s)
	return u
}

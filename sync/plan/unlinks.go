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
		i, found := slices.BinarySearchFunc(out, then.Link, func(u Unlink, link api.Pair) int { return u.Link.Compare(link) })
		if found && out[i].NeedsApproval() {
			out[i].Stages, out[i].Waiting = then.Stages, cmp.Or(then.Stopped, then.Waiting) // another guard may deny it then
		}
	}
	return out
}

// NeedsApproval reports whether a prune limit stops the removal.
func (u Unlink) NeedsApproval() bool {
	return u.Stopped != nil && u.Stopped.Code == reason.PruneLimitExceeded
}

// leaving is what the steps say of the ends of one link: rows, source first, before the first step and after the last; the changes in each
// cluster, in order; and ends that stay in clusters that cannot be read.
type leaving struct {
	first, last []Row
	changes     map[api.ClusterName][]object.Change
	pending     []object.End
}

func unlinks(w state.Snapshot, steps map[api.ClusterName][]Step) (out []Unlink) {
	m, found := newMirrorReader(w), leavingLinks(w, steps)
	for _, link := range slices.SortedFunc(maps.Keys(found), api.Pair.Compare) {
		u := m.unlink(link, *found[link])
		if u.Waiting == nil && u.Stopped == nil {
			u.Waiting = found[link].stays(steps)
		}
		out = append(out, u)
	}
	return out
}

// leavingLinks collects what the steps say of each link in one walk: there may be thousands.
func leavingLinks(w state.Snapshot, steps map[api.ClusterName][]Step) map[api.Pair]*leaving {
	found := map[api.Pair]*leaving{}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		for i, s := range steps[name] {
			for _, r := range s.Rows {
				if !r.Leaving || r.End.IsBase() || w.Linked(r.End.Link) || w.CurrentName(r.End.Link.Source) != r.End.Link.Source {
					continue // it is declared, and moves
				}
				if found[r.End.Link] == nil {
					found[r.End.Link] = &leaving{changes: map[api.ClusterName][]object.Change{}}
				}
				found[r.End.Link].addRow(r, i == 0, i == len(steps[name])-1)
			}
			addWrites(found, s)
		}
	}
	return found
}

// addWrites adds the changes of a step, and the ends that it leaves behind elsewhere.
func addWrites(found map[api.Pair]*leaving, s Step) {
	for _, c := range s.Changes {
		if l := found[c.End.Link]; l != nil {
			l.changes[s.Cluster] = append(l.changes[s.Cluster], c)
		}
	}
	for _, end := range s.Pending {
		if l := found[end.Link]; l != nil {
			l.pending = append(l.pending, end)
		}
	}
}

// addRow adds the row of an end.
func (l *leaving) addRow(r Row, first, last bool) {
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
}

// stays returns why an end stays although all steps are done: its cluster cannot be read. nil: none does.
func (l leaving) stays(steps map[api.ClusterName][]Step) *object.Reason {
	if len(l.pending) == 0 {
		return nil
	}
	at, code := l.pending[0].Cluster, reason.Unknown
	if all := steps[at]; len(all) > 0 && all[len(all)-1].Denied != nil {
		code = all[len(all)-1].Denied.Code
	}
	return object.Because(code, "linkwright cannot read cluster %s: what the link has there stays until it can", at)
}

func (m mirrorReader) unlink(link api.Pair, l leaving) Unlink {
	u := Unlink{Link: link, Target: m.TargetCluster(link), Deadline: m.Policy().Prune.Deadline(), Mirrors: m.of(link)}
	u.Begun = m.begun(link, link.Source) || m.begun(link, u.Target)
	mirrors := map[object.Key]bool{}
	for _, k := range slices.Concat(u.Services, u.Federated) {
		mirrors[k] = true
	}
	for _, name := range slices.Compact([]api.ClusterName{link.Source, u.Target}) {
		for _, c := range l.changes[name] {
			u = u.with(name, c, mirrors)
		}
	}
	u.Stopped, u.Waiting = reasonIn(l.first, Denied, Suspended, Blocked), reasonIn(l.last, Waiting, Blocked)
	switch {
	case u.Stopped == nil:
	case !u.NeedsApproval() && (len(u.Stages) > 0 || u.Begun && u.Waiting != nil):
		u.Stopped, u.Waiting = nil, cmp.Or(u.Waiting, u.Stopped) // one end goes on, whatever stops the other
	default:
		u.Waiting = nil
	}
	return u
}

// begun reports whether an inventory in a cluster records that the removal of a link began.
func (m mirrorReader) begun(link api.Pair, cluster api.ClusterName) bool {
	inv, _ := inventory.Of(m.Owner, object.End{Cluster: cluster, Link: link}, m.Clusters[cluster].Live)
	return inv.Leaving
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

// with adds a change to the stages. Mirrors are the mirror Services of the link, and the federated Services.
func (u Unlink) with(cluster api.ClusterName, c object.Change, mirrors map[object.Key]bool) Unlink {
	service := c.Key // of a mirror, or of its Endpoints
	service.Kind = "Service"
	switch {
	case c.Action == object.Drain && c.Why.Code == reason.Draining:
		u.Stages = append(u.Stages, UnlinkStage{EmptySelectors, cluster, []object.Key{c.Key}},
			UnlinkStage{RemoveMirrors, cluster, slices.Concat(u.Services, u.Federated)})
	case c.Why.Code == reason.LeftByController && mirrors[service]:
		u = u.add(UnlinkStage{DeleteMirrors, cluster, []object.Key{c.Key}})
	case c.Action == object.Delete:
		u = u.add(UnlinkStage{DeleteObjects, cluster, []object.Key{c.Key}})
	}
	return u
}

// add adds a stage. Stages of one kind that follow each other in one cluster are one.
func (u Unlink) add(s UnlinkStage) Unlink {
	if last := len(u.Stages) - 1; last >= 0 && u.Stages[last].Kind == s.Kind && u.Stages[last].Cluster == s.Cluster {
		u.Stages[last].Objects = append(u.Stages[last].Objects, s.Objects...)
		return u
	}
	u.Stages = append(u.Stages, s)
	return u
}

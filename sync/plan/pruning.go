package plan

import (
	"slices"
	"sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// Policy admits the changes of a whole end (nil), or returns why not, so that no link is half written. A policy that denies even an empty list of
// changes denies the end: nothing of it is written, including its inventory and the base's commit.
type Policy func(w state.Snapshot, end object.End, changes []object.Change) *object.Reason

// pruning asks package prune what may be removed, in any cluster.
type pruning struct {
	*removals
	policies []Policy
}

// input returns what package prune judges of a cluster, by its rebuilt inventories.
func (p *pruning) input(name api.ClusterName, wanted []object.Desired, recorded []inventory.Inventory) prune.Input {
	current := p.Clusters[name]
	l := p.Spec(name).Linkerd
	in := prune.Input{
		Live: prune.Live{
			Linkerd: l, Observation: current.Live, WasRead: current.Covers,
			Mirrors: sync.OnceValue(func() map[api.ClusterName]linkerd.Mirror { return linkerd.MirrorsOf(l, current.Live) }),
		},
		Ends: prune.Ends{Desired: make(map[object.End]object.Desired, len(wanted)), Recorded: recorded},
		Rules: prune.Rules{
			In: p.Installation, Policy: p.Policy(), Leaving: map[api.ClusterName]bool{name: p.Leaves(name)}, Removal: p.removal, Uninstall: p.Uninstall, UnreachableSourceTimeout: p.UnreachableSourceTimeout, Now: p.Now,
		},
	}
	for _, inv := range in.Recorded {
		if inv.End.IsBase() {
			continue
		}
		in.Leaving[inv.End.Link.Source], in.Leaving[inv.End.Link.Target] = p.Leaves(inv.End.Link.Source), p.Leaves(p.TargetCluster(inv.End.Link))
	}
	for _, w := range wanted {
		in.Desired[w.End] = w
	}
	in.Retired, in.External = p.retired(in), p.external(name, in)
	in.Replacement = func(end object.End) *object.Reason {
		_, declared := in.Desired[end]
		return p.awaitsReplacement(name, end, declared)
	}
	return in
}

// external returns the ends of a cluster whose controller is the user's, each with the release of Helm's that installed the multicluster extension
// there: those that are declared so, and what is recorded of the same links by a former name of the source.
func (p *pruning) external(name api.ClusterName, in prune.Input) map[object.End]linkerd.Helm {
	var out map[object.End]linkerd.Helm
	add := func(end object.End) {
		if out == nil {
			out = map[object.End]linkerd.Helm{}
		}
		out[end] = linkerd.HelmOf(p.Clusters[name].Live)
	}
	_, links, _ := p.Declared(name)
	for _, l := range links {
		if l.Spec.Controller.Mode == api.External {
			add(object.End{Cluster: name, Link: l.Pair()})
		}
	}
	for _, inv := range in.Recorded {
		if next, ok := p.nextEnd(name, inv.End); ok {
			if _, external := out[next]; external {
				add(inv.End)
			}
		}
	}
	return out
}

// retired returns the recorded token Secrets of declared ends.
func (p *pruning) retired(in prune.Input) map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, inv := range in.Recorded {
		if _, declared := in.Desired[inv.End]; !declared || inv.End.IsSource() {
			continue
		}
		for _, k := range inv.Entries {
			if _, ok := render.SourceOf(p.Owner, k); ok && k.Kind == "Secret" {
				out[k] = true
			}
		}
	}
	return out
}

// peer returns how the other end of an undeclared link stands, of which own is recorded. A name that was never written to has no end. A cluster that
// is not identified tells nothing. What was read earlier is read again before anything goes by it: see unread.
func (p *pruning) peer(own inventory.Inventory) prune.Peer {
	end := own.End
	at := p.Other(end)
	if !p.IsRecorded(at) || p.abandoned(at) {
		return prune.Peer{State: prune.PeerAbsent}
	}
	here := object.End{Cluster: at, Link: end.Link}
	current, closed := p.Clusters[at], p.denied(here)
	if why := p.Unidentified(at); why != nil {
		peer := prune.Peer{Unread: unreadable(current), Closed: closed}
		if p.silent(here) {
			peer.State = prune.PeerUnreachable
		}
		if why.Code == reason.DuplicateCluster && p.HasLeft(at) { // its cluster is declared by another name: people may not know that this one ends
			peer.Unread = why
		}
		return peer
	}
	far := here
	if !end.IsSource() { // a source's end keeps the name that the source had
		far.Cluster = end.Link.Source
	}
	if own.Leaving { // it is not judged again, and with it all that its peer's cluster holds
		if _, there := inventory.Of(p.Owner, far, current.Live); there {
			return prune.Peer{State: prune.PeerHasObjects, Closed: closed}
		}
	}
	recorded, err := p.Inventories(at)
	if err != nil {
		return prune.Peer{State: prune.PeerUnknown, Closed: closed, Unread: object.Because(reason.InventoryInvalid, "%v", err)}
	}
	in := p.input(at, p.ends(at), p.Rebuilt(at, recorded, ignoreOrphans))
	i := slices.IndexFunc(in.Recorded, func(i inventory.Inventory) bool { return i.End == far })
	if i < 0 {
		if why := p.usedByOthers(end); why != nil && !own.Leaving {
			return prune.Peer{State: prune.PeerHasObjects, Denied: why, Closed: closed}
		}
		return prune.Peer{State: prune.PeerCleared, Closed: closed}
	}
	denied := prune.Denials(in)[far]
	if denied == nil {
		denied = p.adviseAbandon(at, firstHiddenEntry(current, in.Recorded[i]))
	}
	if denied == nil && in.Recorded[i].Was.IsZero() { // it is written again first: by it all of that end is found, and judged
		return prune.Peer{State: prune.PeerUnknown, Closed: closed, Unread: object.Because(reason.Waiting, "its inventory of the link was lost, and linkwright writes it again first")}
	}
	return prune.Peer{State: prune.PeerHasObjects, Denied: denied, Closed: closed}
}

// usedByOthers returns why the account of a link's source stays in the target: linkwright has nothing of the link in the source, but a Linkerd Link
// that is not linkwright's is there, and may use the account. So it is if only the target's end was adopted.
func (p *pruning) usedByOthers(end object.End) *object.Reason {
	at := p.Other(end)
	k := linkerd.LinkKey(p.Spec(at).Linkerd, end.Link.Target)
	live := p.Clusters[at].Live.Record(k)
	if end.IsSource() || live.IsZero() || live.Mark != object.Unmarked {
		return nil
	}
	return object.Because(reason.ObjectExists, "%s in cluster %s is not linkwright's, and may use this account: declare the link and run %s, or delete that Link; %s keeps both",
		k, at, p.Command("adopt "+end.Link.Name()), p.Command("release "+end.Link.Name()))
}

// ignoreOrphans is for callers that do not need orphans.
func ignoreOrphans(object.Key, object.Record) {}

// denied returns why nothing of an end may be written, whatever the changes are; nil: it may.
func (p *pruning) denied(end object.End) *object.Reason {
	if why := p.MayNotApply(end.Cluster); why != nil {
		return why
	}
	for _, policy := range p.policies {
		if why := policy(p.Snapshot, end, nil); why != nil {
			return why
		}
	}
	return nil
}

// silent reports whether linkwright tried to reach a cluster and got no answer at all, and no policy denies the end. A cluster that answers is
// reachable, whatever it answers. A cluster without a credential was never asked.
func (p *pruning) silent(end object.End) bool {
	return state.Silent(p.Clusters[end.Cluster]) && p.denied(end) == nil
}

// abandoned reports whether people abandoned a cluster that is no longer declared and cannot be read. A cluster that can be read is unlinked first:
// see abandonIfForbidden.
func (p *pruning) abandoned(name api.ClusterName) bool {
	current := p.Clusters[name]
	tried := current.Known() || current.Err != nil && !slices.Contains(transientCodes(), current.Err.Code)
	return p.Abandoned[name] && p.HasLeft(name) && tried && p.Unidentified(name) != nil
}

// transientCodes returns the codes of clusters that can probably be read soon: throttled ones, and those whose request was canceled.
func transientCodes() []reason.Code { return []reason.Code{reason.Throttled, reason.Canceled} }

// adviseAbandon adds to a missing right how to grant it, or to abandon the cluster, once no declaration names the cluster.
func (p *pruning) adviseAbandon(name api.ClusterName, hidden *object.Reason) *object.Reason {
	if hidden == nil || !p.HasLeft(name) || p.Abandoned[name] {
		return hidden
	}
	return hidden.With("PATH must still declare cluster %s; to abandon what is left there, run %s", name, p.Command("abandon "+string(name)))
}

// unreadable returns why a cluster that answers, or that was not tried yet, could not be read; nil: it was read, is silent, or could not be asked.
func unreadable(current state.Cluster) *object.Reason {
	switch {
	case current.Known() || state.Silent(current):
		return nil
	case current.Err == nil:
		return object.Because(reason.Unknown, "linkwright has not read it yet")
	case current.Err.Code == reason.AccessInvalid: // there is no credential, so nobody could ask
		return nil
	}
	return current.Err
}

// firstHiddenEntry returns why an object of an inventory may not be read; nil: all may.
func firstHiddenEntry(current state.Cluster, inv inventory.Inventory) *object.Reason {
	for _, k := range inv.Entries {
		if why := current.Live.Hides(k); why != nil {
			return why
		}
	}
	return nil
}

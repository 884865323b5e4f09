package sync

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// sum is a short word for something that is only compared.
type sum = [sha256.Size]byte

// view is a world, with what tells whether a step from it is still what it was.
type view struct {
	state.Snapshot
	record string // the version of the home record
	rules  sum    // which commits are barred, and who is who: of all clusters
	shown  map[api.ClusterName]shown
	moves  int     // of the board
	loans  [3]*int // of sides, shown and proofs
}

// shown is what others depend on in a cluster.
type shown struct {
	sum    sum
	commit api.Commit // that its base carries: it counts where it is barred
	moved  int        // the board's moves when others' steps could differ by it last
}

// basis is all that a step is planned from but the cluster's own objects and the time, in short.
type basis struct {
	fleet  *fleet.Fleet
	record string
	rules  sum
	peers  sum
}

// derived is what a world holds that is made of what the board keeps. It is made when it is asked for, handed out as it is, and
// forgotten when what it is made of changes; nobody changes it.
type derived struct {
	barred    map[api.Commit]*object.Reason
	contested map[api.ClusterName]map[object.Key]state.Contest
	immutable map[api.ClusterName]map[object.Key]state.Refusal
	followed  map[api.Pair]time.Time
	rules     *sum
	twins     map[string]bool
	carried   map[api.ClusterName]api.Commit // see state.Snapshot.Carried
}

// forgetSides forgets what is made of which clusters are known, and who they are.
func (d *derived) forgetSides() { d.rules, d.carried, d.twins = nil, nil, nil }

// view is the world of an epoch to plan writes from; false: that is over, or what is declared is not in force. It is on loan:
// see done.
func (b *board) view(epoch int) (view, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil || b.fleet != b.good || b.epoch != epoch {
		return view{}, false
	}
	v := view{Snapshot: b.bare(), record: b.record.Was.UID + " " + b.record.Was.ResourceVersion}
	v.Clusters, v.loans[0] = b.sides.lend()
	v.Twins = b.twins()
	v.shown, v.loans[1] = b.shown.lend()
	v.moves = b.moves
	if b.loop.tries() {
		if v.Proofs, v.loans[2] = b.proofs.lend(); v.Proofs == nil {
			v.Proofs = map[api.Pair]state.Proof{}
		}
	}
	if b.derived.rules == nil {
		rules := v.ruled()
		b.derived.rules = &rules
	}
	v.rules = *b.derived.rules
	return v, true
}

// done gives a view back: nobody may read its maps any more. One that is not given back stays as it is.
func (b *board) done(v view) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, loan := range v.loans {
		if loan != nil {
			*loan--
		}
	}
}

func (v view) ruled() sum {
	var h bytes.Buffer
	for _, commit := range slices.Sorted(maps.Keys(v.Barred)) {
		fmt.Fprintln(&h, commit, v.Barred[commit].Message)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Clusters)) {
		fmt.Fprintln(&h, name, v.Clusters[name].Known, v.Clusters[name].Facts.UID)
	}
	return sha256.Sum256(h.Bytes())
}

// basis is that of a step: what its neighbours show is a part of it.
func (v view) basis(s plan.Step) basis {
	h := sha256.New()
	for _, peer := range v.peers(s) {
		shown := v.shown[peer]
		h.Write(shown.sum[:])
		h.Write([]byte(because(v.Barred, shown.commit)))
	}
	return basis{fleet: v.Fleet, record: v.record, rules: v.rules, peers: sum(h.Sum(nil))}
}

// outdated says that a step may differ by what its neighbours show since it was planned.
func (b *board) outdated(r *reconcile) bool {
	v, ok := b.view(r.epoch)
	defer b.done(v)
	return ok && slices.ContainsFunc(v.peers(r.step), func(peer api.ClusterName) bool { return v.shown[peer].moved > r.moves })
}

// because is why a commit is barred; empty: it is not.
func because(barred map[api.Commit]*object.Reason, commit api.Commit) string {
	if why := barred[commit]; why != nil {
		return why.Message
	}
	return ""
}

// peers are the clusters at the other ends of all links of a step's cluster, declared or not.
func (v view) peers(s plan.Step) []api.ClusterName {
	var out []api.ClusterName
	for _, l := range v.Fleet.Out(s.Cluster) {
		out = append(out, l.Target.Canonical())
	}
	for _, l := range v.Fleet.In(s.Cluster) {
		out = append(out, l.Source.Name)
	}
	for _, r := range s.Rows {
		out = append(out, r.Other)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n api.ClusterName) bool { return n == s.Cluster || n == "" })
}

// world is a moment to plan from; nothing in it changes any more.
func (b *board) world() state.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.worldNow()
}

// worldNow is world; b.mu is held.
func (b *board) worldNow() state.Snapshot {
	w := b.bare()
	w.Clusters, w.Twins = b.sides.all(), b.twins()
	return w
}

// twins are the identities of several sides; b.mu is held.
func (b *board) twins() map[string]bool {
	if b.derived.twins == nil {
		b.derived.twins = state.Snapshot{Clusters: b.sides.at}.Twinned()
	}
	return b.derived.twins
}

// near is world with no clusters but those that a cluster's links lead to: all that must be known to look at it. So what the
// board keeps need not be copied for each cluster that is read.
func (b *board) near(name api.ClusterName) state.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.bare()
	w.Clusters = map[api.ClusterName]state.Cluster{}
	for _, l := range b.fleet.Out(name) {
		if side, ok := b.sides.at[l.Target.Canonical()]; ok {
			w.Clusters[l.Target.Canonical()] = side
		}
	}
	return w
}

// bare is a world without sides; b.mu is held.
func (b *board) bare() state.Snapshot {
	if b.derived.contested == nil {
		b.derived.contested, b.derived.immutable = b.quarrels()
	}
	if b.derived.followed == nil {
		b.derived.followed = b.lately()
	}
	return state.Snapshot{
		Installation: object.Installation{Owner: b.loop.Owner, Namespace: b.loop.Home.Namespace},
		Declarations: state.Declarations{Fleet: b.fleet, Departed: b.departed, Barred: b.bars()},
		Record: state.Record{
			UIDs: b.uids, Accepted: b.decided.accepted, Debts: b.debts, Forget: b.decided.abandoned, Suspended: b.decided.suspended,
			Guard: state.Guard{Limits: b.record.Limits, Approvals: b.record.Approvals, Denied: b.record.Denied, Retiring: b.retiring, Cap: b.loop.Cap},
		},
		Options:  state.Options{Grace: b.loop.Grace, RequireConfinement: b.loop.RequireConfinement},
		Process:  state.Process{Term: b.term, Elsewhere: b.elsewhere, Probe: b.loop.Probe, Once: b.loop.Changes == nil},
		Takeover: state.Takeover{Adopt: b.loop.Adopt, Rules: b.loop.Rules, Release: b.loop.Release},
		Results: state.Results{
			Fresh: b.fresh.all(), Contested: b.derived.contested, Immutable: b.derived.immutable, Failing: b.failing, Followed: b.derived.followed,
		},
		Pass: b.pass, Now: time.Now(),
	}
}

// applied are the commits that clusters carry.
func (b *board) applied() map[api.ClusterName]api.Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.derived.carried == nil {
		w := b.bare()
		w.Clusters = b.sides.at // no longer than this call
		b.derived.carried = state.Identify(w).AllApplied()
	}
	return b.derived.carried
}

// bars are the commits that are barred; b.mu is held.
func (b *board) bars() map[api.Commit]*object.Reason {
	if b.derived.barred == nil {
		b.derived.barred = b.barred()
	}
	return b.derived.barred
}

// shownBy sums up what of a side other clusters depend on: facts, its gateways by second names, whether it was read or gives no answer, tokens, what
// inventories hold, and the credentials that it uses, which must not lose their tokens. Which commit and term its base carries
// is none of that, but for the commits that are barred.
//
// What a Linkerd Link tells is decoded once for each version of it: last is what was decoded of the side before, next of this
// one.
func shownBy(owner string, s state.Cluster, names []linkerd.Gateway, last announcements) (out shown, next announcements) {
	var buf bytes.Buffer
	next = make(announcements, len(last))
	facts, err := json.Marshal(s.Facts)
	fmt.Fprintln(&buf, names)
	fmt.Fprintln(&buf, s.Known, s.Err != nil, state.Silent(s), string(facts), err, s.Facts.Missing, s.Seen.Hidden)
	base := inventory.Key(owner, object.End{})
	for k, body := range s.Seen.Bodies() {
		switch {
		case !shows(k):
		case k == base:
			out.commit = showBase(&buf, owner, s.Seen)
		case k.Kind != "Link":
			fmt.Fprintln(&buf, k)
			buf.Write(body.Bytes())
		default:
			next[k] = last.of(k, body)
			said := next[k].said
			fmt.Fprintln(&buf, k)
			buf.Write(said[:])
		}
	}
	out.sum = sha256.Sum256(buf.Bytes())
	return out, next
}

// byNames are a cluster's gateways by its second names.
func byNames(f *fleet.Fleet, name api.ClusterName, s state.Cluster) (out []linkerd.Gateway) {
	if f == nil || !s.Known {
		return nil
	}
	for _, second := range f.Names(name) {
		c, _ := f.Cluster(second)
		out = append(out, s.As(c).Gateway)
	}
	return out
}

// showBase writes what others read of a base, and gives its commit.
func showBase(to *bytes.Buffer, owner string, seen object.Observation) api.Commit {
	inv, _, err := inventory.Base(owner, seen)
	fmt.Fprintln(to, "base", inv.End, inv.Names, inv.Leaving, err)
	for _, k := range inv.Entries {
		fmt.Fprintln(to, k)
	}
	return inv.Commit
}

// shows says that other clusters' steps depend on an object, see shownBy.
func shows(k object.Key) bool {
	return k.Namespace == object.AccessNamespace || k.Kind == "Secret" || k.Kind == "Link"
}

// concerned says that keys of a cluster may be ours, or are what other clusters depend on.
func (b *board) concerned(name api.ClusterName, keys []object.Key) bool {
	seen := b.side(name).Seen
	return slices.ContainsFunc(keys, func(k object.Key) bool { return shows(k) || seen.Record(k).Mark == object.Ours })
}

// announcements are what Linkerd Links tell of credentials, by key.
type announcements map[object.Key]announcement

type announcement struct {
	body object.Body // of which it was decoded
	said sum
}

func (a announcements) of(k object.Key, body object.Body) announcement {
	if known, ok := a[k]; ok && known.body.Equal(body) {
		return known
	}
	secret, entries := linkerd.Announced(body)
	return announcement{body, sha256.Sum256(fmt.Appendln(nil, secret, entries))}
}

package prune

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// randomCluster is a random cluster: half of it need make no sense, since nothing may go then either.
type randomCluster struct {
	in     Input
	unread map[object.Key]bool
	peers  map[object.End]Peer
}

// someKeys is few keys, so that ends, marks and mirrors meet.
func someKeys() []object.Key {
	keys := slices.Concat(perLink(), []object.Key{
		{Kind: "Secret", Namespace: mc, Name: "cluster-credentials-north"},
		{Group: linkerd.Group, Kind: "Link", Namespace: mc, Name: "north"},
		{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.north"},
		{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.north-token"},
		{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: mc, Name: "gateway"},
	})
	return keys
}

func newRandomCluster(r *rand.Rand) randomCluster {
	s := randomCluster{unread: map[object.Key]bool{}, peers: map[object.End]Peer{}}
	s.in = Input{
		Live: Live{
			Linkerd: api.Cluster{}.WithDefaults().Linkerd, WasRead: func(k object.Key) bool { return !s.unread[k] },
			Mirrors: mirrorsFunc(map[api.ClusterName]linkerd.Mirror{}),
		},
		Ends:  Ends{Desired: map[object.End]object.Desired{}},
		Rules: Rules{Policy: api.SyncPolicy{}.WithDefaults(), Leaving: map[api.ClusterName]bool{"west": r.IntN(8) == 0, "north": r.IntN(4) == 0}},
	}
	for _, k := range someKeys() {
		s.unread[k] = r.IntN(8) == 0
		if r.IntN(4) > 0 {
			record(&s.in.Observation, k, randomRecord(r, k))
		}
	}
	if r.IntN(8) == 0 {
		s.in.Policy.Prune.Policy = api.UpsertOnly
	}
	removal := Removal{Approved: map[inventory.Unit]bool{inventory.LinkUnit(westEast): r.IntN(2) == 0}}
	if r.IntN(4) == 0 {
		removal.Exceeded = []string{"too much"}
	}
	s.in.Removal = func() Removal { return removal }
	s.end(r, object.End{Cluster: "west"})
	for _, link := range []api.Pair{westEast, {Source: "west", Target: "north"}, {Source: "north", Target: "west"}} {
		if r.IntN(4) > 0 {
			s.end(r, object.End{Cluster: "west", Link: link})
		}
	}
	for _, name := range []api.ClusterName{"east", "north"} {
		s.in.Mirrors()[name] = s.mirror(r, name)
	}
	return s
}

// end is recorded, and perhaps declared, perhaps held.
func (s *randomCluster) end(r *rand.Rand, end object.End) {
	inv := inventory.Inventory{End: end, Leaving: r.IntN(3) == 0, Was: inventoryRecord()}
	want := object.Desired{End: end}
	for _, k := range someKeys() {
		if r.IntN(3) > 0 {
			inv.Entries = append(inv.Entries, k)
		}
		if r.IntN(5) == 0 {
			want.Objects = append(want.Objects, object.Object{Key: k})
		}
	}
	sorted(inv.Entries...)
	if r.IntN(4) == 0 { // as mostly: it wants just what it recorded
		want.Objects = nil
		for _, i := range r.Perm(len(inv.Entries)) {
			want.Objects = append(want.Objects, object.Object{Key: inv.Entries[i]})
		}
	}
	s.in.Recorded = append(s.in.Recorded, inv)
	switch r.IntN(6) {
	case 0, 1, 2:
		s.in.Desired[end] = want
	case 3:
		s.in.Desired[end] = object.Desired{End: end, Blocked: &object.Reason{Code: "Held"}}
	}
	peer := Peer{State: []PeerState{PeerNotRead, PeerUnreachable, PeerUnknown, PeerHasObjects, PeerHasObjects, PeerCleared, PeerCleared, PeerAbsent}[r.IntN(8)]}
	if r.IntN(4) == 0 {
		peer.Denied = &object.Reason{Code: reason.PruneDisabled}
	}
	if r.IntN(8) == 0 {
		peer.Closed = &object.Reason{Code: reason.Suspended}
	}
	s.peers[end] = peer
}

func randomRecord(r *rand.Rand, k object.Key) object.Record {
	rec := ours(k)
	rec.Terminating, rec.PruneDisabled = r.IntN(8) == 0, r.IntN(16) == 0
	if r.IntN(3) == 0 {
		rec.Mark = []object.Mark{object.Unmarked, object.Theirs, object.Copied}[r.IntN(3)]
	}
	return rec
}

func (s *randomCluster) mirror(r *rand.Rand, name api.ClusterName) linkerd.Mirror {
	some := func(kind string) []object.Key {
		if r.IntN(2) == 0 {
			return nil
		}
		k := object.Key{Kind: kind, Namespace: "shop", Name: "x-" + string(name)}
		record(&s.in.Observation, k, object.Record{UID: "uid of " + k.String(), Mark: object.Copied, Terminating: r.IntN(8) == 0})
		return []object.Key{k}
	}
	m := linkerd.Mirror{
		Pods: some("Pod"), Services: some("Service"), Endpoints: some("Endpoints"), Probe: some("Probe"), Lease: some("Lease"),
	}
	if r.IntN(2) == 0 {
		m.Discovered = m.Services
	}
	if r.IntN(2) == 0 {
		m.Federated = []linkerd.Membership{{Key: federatedKey, Others: r.IntN(2) == 0}}
		record(&s.in.Observation, federatedKey, object.Record{UID: "federated"})
	}
	return m
}

// needed reports whether an end other than a leaving one has to do with a key.
func (s *randomCluster) needed(k object.Key) string {
	for end, want := range s.in.Desired {
		for _, o := range want.Objects {
			if o.Key == k {
				return fmt.Sprintf("wanted by %s", end)
			}
		}
	}
	for _, inv := range s.in.Recorded {
		if want, ok := s.in.Desired[inv.End]; ok && want.Blocked != nil && inv.Has(k) {
			return fmt.Sprintf("held for %s", inv.End)
		}
	}
	return ""
}

func (s *randomCluster) leftovers(end object.End) []object.Key {
	m := s.in.Mirrors()[end.Link.Target]
	out := slices.Concat(m.Services, m.Endpoints, m.Probe, m.Lease)
	for _, f := range m.Federated {
		out = append(out, f.Key)
	}
	return out
}

// violation returns what a verdict may never be.
func (s *randomCluster) violation(inv inventory.Inventory, v Verdict) string {
	_, declared := s.in.Desired[inv.End]
	if len(v.Changes) > 0 && v.Denied != nil || v.Drop && (len(v.Changes) > 0 || v.Waiting != nil || v.Denied != nil) {
		return "it goes and does not"
	}
	if inv.Leaving && !declared && v.Denied != nil {
		return "what has begun is refused"
	}
	if !declared && (v.Drop || len(v.Changes) > 0) && s.tooEarly(inv) != "" {
		return s.tooEarly(inv)
	}
	for _, c := range v.Changes {
		if why := s.forbidden(inv, declared, c); why != "" {
			return c.Action.String() + " of " + c.Key.String() + ": " + why
		}
		if inv.Has(c.Key) && !v.Next.Has(c.Key) {
			return c.Key.String() + " goes, and is not recorded"
		}
	}
	return s.lostEntry(inv, v)
}

// lostEntry names what would be left behind by a dropped inventory.
func (s *randomCluster) lostEntry(inv inventory.Inventory, v Verdict) string {
	for _, k := range inv.Entries {
		if live := s.in.Observation.Record(k); v.Drop && s.needed(k) == "" && (s.unread[k] || live.Mark == object.Ours && !live.IsZero()) {
			return "its inventory goes before " + k.String()
		}
	}
	return ""
}

// tooEarly returns why nothing of an undeclared end may go yet.
func (s *randomCluster) tooEarly(inv inventory.Inventory) string {
	peer := s.peers[inv.End]
	switch {
	case inv.End.IsBase() && len(s.in.Recorded) > 1:
		return "the base goes before links"
	case inv.End.IsBase() || peer.State.gone():
	case peer.Closed != nil && (!inv.Leaving || !inv.End.IsSource()):
		return "the other end is closed"
	}
	return ""
}

// forbidden returns why a change may not be, or nothing. Ours goes by mark and inventory, a mirror by its target.
func (s *randomCluster) forbidden(inv inventory.Inventory, declared bool, c object.Change) string {
	live := s.in.Observation.Record(c.Key)
	switch {
	case c.Was != live || live.IsZero():
		return "its preconditions are not what was seen"
	case live.Terminating:
		return "it is going already"
	case slices.Contains(s.leftovers(inv.End), c.Key):
		if declared || !inv.End.IsSource() {
			return "a mirror of a link that is declared, or of a target's end"
		}
	case s.unread[c.Key]:
		return "it was not looked for"
	case live.Mark != object.Ours:
		return "it is " + live.Mark.String()
	case !inv.Has(c.Key):
		return "it is not recorded"
	case c.Action != object.Delete:
		return "it is not a delete"
	default:
		return s.needed(c.Key)
	}
	return ""
}

// Whatever the cluster: nothing goes that is wanted, held, foreign, unrecorded or was not looked for; what
// is refused does not go, what has begun is not refused; and the order of input never shows.
func TestSelectNever(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	gone := 0
	for i := range 3000 {
		s := newRandomCluster(r)
		peers := func(e object.End) Peer { return s.peers[e] }
		before := fmt.Sprint(s.in.Recorded)
		verdicts := Select(s.in, peers)
		for _, v := range verdicts {
			inv := s.in.Recorded[slices.IndexFunc(s.in.Recorded, func(i inventory.Inventory) bool { return i.End == v.End })]
			gone += len(v.Changes)
			if why := s.violation(inv, v); why != "" {
				t.Fatalf("seed %d, scene %d, %s: %s", seed, i, v.End, why)
			}
			if v.Denied != nil && v.Denied.Code == reason.PruneLimitExceeded && s.in.declaredLeaving(v.End) {
				t.Fatalf("seed %d, scene %d, %s: a cluster that is to leave is too much", seed, i, v.End)
			}
		}
		if before != fmt.Sprint(s.in.Recorded) {
			t.Fatalf("seed %d, scene %d: Select changed its input", seed, i)
		}
		if again := Select(shuffled(r, s.in), peers); !reflect.DeepEqual(verdicts, again) {
			t.Fatalf("seed %d, scene %d: the order of input shows", seed, i)
		}
	}
	if gone < 600 {
		t.Errorf("only %d changes were judged", gone)
	}
}

// shuffled is the same input in another order.
func shuffled(r *rand.Rand, in Input) Input {
	in.Recorded = slices.Clone(in.Recorded)
	r.Shuffle(len(in.Recorded), func(i, j int) { in.Recorded[i], in.Recorded[j] = in.Recorded[j], in.Recorded[i] })
	wanted := map[object.End]object.Desired{}
	for end, want := range in.Desired {
		want.Objects = slices.Clone(want.Objects)
		r.Shuffle(len(want.Objects), func(i, j int) { want.Objects[i], want.Objects[j] = want.Objects[j], want.Objects[i] })
		wanted[end] = want
	}
	in.Desired, in.Mirrors = wanted, mirrorsFunc(maps.Clone(in.Mirrors()))
	return in
}

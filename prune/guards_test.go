package prune

import (
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// denied is a removal that is over a limit, and names these units.
func denied(units ...inventory.Unit) func() Removal {
	return func() Removal {
		return Removal{Units: units, Hash: inventory.HashOf(units), Exceeded: []string{"too much"}}
	}
}

// A revision over a limit takes nothing away, whatever it is; what people approved goes, and what is declared to leave.
func TestWithinLimits(t *testing.T) {
	in := many(3, 2)
	in.Removal = denied()
	if refused := Denials(in); len(refused) != 3 {
		t.Errorf("refused: %v", refused)
	}
	in.Desired[source] = object.Desired{End: source} // it loses two
	refused := Denials(in)
	if why := refused[source]; len(refused) != 4 || why.Code != reason.PruneLimitExceeded || !strings.Contains(why.Message, "linkwright approve "+inventory.HashOf(nil)) {
		t.Errorf("refused: %v", refused)
	}
	r := in.Removal()
	r.Approved = map[inventory.Unit]bool{inventory.LinkUnit(api.Pair{Source: "west", Target: "gone1"}): true, {Kind: inventory.UnitCluster, Cluster: "gone2"}: true}
	in.Removal = func() Removal { return r }
	if refused := Denials(in); len(refused) != 2 {
		t.Errorf("with two approved: %v", refused)
	}
	in.Leaving = map[api.ClusterName]bool{"gone0": true}
	if refused := Denials(in); len(refused) != 1 || refused[source] == nil {
		t.Errorf("with one leaving: %v", refused)
	}
	in.Removal = func() Removal { return Removal{} }
	if refused := Denials(in); len(refused) > 0 {
		t.Errorf("within limits: %v", refused)
	}
}

// many is a cluster with as many undeclared ends of one object each, and one declared end with the rest.
func many(undeclared, declared int) Input {
	in := input(source, nil, linkerd.Mirror{})
	in.Recorded = nil
	want := object.Desired{End: source}
	add := func(end object.End, name string) {
		k := object.Key{Kind: "Secret", Namespace: mc, Name: name}
		record(&in.Observation, k, ours(k))
		in.Recorded = append(in.Recorded, inventory.Inventory{End: end, Entries: []object.Key{k}, Was: inventoryRecord()})
		if end == source {
			want.Objects = append(want.Objects, object.Object{Key: k})
		}
	}
	for i := range undeclared {
		add(object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: api.ClusterName(fmt.Sprintf("gone%d", i))}}, fmt.Sprintf("gone%d", i))
	}
	for i := range declared {
		add(source, fmt.Sprintf("kept%d", i))
	}
	in.Desired[source] = want
	return in
}

// What begins is finished: an unlink that began counts no more, neither for itself nor against others.
func TestLeavingIsNotGuarded(t *testing.T) {
	in := many(30, 0)
	for i := range in.Recorded {
		in.Recorded[i].Leaving = i > 0
	}
	in.Policy.Prune.Policy = api.UpsertOnly
	if refused := Denials(in); len(refused) != 1 || refused[in.Recorded[0].End] == nil {
		t.Errorf("refused: %v", refused)
	}
	in.Recorded[0].Leaving = true
	kept := in.Recorded[0].Entries[0]
	r := in.Observation.Record(kept)
	r.PruneDisabled = true
	record(&in.Observation, kept, r)
	refused := &object.Reason{Code: reason.PruneDisabled}
	for _, v := range Select(in, peerAlways(Peer{State: PeerHasObjects, Denied: refused})) {
		if v.Denied != nil || len(v.Changes) == 0 {
			t.Errorf("%s: %s", v.End, summarize(v))
		}
	}
}

// An end that is declared again is judged anew.
func TestDeclaredAgainIsGuarded(t *testing.T) {
	in := input(source, external(), linkerd.Mirror{})
	in.Recorded[0].Leaving = true
	in.Desired[source] = object.Desired{End: source, Objects: []object.Object{{Key: linkKey}}}
	in.Policy.Prune.Policy = api.UpsertOnly
	v := onlyVerdict(t, in, absentPeer())
	if v.Denied == nil || v.Next.Leaving || len(v.Changes) > 0 {
		t.Errorf("%s, leaving %t", summarize(v), v.Next.Leaving)
	}
}

func TestPolicyAllows(t *testing.T) {
	for policy, refused := range map[api.PrunePolicy]bool{api.PruneSync: false, api.UpsertOnly: true, api.CreateOnly: true} {
		in := input(source, external(), linkerd.Mirror{})
		in.Policy.Prune.Policy = policy
		v := onlyVerdict(t, in, absentPeer())
		if (v.Denied != nil) != refused || len(v.Changes) > 0 == refused || refused && v.Denied.Code != reason.PrunePolicy {
			t.Errorf("%s: %s", policy, summarize(v))
		}
	}
}

// drained is a declared end whose Link loses its only selector, in a cluster with some mirrors and recorded objects.
func drained(mirrors, recorded int) Input {
	m := linkerd.Mirror{Federated: []linkerd.Membership{{Key: federatedKey}}}
	for i := range mirrors - 1 {
		m.Services = append(m.Services, object.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("web%d-east", i)})
	}
	keys, want := []object.Key{linkKey}, object.Desired{End: source}
	for i := range recorded - 1 {
		keys = append(keys, object.Key{Kind: "Secret", Namespace: mc, Name: fmt.Sprintf("kept%d", i)})
	}
	for _, k := range keys {
		want.Objects = append(want.Objects, object.Object{Key: k})
	}
	want.Objects[0].Digest, want.Objects[0].Body = 1, object.NewBody([]byte(`{"spec":{}}`))
	in := input(source, sorted(keys...), m)
	in.Desired[source] = want
	show(&in.Observation, linkKey, object.NewBody([]byte(`{"spec":{"selector":{"matchLabels":{"a":"b"}},"federatedServiceSelector":{"matchLabels":{"a":"b"}}}}`)))
	return in
}

// A Link or a mirror that people want to keep is not drained; one that is held, or not ours, is not drained anyway.
func TestDrainOfProtected(t *testing.T) {
	for _, k := range []object.Key{linkKey, federatedKey} {
		in := drained(3, 2)
		if refused := Denials(in); len(refused) != 0 {
			t.Errorf("nothing kept: %v", refused)
		}
		r := in.Observation.Record(k)
		r.PruneDisabled = true
		record(&in.Observation, k, r)
		if v := onlyVerdict(t, in, absentPeer()); v.Denied == nil || v.Denied.Code != reason.PruneDisabled || !strings.Contains(v.Denied.Message, k.String()) {
			t.Errorf("%s kept: %v", k, v.Denied)
		}
		want := in.Desired[source]
		want.Blocked = &object.Reason{Code: "Held"}
		in.Desired[source] = want
		if refused := Denials(in); len(refused) != 0 {
			t.Errorf("held: %v", refused)
		}
		want.Blocked, r = nil, in.Observation.Record(linkKey)
		r.Mark = object.Unmarked
		in.Desired[source] = want
		record(&in.Observation, linkKey, r)
		if refused := Denials(in); len(refused) != 0 {
			t.Errorf("not ours: %v", refused)
		}
	}
}

func TestPolicyAllowsNoDrain(t *testing.T) {
	for policy, refused := range map[api.PrunePolicy]bool{api.PruneSync: false, api.UpsertOnly: true, api.CreateOnly: true} {
		in := drained(1, 1)
		in.Policy.Prune.Policy = policy
		if why := Denials(in)[source]; (why != nil) != refused || refused && why.Code != reason.PrunePolicy {
			t.Errorf("%s: %v", policy, why)
		}
	}
}

// One object that people want to keep keeps its end, and only its end.
func TestNoProtectedObject(t *testing.T) {
	in := many(3, 0)
	kept := in.Recorded[1].Entries[0]
	r := in.Observation.Record(kept)
	r.PruneDisabled = true
	record(&in.Observation, kept, r)
	refused := Denials(in)
	if why := refused[in.Recorded[1].End]; len(refused) != 1 || why.Code != reason.PruneDisabled || !strings.Contains(why.Message, kept.String()) {
		t.Errorf("refused: %v", refused)
	}
}

// The first guard that refuses names the reason.
func TestFirstGuardNames(t *testing.T) {
	in := many(30, 0)
	in.Removal = denied()
	kept := in.Recorded[0].Entries[0]
	r := in.Observation.Record(kept)
	r.PruneDisabled = true
	record(&in.Observation, kept, r)
	if why := Denials(in)[in.Recorded[0].End]; why.Code != reason.PruneLimitExceeded {
		t.Errorf("limits before kept: %v", why)
	}
	in.Policy.Prune.Policy = api.UpsertOnly
	if why := Denials(in)[in.Recorded[0].End]; why.Code != reason.PrunePolicy {
		t.Errorf("policy before all: %v", why)
	}
}

// The ends of an unlink begin only when neither side is refused.
func TestBeginsOnlyTogether(t *testing.T) {
	refused := &object.Reason{Code: reason.PruneLimitExceeded, Message: "too much"}
	for _, end := range []object.End{source, target} {
		v := onlyVerdict(t, input(end, external(), linkerd.Mirror{}), Peer{State: PeerAbsent, Denied: refused})
		if v.Denied == nil || v.Denied.Code != reason.PruneLimitExceeded || !strings.Contains(v.Denied.Message, "other end") || v.Next.Leaving || len(v.Changes) > 0 {
			t.Errorf("%s: %s", end, summarize(v))
		}
	}
}

// A cluster that is to leave is asked for by people, but so is what they want to keep.
func TestLeavingKeeps(t *testing.T) {
	in := input(source, external(), linkerd.Mirror{})
	in.Leaving = map[api.ClusterName]bool{"west": true}
	in.Policy.Prune.Policy = api.UpsertOnly
	if v := onlyVerdict(t, in, absentPeer()); v.Denied == nil || v.Denied.Code != reason.PrunePolicy {
		t.Errorf("UpsertOnly: %s", summarize(v))
	}
	in.Policy.Prune.Policy = api.PruneSync
	r := in.Observation.Record(linkKey)
	r.PruneDisabled = true
	record(&in.Observation, linkKey, r)
	if v := onlyVerdict(t, in, absentPeer()); v.Denied == nil || v.Denied.Code != reason.PruneDisabled {
		t.Errorf("kept: %s", summarize(v))
	}
}

// A guard names some protected objects, and counts the rest.
func TestSome(t *testing.T) {
	key := func(name string) object.Key { return object.Key{Kind: "Secret", Namespace: mc, Name: name} }
	long := key(strings.Repeat("x", 253))
	for _, tt := range []struct {
		keys []object.Key
		want string
	}{
		{[]object.Key{key("a")}, key("a").String()},
		{[]object.Key{key("a"), key("b")}, key("a").String() + ", " + key("b").String()},
		{[]object.Key{key("a"), key("b"), key("c"), key("d"), key("e"), key("f"), key("g")}, "and 2 more"},
		{[]object.Key{long, key("a")}, long.String() + " and 1 more"},
	} {
		if got := some(tt.keys); !strings.HasSuffix(got, tt.want) || !strings.HasPrefix(got, tt.keys[0].String()) {
			t.Errorf("some(%d keys): %q, want %q", len(tt.keys), got, tt.want)
		}
	}
}

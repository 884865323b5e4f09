package prune

import (
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// many is a cluster with as many undeclared ends of one object each, and one declared end with the rest.
func many(undeclared, declared int) Input {
	in := input(source, nil, linkerd.Mirror{})
	in.Recorded = nil
	want := object.Wanted{End: source}
	add := func(end object.End, name string) {
		k := object.Key{Kind: "Secret", Namespace: mc, Name: name}
		record(&in.Seen, k, ours(k))
		in.Recorded = append(in.Recorded, inventory.Inventory{End: end, Entries: []object.Key{k}})
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
	in.Wanted[source] = want
	return in
}

// Both bounds must be exceeded: a number that may always go, and a fraction of what is recorded.
func TestFractionAllowed(t *testing.T) {
	tests := []struct {
		going, staying, minAllowed int
		maxFraction                float64
		refused                    bool
	}{
		{20, 0, 20, 0.3, false}, // all of it, but few
		{21, 0, 20, 0.3, true},
		{21, 49, 20, 0.3, false}, // 30 of 100
		{21, 48, 20, 0.3, true},
		{5, 0, 5, 0, false},
		{6, 1000, 5, 0, true},
		{6, 0, 5, 1, false},
		{0, 10, 0, 0, false},
		{1, 10, 0, 0, true},
	}
	for _, tt := range tests {
		in := many(tt.going, tt.staying)
		in.Policy.Prune.MinAllowed, in.Policy.Prune.MaxFraction = &tt.minAllowed, &tt.maxFraction
		refused := Judge(in)
		if (len(refused) > 0) != tt.refused || tt.refused && len(refused) != tt.going {
			t.Errorf("%+v: %d refused", tt, len(refused))
		}
		for end, why := range refused {
			if why.Code != "TooMuch" || !strings.Contains(why.Message, fmt.Sprintf("%d of the %d", tt.going, tt.going+tt.staying)) {
				t.Errorf("%+v: %s: %v", tt, end, why)
			}
		}
	}
}

// What begins is finished: an unlink that began counts no more, neither for itself nor against others.
func TestLeavingIsNotJudged(t *testing.T) {
	in := many(30, 0)
	for i := range in.Recorded {
		in.Recorded[i].Leaving = i > 0
	}
	in.Policy.Prune.Policy = api.UpsertOnly
	if refused := Judge(in); len(refused) != 1 || refused[in.Recorded[0].End] == nil {
		t.Errorf("refused: %v", refused)
	}
	in.Recorded[0].Leaving = true
	kept := in.Recorded[0].Entries[0]
	r := in.Seen.Record(kept)
	r.Keep = true
	record(&in.Seen, kept, r)
	refused := &object.Reason{Code: "Kept"}
	for _, v := range Select(in, answer(Peer{Known: true, Refused: refused})) {
		if v.Refused != nil || len(v.Go) == 0 {
			t.Errorf("%s: %s", v.End, told(v))
		}
	}
}

// An end that is declared again is judged anew.
func TestDeclaredAgainIsJudged(t *testing.T) {
	in := input(source, external(), linkerd.Mirror{})
	in.Recorded[0].Leaving = true
	in.Wanted[source] = object.Wanted{End: source, Objects: []object.Object{{Key: linkKey}}}
	in.Policy.Prune.Policy = api.UpsertOnly
	v := one(t, in, settled())
	if v.Refused == nil || v.Next.Leaving || len(v.Go) > 0 {
		t.Errorf("%s, leaving %t", told(v), v.Next.Leaving)
	}
}

func TestPolicyAllows(t *testing.T) {
	for policy, refused := range map[api.PrunePolicy]bool{api.PruneSync: false, api.UpsertOnly: true, api.CreateOnly: true} {
		in := input(source, external(), linkerd.Mirror{})
		in.Policy.Prune.Policy = policy
		v := one(t, in, settled())
		if (v.Refused != nil) != refused || len(v.Go) > 0 == refused || refused && v.Refused.Code != "PrunePolicy" {
			t.Errorf("%s: %s", policy, told(v))
		}
	}
}

// drained is a declared end whose Link loses its only selector, in a cluster with some mirrors and recorded objects.
func drained(mirrors, recorded int) Input {
	m := linkerd.Mirror{Federated: []linkerd.Membership{{Key: federatedKey}}}
	for i := range mirrors - 1 {
		m.Services = append(m.Services, object.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("web%d-east", i)})
	}
	keys, want := []object.Key{linkKey}, object.Wanted{End: source}
	for i := range recorded - 1 {
		keys = append(keys, object.Key{Kind: "Secret", Namespace: mc, Name: fmt.Sprintf("kept%d", i)})
	}
	for _, k := range keys {
		want.Objects = append(want.Objects, object.Object{Key: k})
	}
	want.Objects[0].Digest, want.Objects[0].Body = 1, object.NewBody([]byte(`{"spec":{}}`))
	in := input(source, sorted(keys...), m)
	in.Wanted[source] = want
	show(&in.Seen, linkKey, object.NewBody([]byte(`{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`)))
	return in
}

// What a drain takes away counts: the Link, and the mirrors of its target, also among what there is.
func TestFractionOfDrain(t *testing.T) {
	tests := []struct {
		mirrors, recorded, minAllowed int
		maxFraction                   float64
		refused                       bool
	}{
		{20, 7, 20, 0.3, true}, // 21 of 27
		{19, 7, 20, 0.3, false},
		{20, 50, 20, 0.3, false}, // 21 of 70
		{20, 49, 20, 0.3, true},
		{1, 1, 1, 1, false},
		{1, 1, 1, 0.9, true},
	}
	for _, tt := range tests {
		in := drained(tt.mirrors, tt.recorded)
		in.Policy.Prune.MinAllowed, in.Policy.Prune.MaxFraction = &tt.minAllowed, &tt.maxFraction
		v := one(t, in, settled())
		if (v.Refused != nil) != tt.refused || tt.refused && (v.Refused.Code != "TooMuch" ||
			!strings.Contains(v.Refused.Message, fmt.Sprintf("%d of the %d", tt.mirrors+1, tt.mirrors+tt.recorded))) {
			t.Errorf("%+v: %+v", tt, v.Refused)
		}
	}
}

// A drain and an undeclared link of one commit add up, and are refused together.
func TestDrainAddsUp(t *testing.T) {
	in := drained(15, 1)
	north := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}
	inv := inventory.Inventory{End: north}
	for i := range 10 {
		k := object.Key{Kind: "Secret", Namespace: mc, Name: fmt.Sprintf("gone%d", i)}
		record(&in.Seen, k, ours(k))
		inv.Entries = append(inv.Entries, k)
	}
	in.Recorded = append(in.Recorded, inv)
	if refused := Judge(in); len(refused) != 2 || refused[source] == nil || refused[north] == nil {
		t.Errorf("refused: %v", refused)
	}
	in.Recorded[1].Leaving = true
	if refused := Judge(in); len(refused) != 0 {
		t.Errorf("beside an unlink that began: %v", refused)
	}
}

// A Link or a mirror that people want to keep is not drained; one that is held, or not ours, is not drained anyway.
func TestDrainOfKept(t *testing.T) {
	for _, k := range []object.Key{linkKey, federatedKey} {
		in := drained(3, 2)
		if refused := Judge(in); len(refused) != 0 {
			t.Errorf("nothing kept: %v", refused)
		}
		r := in.Seen.Record(k)
		r.Keep = true
		record(&in.Seen, k, r)
		if v := one(t, in, settled()); v.Refused == nil || v.Refused.Code != "Kept" || !strings.Contains(v.Refused.Message, k.String()) {
			t.Errorf("%s kept: %v", k, v.Refused)
		}
		want := in.Wanted[source]
		want.Held = &object.Reason{Code: "Held"}
		in.Wanted[source] = want
		if refused := Judge(in); len(refused) != 0 {
			t.Errorf("held: %v", refused)
		}
		want.Held, r = nil, in.Seen.Record(linkKey)
		r.Mark = object.Unmarked
		in.Wanted[source] = want
		record(&in.Seen, linkKey, r)
		if refused := Judge(in); len(refused) != 0 {
			t.Errorf("not ours: %v", refused)
		}
	}
}

func TestPolicyAllowsNoDrain(t *testing.T) {
	for policy, refused := range map[api.PrunePolicy]bool{api.PruneSync: false, api.UpsertOnly: true, api.CreateOnly: true} {
		in := drained(1, 1)
		in.Policy.Prune.Policy = policy
		if why := Judge(in)[source]; (why != nil) != refused || refused && why.Code != "PrunePolicy" {
			t.Errorf("%s: %v", policy, why)
		}
	}
}

// One object that people want to keep keeps its end, and only its end.
func TestNoObjectKept(t *testing.T) {
	in := many(3, 0)
	kept := in.Recorded[1].Entries[0]
	r := in.Seen.Record(kept)
	r.Keep = true
	record(&in.Seen, kept, r)
	refused := Judge(in)
	if why := refused[in.Recorded[1].End]; len(refused) != 1 || why.Code != "Kept" || !strings.Contains(why.Message, kept.String()) {
		t.Errorf("refused: %v", refused)
	}
}

// The first guard that refuses names the reason.
func TestFirstGuardNames(t *testing.T) {
	in := many(30, 0)
	kept := in.Recorded[0].Entries[0]
	r := in.Seen.Record(kept)
	r.Keep = true
	record(&in.Seen, kept, r)
	if why := Judge(in)[in.Recorded[0].End]; why.Code != "TooMuch" {
		t.Errorf("fraction before kept: %v", why)
	}
	in.Policy.Prune.Policy = api.UpsertOnly
	if why := Judge(in)[in.Recorded[0].End]; why.Code != "PrunePolicy" {
		t.Errorf("policy before all: %v", why)
	}
}

// The ends of an unlink begin only when neither side is refused.
func TestBeginsOnlyTogether(t *testing.T) {
	refused := &object.Reason{Code: "TooMuch", Message: "too much"}
	for _, end := range []object.End{source, target} {
		v := one(t, input(end, external(), linkerd.Mirror{}), Peer{Known: true, Gone: true, Refused: refused})
		if v.Refused == nil || v.Refused.Code != "TooMuch" || !strings.Contains(v.Refused.Message, "other end") || v.Next.Leaving || len(v.Go) > 0 {
			t.Errorf("%s: %s", end, told(v))
		}
	}
}

// What people declare to leave is not too much, at either side of its links, and makes nothing else too much or less so.
func TestFractionOfLeaving(t *testing.T) {
	tests := []struct {
		leaving, going, staying int // ends
		of                      api.ClusterName
		refused                 int
	}{
		{30, 0, 0, "north", 0},
		{30, 20, 0, "north", 0},
		{30, 21, 0, "north", 21},
		{30, 21, 49, "north", 0},
		{1000, 21, 48, "north", 21},
		{30, 30, 0, "west", 0}, // all of it
	}
	for _, tt := range tests {
		in := many(tt.going, tt.staying)
		for i := range tt.leaving {
			k := object.Key{Kind: "Secret", Namespace: mc, Name: fmt.Sprintf("leaves%d", i)}
			record(&in.Seen, k, ours(k))
			link := api.Pair{Source: "west", Target: "north"}
			if i%2 > 0 {
				link.Source, link.Target = link.Target, link.Source
			}
			in.Recorded = append(in.Recorded, inventory.Inventory{End: object.End{Cluster: "west", Link: link}, Entries: []object.Key{k}})
		}
		in.Leaving = map[api.ClusterName]bool{tt.of: true}
		if refused := Judge(in); len(refused) != tt.refused {
			t.Errorf("%+v: %d refused", tt, len(refused))
		}
	}
}

// A cluster that is to leave is asked for by people, but so is what they want to keep.
func TestLeavingKeeps(t *testing.T) {
	in := input(source, external(), linkerd.Mirror{})
	in.Leaving = map[api.ClusterName]bool{"west": true}
	in.Policy.Prune.Policy = api.UpsertOnly
	if v := one(t, in, settled()); v.Refused == nil || v.Refused.Code != "PrunePolicy" {
		t.Errorf("UpsertOnly: %s", told(v))
	}
	in.Policy.Prune.Policy = api.PruneSync
	r := in.Seen.Record(linkKey)
	r.Keep = true
	record(&in.Seen, linkKey, r)
	if v := one(t, in, settled()); v.Refused == nil || v.Refused.Code != "Kept" {
		t.Errorf("kept: %s", told(v))
	}
}

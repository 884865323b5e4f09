package prune

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// approve writes into a cluster's inventories what TooMuch refuses there.
func approve(in *Input) Excess {
	e := TooMuch(*in)
	for i, inv := range in.Recorded {
		if ids := e.Ends[inv.End]; len(ids) > 0 {
			in.Recorded[i] = Approve(inv, e.Hash, ids)
		}
	}
	return e
}

func codes(refused map[object.End]*object.Reason) (out []string) {
	for _, why := range refused {
		out = append(out, why.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// What was approved goes, and a refusal names the hash by which it is: the same each time, whatever the order.
func TestApprove(t *testing.T) {
	in := many(30, 0)
	first := TooMuch(in)
	for end, why := range Judge(in) {
		if !strings.HasSuffix(why.Message, ": linkwright approve "+first.Hash) || len(first.Hash) != 12 {
			t.Fatalf("%s: %s, and the hash is %s", end, why.Message, first.Hash)
		}
	}
	slices.Reverse(in.Recorded)
	if again := approve(&in); again.Hash != first.Hash || len(again.Ends) != 30 {
		t.Errorf("in another order it is %s, was %s", again.Hash, first.Hash)
	}
	if refused := Judge(in); len(refused) > 0 || TooMuch(in).Hash != "" {
		t.Errorf("approved, and refused: %v", codes(refused))
	}
}

// An approval is of objects as they live, and of nothing else: made anew they count, and so does what is more.
func TestApprovalIsOfIdentities(t *testing.T) {
	in := many(30, 0)
	approve(&in)
	anew := func(n int) {
		for i := range n {
			k := in.Recorded[i].Entries[0]
			r := ours(k)
			r.UID = "another"
			record(&in.Seen, k, r)
		}
	}
	anew(20)
	if refused := Judge(in); len(refused) > 0 {
		t.Errorf("20 made anew: %v", codes(refused))
	}
	anew(21)
	e := TooMuch(in)
	if refused := Judge(in); len(refused) != 21 || len(e.Ends) != 21 || codes(refused)[0] != "TooMuch" {
		t.Errorf("21 made anew: %d refused", len(refused))
	}
	if approve(&in); len(Judge(in)) > 0 || len(in.Recorded[0].Approved) != 2 {
		t.Errorf("approved once more: %v", codes(Judge(in)))
	}
}

// A prune that was broken off half way goes on: what is gone counts no more, and what is left is approved still. Once
// nothing of an approval is left it is forgotten; what was not looked for is not gone.
func TestApprovalsAreForgotten(t *testing.T) {
	in := many(30, 0)
	approve(&in)
	gone, unseen := in.Recorded[0].Entries[0], in.Recorded[1].Entries[0]
	drop(&in.Seen, gone)
	drop(&in.Seen, unseen)
	in.Saw = func(k object.Key) bool { return k != unseen }
	if refused := Judge(in); len(refused) > 0 {
		t.Fatalf("half done: %v", codes(refused))
	}
	for _, v := range Select(in, answer(settled())) {
		i := slices.IndexFunc(in.Recorded, func(inv inventory.Inventory) bool { return inv.End == v.End })
		if got, want := len(v.Next.Approved), 1; i == 0 && got != 0 || i != 0 && got != want {
			t.Errorf("%s: %d approvals of %v", v.End, got, in.Recorded[i].Entries)
		}
	}
	k := in.Recorded[2].Entries[0]
	r := ours(k)
	r.UID = "another"
	record(&in.Seen, k, r)
	if next := in.index().forget(in.Recorded[2]); len(next.Approved) != 0 {
		t.Error("an approval of what was made anew is kept")
	}
}

// Policies and marks to keep are never overruled by an approval.
func TestApprovalOverrulesNothingElse(t *testing.T) {
	in := many(30, 0)
	approve(&in)
	in.Policy.Prune.Policy = "UpsertOnly"
	if got := codes(Judge(in)); !slices.Equal(got, []string{"PrunePolicy"}) {
		t.Errorf("UpsertOnly: %v", got)
	}
	in.Policy.Prune.Policy = "Sync"
	k := in.Recorded[3].Entries[0]
	r := in.Seen.Record(k)
	r.Keep = true
	record(&in.Seen, k, r)
	if refused := Judge(in); len(refused) != 1 || refused[in.Recorded[3].End].Code != "Kept" {
		t.Errorf("kept: %v", codes(refused))
	}
}

// The hash is a persisted format: cluster, kind, namespace, name and uid, a line each, sorted.
func TestHashOf(t *testing.T) {
	of := func(uid string) inventory.Identity {
		return inventory.Identity{Key: object.Key{Kind: "Service", Namespace: "shop", Name: "web"}, UID: uid}
	}
	ends := map[object.End][]inventory.Identity{{Cluster: "west"}: {of("8"), of("7")}, source: {of("8")}}
	if got := hashOf(ends); got != "7c60496e3c8c" { // of printf 'west Service shop web 7\nwest Service shop web 8\n' | sha256sum
		t.Errorf("hashOf: %s", got)
	}
}

// Approved once more by the same hash, it is one approval; another one stays.
func TestApproveAgain(t *testing.T) {
	in := many(30, 0)
	approve(&in)
	inv := in.Recorded[0]
	ids := inv.Approved[0].Entries
	other := Approve(inv, "another", ids)
	again := Approve(other, inv.Approved[0].Hash, ids)
	if len(other.Approved) != 2 || len(again.Approved) != 2 || len(inv.Approved) != 1 {
		t.Errorf("approved %d times, then %d, after %d", len(other.Approved), len(again.Approved), len(inv.Approved))
	}
}

// An approval of what never had a uid, or that is neither recorded nor looked for any more, is of nothing.
func TestApprovalOfNothing(t *testing.T) {
	k := object.Key{Kind: "Secret", Namespace: mc, Name: "gone"}
	for name, tt := range map[string]struct {
		uid       string
		saw       bool
		recorded  []object.Key
		approvals int
	}{
		"not there, and never was":          {"", true, []object.Key{k}, 0},
		"not looked for, and recorded":      {"1", false, []object.Key{k}, 1},
		"not looked for, and not recorded":  {"1", false, nil, 0},
		"looked for, and no longer there":   {"1", true, []object.Key{k}, 0},
		"no uid, recorded, not looked for":  {"", false, []object.Key{k}, 1},
		"no uid, and of nothing whatsoever": {"", false, nil, 0},
	} {
		in := input(source, nil, linkerd.Mirror{})
		in.Saw = func(object.Key) bool { return tt.saw }
		inv := Approve(inventory.Inventory{End: source, Entries: tt.recorded}, "hash", []inventory.Identity{{Key: k, UID: tt.uid}})
		if got := len(in.index().forget(inv).Approved); got != tt.approvals {
			t.Errorf("%s: %d approvals are left", name, got)
		}
	}
}

// A Link that stays declared outlives its drain, and its approval does not: that goes with the mirrors.
func TestApprovalOfADrain(t *testing.T) {
	in := drained(20, 7)
	approve(&in)
	mirrors := in.Mirrors()["east"]
	left := func() int { return len(one(t, in, settled()).Next.Approved) }
	if len(in.Recorded[0].Approved) != 1 || left() != 1 {
		t.Fatalf("before it is done: %d approvals", left())
	}
	for _, k := range mirrors.Selected() {
		drop(&in.Seen, k)
	}
	in.Mirrors = found(nil)
	if n := left(); n != 0 {
		t.Errorf("when it is done %d approvals are left", n)
	}
	in.Recorded[0].Approved[0].Entries = []inventory.Identity{in.identity(linkKey)}
	if n := left(); n != 1 {
		t.Errorf("of a Link without mirrors %d approvals are left", n)
	}
	again := in
	again.Wanted = map[object.End]object.Wanted{source: {End: source, Objects: []object.Object{{Key: linkKey}, {Key: mirrorSecret}}}}
	record(&again.Seen, mirrorSecret, ours(mirrorSecret))
	inv := Approve(inventory.Inventory{Entries: []object.Key{mirrorSecret}}, "hash", []inventory.Identity{again.identity(mirrorSecret), {Key: mirrorKey, UID: "1"}})
	if n := len(again.index().forget(inv).Approved); n != 1 {
		t.Errorf("of a Secret that is declared again, and was to go with mirrors, %d approvals are left", n)
	}
	delete(in.Wanted, source)
	in.Recorded[0].Approved = Approve(inventory.Inventory{}, "hash", []inventory.Identity{in.identity(linkKey), {Key: mirrorKey, UID: "1"}}).Approved
	if n := left(); n != 1 {
		t.Errorf("of a Link that is to go %d approvals are left", n)
	}
}

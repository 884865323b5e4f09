package prune

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// What another end wants is struck off where it is recorded too often, and stays.
func TestEntryOfAnotherEndIsDropped(t *testing.T) {
	north := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}
	in := input(source, perLink(), linkerd.Mirror{})
	in.Recorded = append(in.Recorded, inventory.Inventory{End: north, Entries: sorted(mirrorSecret)})
	in.Desired[north] = object.Desired{End: north, Objects: []object.Object{{Key: mirrorSecret}}}
	v := Select(in, peerAlways(absentPeer()))[0]
	if v.End != source || v.Next.Has(mirrorSecret) || !v.Next.Has(planeSecret) {
		t.Errorf("%s: next %v", v.End, v.Next.Entries)
	}
}

// An end forgets what another one needs only once that has recorded it: else nothing would tell of it any more (seed 95007541). Until then
// it does not begin to leave, and loses nothing.
func TestEntryStaysUntilRecordedElsewhere(t *testing.T) {
	account := object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}
	next := object.End{Cluster: "east", Link: api.Pair{Source: "west", Target: "orient"}}
	in := input(target, sorted(account), linkerd.Mirror{})
	record(&in.Observation, account, ours(account))
	in.Desired[next] = object.Desired{End: next, Objects: []object.Object{{Key: account}}}
	if v := onlyVerdict(t, in, absentPeer()); v.Drop || len(v.Changes) > 0 || v.Waiting == nil || v.Next.Leaving || !v.Next.Has(account) {
		t.Errorf("not recorded yet: %s, next %+v", summarize(v), v.Next)
	}
	in.Recorded = append(in.Recorded, inventory.Inventory{End: next, Entries: sorted(account)})
	for _, v := range Select(in, peerAlways(absentPeer())) {
		if v.End == target && (!v.Drop || len(v.Changes) > 0 || v.Next.Has(account)) {
			t.Errorf("recorded: %s, next %+v", summarize(v), v.Next)
		}
	}
}

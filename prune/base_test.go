package prune

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

var (
	base      = object.End{Cluster: "west"}
	policyKey = object.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: mc, Name: "gateway"}
)

// An undeclared base goes after all links, its objects before itself, and only where the guards let it.
func TestLeaveBase(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*Input)
		told    string
		leaving bool // is written down
	}{
		{"nothing recorded", func(in *Input) { in.Recorded[0].Entries = nil }, "drop", false},
		{"one object", func(*Input) {}, "delete NetworkPolicy gateway", true},
		{
			"being deleted", func(in *Input) {
				record(&in.Observation, policyKey, object.Record{UID: "1", Mark: object.Ours, Terminating: true})
			},
			"wait: objects of the cluster: 1 not gone yet, the first is NetworkPolicy.networking.k8s.io linkerd-multicluster/gateway", true,
		},
		{"gone", func(in *Input) { drop(&in.Observation, policyKey) }, "drop", false},
		{"somebody else's by now", func(in *Input) { record(&in.Observation, policyKey, object.Record{UID: "1", Mark: object.Theirs}) }, "drop", false},
		{
			"not looked for", func(in *Input) { in.WasRead = func(object.Key) bool { return false } },
			"wait: objects of the cluster: 1 not gone yet, the first is NetworkPolicy.networking.k8s.io linkerd-multicluster/gateway", true,
		},
		{
			"links are left", func(in *Input) { in.Recorded = append(in.Recorded, inventory.Inventory{End: source, Leaving: true}) },
			"wait: linkwright is still removing links of this cluster", true,
		},
		{"links are left, and nothing recorded", func(in *Input) {
			in.Recorded[0].Entries = nil
			in.Recorded = append(in.Recorded, inventory.Inventory{End: source, Leaving: true})
		}, "wait: linkwright is still removing links of this cluster", false},
		{"a link wants it", func(in *Input) {
			in.Desired[source] = object.Desired{End: source, Objects: []object.Object{{Key: policyKey}}}
			in.Recorded = append(in.Recorded, inventory.Inventory{End: source, Entries: sorted(policyKey)})
		}, "wait: linkwright is still removing links of this cluster", false},
		{"kept", func(in *Input) {
			r := ours(policyKey)
			r.PruneDisabled = true
			record(&in.Observation, policyKey, r)
		}, "refused: PruneDisabled", false},
		{"nothing may be deleted", func(in *Input) { in.Policy.Prune.Policy = api.UpsertOnly }, "refused: PrunePolicy", false},
		{"begun, then nothing may be deleted", func(in *Input) {
			in.Policy.Prune.Policy, in.Recorded[0].Leaving = api.UpsertOnly, true
		}, "delete NetworkPolicy gateway", true},
	}
	for _, tt := range tests {
		in := input(base, sorted(policyKey), linkerd.Mirror{})
		tt.change(&in)
		v := Select(in, peerAlways(absentPeer()))[0]
		if summarize(v) != tt.told || v.Next.Leaving != tt.leaving {
			t.Errorf("%s: %s, leaving %t; want %s, %t", tt.name, summarize(v), v.Next.Leaving, tt.told, tt.leaving)
		}
	}
}

// A declared base loses what it no longer wants, unless the revision is over a limit.
func TestTrimBase(t *testing.T) {
	in := input(base, sorted(policyKey), linkerd.Mirror{})
	in.Desired[base] = object.Desired{End: base}
	if v := onlyVerdict(t, in, absentPeer()); summarize(v) != "delete NetworkPolicy gateway" || v.Next.Leaving || !v.Next.Has(policyKey) {
		t.Errorf("surplus: %s, next %v", summarize(v), v.Next)
	}
	in.Desired[base] = object.Desired{End: base, Objects: []object.Object{{Key: policyKey}}}
	if v := onlyVerdict(t, in, absentPeer()); summarize(v) != "" {
		t.Errorf("wanted: %s", summarize(v))
	}
	in.Desired[base] = object.Desired{End: base, Blocked: &object.Reason{Code: reason.KindNotServed}}
	if v := onlyVerdict(t, in, absentPeer()); summarize(v) != "" || !v.Next.Has(policyKey) {
		t.Errorf("held: %s", summarize(v))
	}
	in.Removal = denied()
	in.Desired[base] = object.Desired{End: base}
	if why := Denials(in)[base]; why == nil || why.Code != reason.PruneLimitExceeded {
		t.Errorf("over a limit: %v", why)
	}
	r := denied()()
	r.Approved = map[inventory.Unit]bool{{Kind: inventory.UnitOverlay, Cluster: base.Cluster, To: "01234567"}: true}
	in.Removal = func() Removal { return r }
	if why := Denials(in)[base]; why != nil {
		t.Errorf("approved: %v", why)
	}
}

// Where nothing is written at the other end, nothing begins, and nobody need know what else is against it; what has
// begun goes on in a source, and waits in a target for its source.
func TestClosedPeer(t *testing.T) {
	closed := Peer{State: PeerHasObjects, Closed: &object.Reason{Code: reason.Suspended}, Denied: &object.Reason{Code: reason.PruneLimitExceeded}}
	gone := closed
	gone.State, gone.Denied = PeerAbsent, nil
	tests := []struct {
		name  string
		end   object.End
		peer  Peer
		begun bool
		want  string
	}{
		{"source", source, closed, false, "refused: Suspended"},
		{"target", target, closed, false, "refused: Suspended"},
		{"source, begun", source, closed, true, "delete Link east"},
		{"target, begun", target, closed, true, "wait: Suspended"},
		{"source of what is gone", source, gone, false, "delete Link east"},
		{"target of what is gone", target, gone, false, "delete Link east"},
		{"target of what cannot be read", target, Peer{Closed: closed.Closed}, true, "wait: Suspended"},
	}
	for _, tt := range tests {
		in := input(tt.end, sorted(linkKey), linkerd.Mirror{})
		in.Recorded[0].Leaving = tt.begun
		v := onlyVerdict(t, in, tt.peer)
		got := summarize(v)
		if v.Waiting != nil {
			got = "wait: " + string(v.Waiting.Code)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A base goes with its cluster, whatever is over a limit; another cluster that leaves is no reason.
func TestBaseOfALeavingCluster(t *testing.T) {
	for leaving, refused := range map[api.ClusterName]int{"west": 0, "north": 1} {
		in := input(base, sorted(policyKey), linkerd.Mirror{})
		in.Leaving, in.Removal = map[api.ClusterName]bool{leaving: true}, denied()
		if got := Denials(in); len(got) != refused {
			t.Errorf("%s leaves: %v", leaving, got)
		}
	}
}

// A base stays as long as it records values of Linkerd's installation that are to be put back.
func TestBaseWithValuesStays(t *testing.T) {
	for _, values := range [][]inventory.Value{nil, {{Path: "proxy.await", Set: "false", Before: "true"}}} {
		in := input(base, nil, linkerd.Mirror{})
		in.Desired = nil
		in.Recorded[0].Values = values
		v := Select(in, func(object.End) Peer { return Peer{} })[0]
		if v.Drop != (values == nil) || (v.Waiting != nil) != (values != nil) {
			t.Errorf("with values %v: %+v", values, v)
		}
	}
}

package prune

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// all is what a link's controller may have made and left.
func all() linkerd.Mirror {
	return linkerd.Mirror{
		Pods: []object.Key{podKey}, Services: []object.Key{mirrorKey}, Discovered: []object.Key{mirrorKey}, Endpoints: []object.Key{endpointsKey},
		Probe: []object.Key{probeEnds}, Lease: []object.Key{leaseKey},
		Federated: []linkerd.Membership{{Key: federatedKey}},
	}
}

const secondCheckDone = "wait: second check for mirrors: 1 not gone yet, the first is Link.multicluster.linkerd.io "

// Each row is one gate: what an unlink of the source takes, or waits for, when all before it is gone.
func TestGatesOfSource(t *testing.T) {
	stopped := func(m linkerd.Mirror) linkerd.Mirror { m.Pods = nil; return m }
	swept := linkerd.Mirror{Probe: []object.Key{probeEnds}, Lease: []object.Key{leaseKey}}
	looked := slices.DeleteFunc(external(), func(k object.Key) bool { return k == linkKey })
	tests := []struct {
		name     string
		recorded []object.Key
		gone     []object.Key
		mirrors  linkerd.Mirror
		want     string
	}{
		{"controller", perLink(), nil, all(), "delete Deployment controller-east; delete PodDisruptionBudget controller-east"},
		{"its pods", perLink(), []object.Key{deploymentKey, budgetKey}, all(), "wait: controller: 1 not gone yet, the first is Pod linkerd-multicluster/controller-east-1"},
		{
			"mirrors", perLink(),
			[]object.Key{deploymentKey, budgetKey},
			stopped(all()),
			"delete Service web-east; delete Endpoints web-east; delete Service web-federated",
		},
		{"Linkerd Link", perLink(), []object.Key{deploymentKey, budgetKey}, swept, "delete Link east"},
		{
			"objects", perLink(),
			[]object.Key{deploymentKey, budgetKey, linkKey},
			swept,
			"delete Service probe-east; delete ServiceAccount controller-east",
		},
		{"probe endpoints", perLink(), []object.Key{deploymentKey, budgetKey, linkKey, probeKey, accountKey}, swept, "delete Endpoints probe-east"},
		{
			"lease", perLink(),
			[]object.Key{deploymentKey, budgetKey, linkKey, probeKey, accountKey},
			linkerd.Mirror{Lease: []object.Key{leaseKey}},
			"delete Lease service-mirror-write-east",
		},
		{
			"secret of the mirror", perLink(),
			[]object.Key{deploymentKey, budgetKey, linkKey, probeKey, accountKey},
			linkerd.Mirror{},
			"delete Secret cluster-credentials-east",
		},
		{
			"secret of the control plane", perLink(),
			[]object.Key{deploymentKey, budgetKey, linkKey, probeKey, accountKey, mirrorSecret},
			linkerd.Mirror{},
			"delete Secret cluster-credentials-east",
		},
		{"through", perLink(), perLink(), linkerd.Mirror{}, "drop"},
		{"external: Linkerd Link first", external(), nil, all(), "delete Link east"},
		{
			"external: mirrors", external(),
			[]object.Key{linkKey},
			all(),
			"delete Service web-east; delete Endpoints web-east; delete Service web-federated",
		},
		{"external: mirrors, second look", external(), []object.Key{linkKey}, swept, secondCheckDone + "linkerd-multicluster/east"},
		{"external: probe endpoints", looked, []object.Key{linkKey}, swept, "delete Endpoints probe-east"},
		{"external: lease", looked, []object.Key{linkKey}, linkerd.Mirror{Lease: []object.Key{leaseKey}}, "delete Lease service-mirror-write-east"},
		{"external: secret of the mirror", looked, []object.Key{linkKey}, linkerd.Mirror{}, "delete Secret cluster-credentials-east"},
		{"external: secret of the control plane", looked, []object.Key{linkKey, mirrorSecret}, linkerd.Mirror{}, "delete Secret cluster-credentials-east"},
		{"external: through", looked, external(), linkerd.Mirror{}, "drop"},
	}
	for _, tt := range tests {
		in := input(source, tt.recorded, tt.mirrors)
		for _, k := range tt.gone {
			drop(&in.Observation, k)
		}
		if got := summarize(onlyVerdict(t, in, absentPeer())); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// A gate is not through while one of its objects is being deleted, or is not known to be gone.
func TestGatesWait(t *testing.T) {
	going := input(source, perLink(), linkerd.Mirror{})
	for _, k := range []object.Key{deploymentKey, budgetKey} {
		r := going.Observation.Record(k)
		r.Terminating = true
		record(&going.Observation, k, r)
	}
	if got := summarize(onlyVerdict(t, going, absentPeer())); !strings.HasPrefix(got, "wait: controller: 2 not gone yet") {
		t.Errorf("being deleted: %s", got)
	}
	unseen := input(source, perLink(), linkerd.Mirror{})
	unseen.Recorded[0].Leaving = true
	unseen.WasRead = func(k object.Key) bool { return k.Kind != "Deployment" && k.Kind != "PodDisruptionBudget" }
	if got := summarize(onlyVerdict(t, unseen, absentPeer())); !strings.HasPrefix(got, "wait: controller: 2 not gone yet") {
		t.Errorf("not looked for: %s", got)
	}
	sweep := input(source, perLink(), linkerd.Mirror{Services: []object.Key{mirrorKey}})
	record(&sweep.Observation, mirrorKey, object.Record{UID: "x", Terminating: true})
	drop(&sweep.Observation, deploymentKey)
	drop(&sweep.Observation, budgetKey)
	if got := summarize(onlyVerdict(t, sweep, absentPeer())); !strings.HasPrefix(got, "wait: mirrors: 1 not gone yet") {
		t.Errorf("a mirror being deleted: %s", got)
	}
}

// The inventory forgets what is gone, but not by what it knows that the controller was ours.
func TestInventoryOfUnlink(t *testing.T) {
	in := input(source, perLink(), linkerd.Mirror{Lease: []object.Key{leaseKey}})
	for _, k := range []object.Key{deploymentKey, budgetKey, linkKey, probeKey, accountKey} {
		drop(&in.Observation, k)
	}
	next := onlyVerdict(t, in, absentPeer()).Next
	if want := sorted(accountKey, mirrorSecret, planeSecret); !next.Leaving || !slices.Equal(next.Entries, want) {
		t.Errorf("next: leaving %t, %v", next.Leaving, next.Entries)
	}
}

// The source's access in the target waits for the source, unknown or not through.
func TestTargetWaits(t *testing.T) {
	k := object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}
	kept := &object.Reason{Code: reason.PruneDisabled}
	tests := []struct {
		name    string
		peer    Peer
		leaving bool
		want    string
	}{
		{"source not read", Peer{}, false, "wait: cluster west cannot be read, so linkwright cannot check whether its end of the link may be removed: its access stays until then"},
		{"source not through", Peer{State: PeerHasObjects}, false, "wait: the access of cluster west stays until it has removed its end of the link"},
		{"source through", absentPeer(), false, "delete ServiceAccount linkwright.west"},
		{"source refused", Peer{State: PeerHasObjects, Denied: kept}, false, "refused: PruneDisabled"},
		{"source refused, begun", Peer{State: PeerHasObjects, Denied: kept}, true, "wait: the access of cluster west stays until it has removed its end of the link"},
		{"source not read, begun", Peer{}, true, "wait: cluster west cannot be read: its access stays until its end of the link is gone"},
	}
	for _, tt := range tests {
		in := input(target, []object.Key{k}, linkerd.Mirror{})
		in.Recorded[0].Leaving = tt.leaving
		v := onlyVerdict(t, in, tt.peer)
		begins := tt.leaving || v.Denied == nil && (tt.peer.State.Known() || tt.peer.State == PeerUnreachable)
		if got := summarize(v); got != tt.want || v.Next.Leaving != begins {
			t.Errorf("%s: %s, leaving %t, want %s", tt.name, got, v.Next.Leaving, tt.want)
		}
	}
}

// A membership is taken out of what it stands in; the Service goes only with its last member.
func TestFederatedMembership(t *testing.T) {
	tests := []struct {
		m    linkerd.Membership
		want string
	}{
		{linkerd.Membership{Key: federatedKey}, "delete "},
		{linkerd.Membership{Key: federatedKey, Rest: "web@north", Others: true}, `release {"metadata":{"annotations":{"multicluster.linkerd.io/remote-discovery":"web@north"}}}`},
		{linkerd.Membership{Key: federatedKey, Others: true}, `release {"metadata":{"annotations":{"multicluster.linkerd.io/remote-discovery":null}}}`},
	}
	for _, tt := range tests {
		in := input(source, external(), linkerd.Mirror{Federated: []linkerd.Membership{tt.m}})
		drop(&in.Observation, linkKey)
		v := onlyVerdict(t, in, absentPeer())
		c := v.Changes[0]
		if got := c.Action.String() + " " + string(c.Object.Body.Bytes()); got != tt.want || c.Was != in.Observation.Record(federatedKey) || len(v.Changes) != 1 {
			t.Errorf("%+v: %s, was %+v", tt.m, got, c.Was)
		}
		if b := c.Object.Body.Bytes(); len(b) > 0 && !json.Valid(b) {
			t.Errorf("%s is no JSON", b)
		}
	}
}

// Two links that leave one federated Service in the same step do so one after the other.
func TestFederatedOneAtATime(t *testing.T) {
	north := object.End{Cluster: "west", Link: westEast}
	north.Link.Target = "north"
	in := input(source, external(), linkerd.Mirror{Federated: []linkerd.Membership{{Key: federatedKey, Rest: "web@north", Others: true}}})
	drop(&in.Observation, linkKey)
	in.Recorded = append(in.Recorded, inventory.Inventory{End: north})
	in.Mirrors()["north"] = linkerd.Mirror{Federated: []linkerd.Membership{{Key: federatedKey, Rest: "web@east", Others: true}}}
	got := Select(in, peerAlways(absentPeer()))
	if len(got[0].Changes) != 1 || len(got[1].Changes) != 0 || got[1].Waiting == nil || got[1].Drop {
		t.Errorf("first %s, second %s", summarize(got[0]), summarize(got[1]))
	}
}

// Mirrors are swept only on proof: not beside a Linkerd Link of somebody else's.
func TestMirrorsOfForeignLink(t *testing.T) {
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		in := input(source, external(), all())
		record(&in.Observation, linkKey, object.Record{UID: "x", Mark: mark})
		if got := summarize(onlyVerdict(t, in, absentPeer())); strings.Contains(got, "web-") || strings.Contains(got, "wait") {
			t.Errorf("%s: %s", mark, got)
		}
		drop(&in.Observation, mirrorSecret)
		drop(&in.Observation, planeSecret)
		if got := summarize(onlyVerdict(t, in, absentPeer())); got != "drop" {
			t.Errorf("%s, and the credentials are gone, whatever is resolved by another: %s", mark, got)
		}
	}
}

// Nor beside one in another namespace: mirrors do not tell of which Link they are. What is ours goes all the same.
func TestMirrorsOfForeignLinkElsewhere(t *testing.T) {
	in := input(source, slices.DeleteFunc(external(), func(k object.Key) bool { return k == linkKey }), all())
	elsewhere := linkKey
	elsewhere.Namespace = "elsewhere"
	record(&in.Observation, elsewhere, object.Record{UID: "x"})
	if got := summarize(onlyVerdict(t, in, absentPeer())); got != "delete Secret cluster-credentials-east" {
		t.Errorf("beside a Link in another namespace: %s", got)
	}
	record(&in.Observation, elsewhere, ours(elsewhere))
	if got := summarize(onlyVerdict(t, in, absentPeer())); !strings.Contains(got, "delete Service web-east") {
		t.Errorf("beside a Link of ours in another namespace: %s", got)
	}
}

// Where the user's chart took the controller over, its pods are not waited for, and it keeps its lease and
// probe: without the Link it stops to mirror.
func TestForeignController(t *testing.T) {
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		for _, recorded := range [][]object.Key{perLink(), sorted(append(external(), accountKey)...)} {
			in := input(source, recorded, all())
			record(&in.Observation, deploymentKey, object.Record{UID: "x", Mark: mark})
			drop(&in.Observation, budgetKey)
			drop(&in.Observation, probeKey)
			for _, want := range []string{
				"delete Link east",
				"delete Service web-east; delete Endpoints web-east; delete Service web-federated",
				secondCheckDone + "linkerd-multicluster/east",
				"delete ServiceAccount controller-east",
				"delete Secret cluster-credentials-east", "delete Secret cluster-credentials-east",
				"drop",
			} {
				v := onlyVerdict(t, in, absentPeer())
				if got := summarize(v); got != want {
					t.Errorf("%s: %s, want %s", mark, got, want)
				}
				in.Recorded = []inventory.Inventory{v.Next}
				for _, c := range v.Changes {
					if drop(&in.Observation, c.Key); c.Key == federatedKey {
						in.Mirrors()["east"] = linkerd.Mirror{Pods: []object.Key{podKey}, Probe: []object.Key{probeEnds}, Lease: []object.Key{leaseKey}}
					}
				}
				in.Recorded = []inventory.Inventory{v.Next}
			}
		}
	}
}

// The control plane's secret of a declared link waits for what is resolved through it.
func TestModeChange(t *testing.T) {
	federated := []linkerd.Membership{{Key: federatedKey}}
	const held = "wait: Secret linkerd/cluster-credentials-east stays while Linkerd resolves Services through it: "
	const nobody = "no controller of the link runs that would remove them: run it (if your Helm chart does, list the link in its controllers), or delete them"
	tests := []struct {
		mirrors linkerd.Mirror
		want    string
	}{
		{linkerd.Mirror{Services: []object.Key{mirrorKey}, Discovered: []object.Key{mirrorKey}}, held + "Service shop/web-east; " + nobody},
		{linkerd.Mirror{Federated: federated}, held + "Service shop/web-federated; " + nobody},
		{
			linkerd.Mirror{Discovered: []object.Key{mirrorKey, probeKey, podKey, leaseKey}, Federated: federated, Pods: []object.Key{podKey}},
			held + "Service shop/web-east, Service linkerd-multicluster/probe-east, Pod linkerd-multicluster/controller-east-1, and 2 more; the link's controller removes them; delete what it leaves",
		},
		{linkerd.Mirror{Services: []object.Key{mirrorKey}}, "delete Secret cluster-credentials-east"},
	}
	for _, tt := range tests {
		in := input(source, external(), tt.mirrors)
		in.Desired[source] = object.Desired{End: source, Objects: []object.Object{{Key: linkKey}, {Key: mirrorSecret}}}
		if got := summarize(onlyVerdict(t, in, absentPeer())); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.mirrors, got, tt.want)
		}
	}
}

// The base of a cluster that left the fleet goes last.
func TestBaseGoesLast(t *testing.T) {
	in := input(source, external(), linkerd.Mirror{})
	in.Recorded = append([]inventory.Inventory{{End: object.End{Cluster: "west"}}}, in.Recorded...)
	if v := Select(in, peerAlways(absentPeer()))[0]; v.Drop || v.Waiting == nil {
		t.Errorf("beside a link: %s", summarize(v))
	}
	in.Recorded = in.Recorded[:1]
	if v := Select(in, peerAlways(absentPeer()))[0]; !v.Drop {
		t.Errorf("alone: %s", summarize(v))
	}
}

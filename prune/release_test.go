package prune

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// A release takes every mark of ours off, and says whose the object is from then on, where it is somebody's.
func TestRelease(t *testing.T) {
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: "mc", Name: "controller-east"}
	was := object.Record{UID: "u", ResourceVersion: "7", Mark: object.Ours}
	for _, tt := range []struct {
		name string
		to   linkerd.Helm
		want string
	}{
		{"nobody's", linkerd.Helm{}, `{"metadata":{` +
			`"labels":{"linkwright.dev/owner":null,"velero.io/exclude-from-backup":null},` +
			`"annotations":{"linkwright.dev/digest":null,"linkwright.dev/prune":null},"managedFields":[{}]}}`},
		{"Helm's", linkerd.Helm{Name: "mc", Namespace: "ops"}, `{"metadata":{` +
			`"labels":{"app.kubernetes.io/managed-by":"Helm","linkwright.dev/owner":null,"velero.io/exclude-from-backup":null},` +
			`"annotations":{"helm.sh/resource-policy":null,"linkwright.dev/digest":null,"linkwright.dev/prune":null,` +
			`"meta.helm.sh/release-name":"mc","meta.helm.sh/release-namespace":"ops"},"managedFields":[{}]}}`},
	} {
		c := Release(object.Change{Action: object.Delete, Key: k, Was: was}, tt.to)
		if got := string(c.Object.Body.Bytes()); got != tt.want {
			t.Errorf("%s: %s", tt.name, cmp.Diff(tt.want, got))
		}
		if c.Action != object.Release || !c.Conditional || c.Was != was || c.Object.Key != k || c.Removes() {
			t.Errorf("%s: got %+v", tt.name, c)
		}
	}
}

// To a chart goes what its controller is made of, by the link's own names, and nothing else: a Link, a Secret, what was another
// link's, what stands in a former namespace is deleted. What is being deleted, or was not looked for, is not given up.
func TestReleasedKinds(t *testing.T) {
	north := object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-north"}
	former := object.Key{Kind: "Service", Namespace: "former", Name: probeKey.Name}
	unseen := object.Key{Kind: "ServiceAccount", Namespace: mc, Name: "controller-east"}
	for _, tt := range []struct {
		key  object.Key
		r    object.Record
		want string
	}{
		{deploymentKey, ours(deploymentKey), "release Deployment controller-east"},
		{probeKey, ours(probeKey), "release Service probe-east"},
		{probeKey, object.Record{UID: "1", Mark: object.Ours, Terminating: true}, ""},
		{unseen, object.Record{}, ""},
		{linkKey, ours(linkKey), "delete Link east"},
		{mirrorSecret, ours(mirrorSecret), "delete Secret cluster-credentials-east"},
		{north, ours(north), "delete Deployment controller-north"},
		{former, ours(former), "delete Service probe-east"},
		{object.Key{Kind: "ConfigMap", Namespace: mc, Name: "else"}, object.Record{UID: "1", Mark: object.Ours}, "delete ConfigMap else"},
	} {
		in := input(source, sorted(tt.key), linkerd.Mirror{})
		in.Desired[source], in.External = object.Desired{End: source}, map[object.End]linkerd.Helm{source: {}}
		in.WasRead = func(k object.Key) bool { return k != unseen }
		if record(&in.Observation, tt.key, tt.r); tt.r.IsZero() {
			drop(&in.Observation, tt.key)
		}
		if got := summarize(onlyVerdict(t, in, absentPeer())); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.key, got, tt.want)
		}
	}
}

// A source's end under a former name leaves what the link by the new name wants, and what it does not want goes. A target's end
// passes nothing on: its access stays for as long as the source uses it.
func TestObjectsNeededElsewhere(t *testing.T) {
	renamed := object.End{Cluster: "west", Link: api.Pair{Source: "newwest", Target: "east"}}
	in := input(source, sorted(linkKey, mirrorSecret), linkerd.Mirror{})
	in.Recorded = append(in.Recorded, inventory.Inventory{End: renamed, Entries: sorted(linkKey)})
	in.Desired[renamed] = object.Desired{End: renamed, Objects: []object.Object{{Key: linkKey}}}
	for _, v := range Select(in, peerAlways(Peer{State: PeerHasObjects})) {
		if v.End == source && (summarize(v) != "delete Secret cluster-credentials-east" || v.Next.Has(linkKey)) {
			t.Errorf("source: %s, next %v", summarize(v), v.Next.Entries)
		}
	}
	account := object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}
	in.Recorded[0] = inventory.Inventory{End: target, Entries: sorted(account), Leaving: true}
	record(&in.Observation, account, ours(account))
	for _, v := range Select(in, peerAlways(Peer{State: PeerHasObjects})) {
		if v.End == target && v.Waiting == nil {
			t.Errorf("target: %s", summarize(v))
		}
	}
}

// What has begun to go waits for what takes its place, too: when it began, nothing may have been to take it.
func TestBegunWaitsForReplacement(t *testing.T) {
	for _, leaving := range []bool{false, true} {
		in := input(source, perLink(), linkerd.Mirror{})
		in.Recorded[0].Leaving = leaving
		in.Replacement = func(object.End) *object.Reason { return object.Because(reason.WaitingForReplacement, "not ready") }
		if v := onlyVerdict(t, in, absentPeer()); v.Waiting == nil || len(v.Changes) > 0 || v.Next.Leaving != leaving {
			t.Errorf("begun %t: %s", leaving, summarize(v))
		}
	}
}

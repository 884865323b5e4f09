package prune

import (
	"slices"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

var (
	sharedPodKey     = object.Key{Kind: "Pod", Namespace: mc, Name: "linkwright-mirror-1"}
	sharedBindingKey = linkerd.SharedBinding(api.Cluster{}.WithDefaults().Linkerd, "east")
	sharedDeployment = object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "linkwright-mirror"}
	sharedAccount    = object.Key{Kind: "ServiceAccount", Namespace: mc, Name: "linkwright-mirror"}
)

// sharedLink is what the source's end of a link that shares a controller has recorded.
func sharedLink() []object.Key {
	return sorted(accountKey, probeKey, linkKey, sharedBindingKey, mirrorSecret, planeSecret)
}

// sharing is the source of a link that is to be removed, and whose shared controller has these pods.
func sharing(pods ...object.Key) Input {
	in := draining(sharedLink())
	m := all()
	m.Pods = nil
	in.Mirrors()["east"], in.Mirrors()[""] = m, linkerd.Mirror{Pods: pods}
	for _, k := range pods {
		record(&in.Observation, k, object.Record{UID: "1"})
	}
	return in
}

// leads has the Lease of the link held, or released.
func leads(in *Input, lease string) {
	record(&in.Observation, leaseKey, object.Record{UID: "1", Health: object.HealthOf("Lease", []byte(lease))})
}

const held, released = `{"spec":{"holderIdentity":"linkwright-mirror-1"}}`, `{"spec":{}}`

// A shared controller drains its link, then loses its Link, and releases the Lease. Nothing else goes before that, and nothing of the controller.
func TestUnlinkOfShared(t *testing.T) {
	in := sharing(sharedPodKey)
	leads(&in, held)
	next := func(want string) {
		t.Helper()
		v := onlyVerdict(t, in, served())
		if got := summarize(v); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		in.Recorded[0] = v.Next
		for _, c := range v.Changes {
			if c.Action == object.Delete {
				drop(&in.Observation, c.Key)
			}
		}
	}
	next("drain Link east")
	shown(&in, string(emptyLink(t).Body.Bytes()))
	if v := onlyVerdict(t, in, served()); v.Waiting == nil || v.Waiting.Code != reason.Draining {
		t.Errorf("with mirrors: %s", summarize(v))
	}
	in.Mirrors()["east"] = linkerd.Mirror{Lease: []object.Key{leaseKey}}
	next("delete Link east")
	next("wait: shared controller: 1 not gone yet, the first is Lease.coordination.k8s.io linkerd-multicluster/service-mirror-write-east")
	leads(&in, released)
	next("delete Service probe-east; delete ServiceAccount controller-east; delete RoleBinding controller-read-remote-creds-east.shared")
	next("delete Lease service-mirror-write-east")
}

// Nobody is waited for who could not release the Lease, and not longer than the drain may take.
func TestLeaseOfShared(t *testing.T) {
	for name, tt := range map[string]struct {
		pods []object.Key
		now  time.Time
		wait bool
	}{
		"it runs":               {[]object.Key{sharedPodKey}, noon, true},
		"it does not run":       {nil, noon, false},
		"the deadline":          {[]object.Key{sharedPodKey}, noon.Add(5 * time.Minute), false},
		"before the deadline":   {[]object.Key{sharedPodKey}, noon.Add(5*time.Minute - 1), true},
		"a clock far behind it": {[]object.Key{sharedPodKey}, noon.Add(-6 * time.Minute), false},
	} {
		in := sharing(tt.pods...)
		leads(&in, held)
		in.Recorded[0] = in.Recorded[0].Leave(noon)
		in.Now = tt.now
		in.Mirrors()["east"] = linkerd.Mirror{Lease: []object.Key{leaseKey}}
		drop(&in.Observation, linkKey)
		in.Recorded[0] = onlyVerdict(t, in, served()).Next // the second check for mirrors is done
		if v := onlyVerdict(t, in, served()); (v.Waiting != nil) != tt.wait || tt.wait != (len(v.Changes) == 0) {
			t.Errorf("%s: %s", name, summarize(v))
		}
	}
}

// Without a pod of the shared controller nobody drains.
func TestNoDrainWithoutShared(t *testing.T) {
	if got := summarize(onlyVerdict(t, sharing(), served())); got != "delete Link east" {
		t.Error(got)
	}
	in := sharing(sharedPodKey)
	in.Recorded[0].Entries = slices.DeleteFunc(sharedLink(), func(k object.Key) bool { return k == sharedBindingKey })
	if got := summarize(onlyVerdict(t, in, served())); got == "drain Link east" {
		t.Error("a controller drains that does not mirror the link")
	}
}

// The base keeps its controller while that mirrors links, whether the base is declared or not.
func TestBaseAwaitsItsLinks(t *testing.T) {
	const waits = "wait: it mirrors links"
	for _, declared := range []bool{true, false} {
		in := input(base, sorted(sharedDeployment, sharedAccount), linkerd.Mirror{})
		if declared {
			in.Desired[base] = object.Desired{End: base}
		}
		used := object.Because(reason.WaitingForLinks, "it mirrors links")
		in.Replacement = func(object.End) *object.Reason { return used }
		if got := summarize(onlyVerdict(t, in, absentPeer())); got != waits {
			t.Errorf("declared %t: %s", declared, got)
		}
		used = nil
		if got := onlyVerdict(t, in, absentPeer()); got.Waiting != nil || len(got.Changes) == 0 || got.Changes[0].Action != object.Delete {
			t.Errorf("declared %t, and no link is left: %s", declared, summarize(got))
		}
	}
}

// What goes to the user's chart are the parts of the link's own controller, which the chart has, too.
func TestReleaseOfShared(t *testing.T) {
	in := input(source, sharedLink(), linkerd.Mirror{})
	in.Desired[source] = object.Desired{End: source, Objects: []object.Object{{Key: linkKey}, {Key: mirrorSecret}, {Key: planeSecret}}}
	in.External = map[object.End]linkerd.Helm{source: {}}
	const want = "release Service probe-east; release ServiceAccount controller-east; delete RoleBinding controller-read-remote-creds-east.shared"
	if got := summarize(onlyVerdict(t, in, served())); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

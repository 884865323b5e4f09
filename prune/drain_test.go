package prune

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// choosing is a live Link of ours as a server shows it.
const choosing = `{"apiVersion":"multicluster.linkerd.io/v1alpha3","kind":"Link","metadata":{"name":"east","namespace":"linkerd-multicluster",` +
	`"uid":"1","resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"linkwright"}],` +
	`"labels":{"linkwright.dev/owner":"linkwright","velero.io/exclude-from-backup":"true","team":"shop"},` +
	`"annotations":{"linkwright.dev/digest":"00000000000000ff","note":"<a>"}},` +
	`"spec":{"targetClusterName":"east","probeSpec":{"timeout":"30s","failureThreshold":"3"},"selector":{"matchLabels":{"a":"b"}},` +
	`"federatedServiceSelector":{"matchLabels":{"c":"d"}},"remoteDiscoverySelector":{"matchExpressions":[{"key":"e","operator":"Exists"}]},"later":12345678901234567890},` +
	`"status":{"mirrorServices":[]}}`

func served() Peer { return Peer{State: PeerHasObjects} }

// draining is the source of a link whose drain is under way, or begins, at noon.
func draining(recorded []object.Key) Input {
	in := input(source, recorded, all())
	shown(&in, choosing)
	in.Now = noon
	return in
}

// shown puts a body under the Link's record.
func shown(in *Input, body string) {
	show(&in.Observation, linkKey, object.NewBody([]byte(body)))
}

// emptyLink is what the first gate writes.
func emptyLink(t *testing.T) object.Object {
	t.Helper()
	o, ok := withoutSelectors(linkKey, object.NewBody([]byte(choosing)))
	if !ok {
		t.Fatal("no Link")
	}
	return o
}

// A drain takes what chooses services from the Link, and leaves all else that was applied: its mark, labels, annotations
// and fields that we know nothing of. It happens only on exactly what was seen, and says the same each time.
func TestDrainKeepsTheRest(t *testing.T) {
	for _, recorded := range [][]object.Key{perLink(), external()} {
		in := draining(recorded)
		v := onlyVerdict(t, in, served())
		if got := summarize(v); got != "drain Link east" || !v.Next.Leaving || v.Next.Since != noon || !v.Until.IsZero() {
			t.Fatalf("%s, next %+v", got, v.Next)
		}
		c := v.Changes[0]
		if !c.Conditional || c.Was != in.Observation.Record(linkKey) || c.Object.Version != "v1alpha3" || c.Object.Key != linkKey {
			t.Errorf("%+v", c)
		}
	}
	const want = `{"apiVersion":"multicluster.linkerd.io/v1alpha3","kind":"Link","metadata":{"annotations":{"linkwright.dev/digest":"DIGEST","note":"\u003ca\u003e"},` +
		`"labels":{"linkwright.dev/owner":"linkwright","team":"shop","velero.io/exclude-from-backup":"true"},"name":"east","namespace":"linkerd-multicluster"},` +
		`"spec":{"later":12345678901234567890,"probeSpec":{"failureThreshold":"3","timeout":"30s"},"targetClusterName":"east"}}`
	o := emptyLink(t)
	if got := string(o.Body.Bytes()); got != strings.Replace(want, "DIGEST", object.FormatDigest(o.Digest), 1) {
		t.Errorf("it writes %s", got)
	}
	again, ok := withoutSelectors(linkKey, o.Body)
	if !ok || again.Digest != o.Digest || !json.Valid(again.Body.Bytes()) {
		t.Errorf("again it writes %s", again.Body.Bytes())
	}
	if _, ok := withoutSelectors(linkKey, object.NewBody([]byte(`{"kind":"Link"}`))); ok {
		t.Error("what is no Link was emptied")
	}
}

// Once the selectors are empty, Linkerd's controller is waited for: until nothing is left, or the deadline.
func TestDrainWaits(t *testing.T) {
	waits := func(left, first string) string {
		return "wait: " + left + " left, the first is " + first + ": Linkerd's controller removes mirrors, and linkwright removes the rest at 12:05:00 UTC; the drain began at 12:00:00 UTC"
	}
	tests := []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"all is left", func(*Input) {}, waits("3 mirrored objects", "Service shop/web-east")},
		{"a membership is left", func(in *Input) {
			in.Mirrors()["east"] = linkerd.Mirror{Pods: []object.Key{podKey}, Federated: []linkerd.Membership{{Key: federatedKey, Others: true}}}
		}, waits("1 mirrored object", "Service shop/web-federated")},
		{"Endpoints are left", func(in *Input) {
			in.Mirrors()["east"] = linkerd.Mirror{Pods: []object.Key{podKey}, Endpoints: []object.Key{endpointsKey}}
		}, waits("1 mirrored object", "Endpoints shop/web-east")},
		{"nothing is left", func(in *Input) { in.Mirrors()["east"] = linkerd.Mirror{Pods: []object.Key{podKey}} }, stops},
		{"a moment before the deadline", func(in *Input) { in.Now = noon.Add(5*time.Minute - 1) }, waits("3 mirrored objects", "Service shop/web-east")},
		{"the deadline", func(in *Input) { in.Now = noon.Add(5 * time.Minute) }, stops},
		{"another deadline", func(in *Input) {
			in.Policy.Prune.DrainDeadline = "10s"
			in.Now = noon.Add(10 * time.Second)
		}, stops},
		{"begun by a clock far ahead", func(in *Input) { in.Recorded[0].Since = noon.Add(6 * time.Minute) }, stops},
		{"somebody else sets a selector, too", func(in *Input) {
			r := in.Observation.Record(linkKey)
			r.Digest = emptyLink(t).Digest
			record(&in.Observation, linkKey, r)
			shown(in, choosing)
		}, stops},
	}
	for _, tt := range tests {
		in := draining(perLink())
		in.Recorded[0] = in.Recorded[0].Leave(noon)
		shown(&in, string(emptyLink(t).Body.Bytes()))
		tt.change(&in)
		v := onlyVerdict(t, in, served())
		if got := summarize(v); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if waiting := v.Waiting != nil && v.Waiting.Code == reason.Draining; waiting != v.Until.Equal(noon.Add(5*time.Minute)) || !waiting && !v.Until.IsZero() {
			t.Errorf("%s: until %s", tt.name, v.Until)
		}
		if v.Next.Since != in.Recorded[0].Since {
			t.Errorf("%s: since %s", tt.name, v.Next.Since)
		}
	}
}

const stops = "delete Deployment controller-east; delete PodDisruptionBudget controller-east"

// Where nobody could drain, nothing is waited for: the controller stops, and what is left is swept.
func TestDrainSkipped(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Input, *Peer)
	}{
		{"the target does not answer", func(_ *Input, p *Peer) { *p = Peer{} }},
		{"the target was never written to", func(_ *Input, p *Peer) { *p = absentPeer() }},
		{"no pod of the controller", func(in *Input, _ *Peer) {
			m := all()
			m.Pods = nil
			in.Mirrors()["east"] = m
		}},
		{"the Link is gone", func(in *Input, _ *Peer) { drop(&in.Observation, linkKey) }},
		{"the Link is going", func(in *Input, _ *Peer) {
			record(&in.Observation, linkKey, object.Record{UID: "1", Mark: object.Ours, Terminating: true})
			shown(in, choosing)
		}},
		{"the Link is somebody else's", func(in *Input, _ *Peer) {
			record(&in.Observation, linkKey, object.Record{UID: "1", Mark: object.Unmarked})
			shown(in, choosing)
		}},
		{"the Link's content is not known", func(in *Input, _ *Peer) { show(&in.Observation, linkKey, object.Body{}) }},
		{"the Link was not looked for", func(in *Input, _ *Peer) {
			in.Recorded[0], in.WasRead = in.Recorded[0].Leave(in.Now), func(k object.Key) bool { return k != linkKey }
		}},
		{"sweep at once", func(in *Input, _ *Peer) { in.Policy.Prune.DrainDeadline = "0s" }},
		{"an earlier release began", func(in *Input, _ *Peer) { in.Recorded[0].Leaving = true }},
	}
	for _, tt := range tests {
		in, peer := draining(perLink()), served()
		tt.change(&in, &peer)
		if got := summarize(onlyVerdict(t, in, peer)); got != stops {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// What guards refuse is not drained, and what is declared again is not either.
func TestDrainIsGuarded(t *testing.T) {
	in := draining(perLink())
	r := in.Observation.Record(accountKey)
	r.PruneDisabled = true
	record(&in.Observation, accountKey, r)
	if got := summarize(onlyVerdict(t, in, served())); got != "refused: PruneDisabled" {
		t.Errorf("kept: %s", got)
	}
	in = draining(external())
	in.Recorded[0] = in.Recorded[0].Leave(noon)
	in.Desired[source] = object.Desired{End: source, Objects: []object.Object{{Key: linkKey}, {Key: mirrorSecret}, {Key: planeSecret}}}
	if v := onlyVerdict(t, in, served()); summarize(v) != "" || v.Next.Leaving || !v.Next.Since.IsZero() {
		t.Errorf("declared again: %s, next %+v", summarize(v), v.Next)
	}
}

// The user's chart runs the controller: it drains, too, and what it leaves at the deadline is swept behind its Link.
func TestDrainOfExternal(t *testing.T) {
	in := draining(external())
	in.Recorded[0] = in.Recorded[0].Leave(noon)
	shown(&in, string(emptyLink(t).Body.Bytes()))
	if v := onlyVerdict(t, in, served()); v.Waiting == nil || v.Waiting.Code != reason.Draining {
		t.Errorf("before the deadline: %s", summarize(v))
	}
	in.Now = noon.Add(time.Hour)
	for _, want := range []string{"delete Link east", "delete Service web-east; delete Endpoints web-east; delete Service web-federated", secondCheckDone + linkKey.Namespace + "/" + linkKey.Name} {
		v := onlyVerdict(t, in, served())
		if got := summarize(v); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		in.Recorded[0] = v.Next
		for _, c := range v.Changes {
			if drop(&in.Observation, c.Key); c.Key == federatedKey {
				in.Mirrors()["east"] = linkerd.Mirror{Pods: []object.Key{podKey}}
			}
		}
	}
}

// A controller of `linkerd multicluster link` that is not ours is the user's: its pods do not go, and are not waited for.
func TestLegacyController(t *testing.T) {
	in := input(source, perLink(), all())
	legacy := deploymentKey
	legacy.Name = "linkerd-service-mirror-east"
	record(&in.Observation, legacy, object.Record{UID: "x", Mark: object.Unmarked})
	for _, k := range []object.Key{deploymentKey, budgetKey} {
		drop(&in.Observation, k)
	}
	if got := summarize(onlyVerdict(t, in, served())); got != "delete Link east" {
		t.Errorf("theirs: %s", got)
	}
	r := ours(legacy)
	record(&in.Observation, legacy, r)
	in.Recorded[0].Entries = sorted(append(slices.Clone(in.Recorded[0].Entries), legacy)...)
	if got := summarize(onlyVerdict(t, in, served())); got != "delete Deployment linkerd-service-mirror-east" {
		t.Errorf("ours: %s", got)
	}
}

// What is written once is no drain again: a selector that somebody else sets beside us does not make each look one.
func TestDrainsOnce(t *testing.T) {
	in, o := draining(perLink()), emptyLink(t)
	if !Drains(o, in.Observation) {
		t.Error("emptying a Link drains nothing")
	}
	r := in.Observation.Record(linkKey)
	r.Digest = o.Digest
	record(&in.Observation, linkKey, r)
	shown(&in, choosing)
	if Drains(o, in.Observation) {
		t.Error("what was written already drains again")
	}
}

// There is no drain once the account is gone by which the link's controller logged in to its target; by a credential that is not
// ours it may log in still.
func TestNoDrainWithoutAccess(t *testing.T) {
	revoked := served()
	revoked.State = PeerCleared
	own := slices.DeleteFunc(perLink(), func(k object.Key) bool { return k == mirrorSecret || k == planeSecret })
	for name, tt := range map[string]struct {
		recorded []object.Key
		peer     Peer
		want     string
	}{
		"it stands":              {perLink(), served(), "drain Link east"},
		"it was revoked":         {perLink(), revoked, stops},
		"a credential of theirs": {own, revoked, "drain Link east"},
	} {
		if got := summarize(onlyVerdict(t, draining(tt.recorded), tt.peer)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A Link that a held end has recorded, too, is not drained with another end's.
func TestDrainSparesLinksOfBlockedEnds(t *testing.T) {
	in := draining(perLink())
	blocked := object.End{Cluster: "west", Link: api.Pair{Source: "oldwest", Target: "east"}}
	drains := func() (keys []object.Key) {
		for _, v := range Select(in, peerAlways(served())) {
			for _, c := range v.Changes {
				keys = append(keys, c.Key)
			}
		}
		return keys
	}
	if got := drains(); !slices.Equal(got, []object.Key{linkKey}) {
		t.Fatalf("nobody else's: %v", got)
	}
	in.Recorded = append(in.Recorded, inventory.Inventory{End: blocked, Entries: []object.Key{linkKey}})
	in.Desired[blocked] = object.Desired{End: blocked, Blocked: &object.Reason{Code: reason.GatewayIncomplete}}
	if got := drains(); slices.Contains(got, linkKey) {
		t.Errorf("a held end has it: %v", got)
	}
}

// A delete and a drain say why: people uninstall linkwright, a cluster of the link leaves, or the link is not declared.
func TestCauseOfRemoval(t *testing.T) {
	for _, tt := range []struct {
		rules Rules
		want  string
	}{
		{Rules{}, "no longer declared"},
		{Rules{Leaving: map[api.ClusterName]bool{"east": true}}, "cluster east has state: Leaving"},
		{Rules{Leaving: map[api.ClusterName]bool{"east": true}, Uninstall: true}, "uninstall"},
	} {
		drains, deletes := draining(perLink()), input(target, []object.Key{accountKey}, linkerd.Mirror{})
		for _, in := range []*Input{&drains, &deletes} {
			in.Leaving, in.Uninstall = tt.rules.Leaving, tt.rules.Uninstall
		}
		drain := onlyVerdict(t, drains, served()).Changes[0].Why.Message
		if got := onlyVerdict(t, deletes, absentPeer()).Changes[0].Why.Message; got != tt.want || drain != tt.want+": Linkerd's controller removes its mirrors" {
			t.Errorf("want %q: the delete says %q, the drain %q", tt.want, got, drain)
		}
	}
}

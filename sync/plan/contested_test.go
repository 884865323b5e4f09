package plan

import (
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/state"
)

// drifted takes a field of an object from linkwright.
func drifted(s *sim, c api.ClusterName, k object.Key) {
	r := s.live[c].Live.Record(k)
	r.Fields, r.ForeignManagers = unique.Make(`{"f:metadata":{"f:labels":{}}}`), unique.Make("argocd,kubectl")
	record(&s.live[c].Live, k, r)
}

// What others keep changing is left alone until its time, whichever way they change it, while all else goes on; then it is
// tried again.
func TestContested(t *testing.T) {
	s := linked(t, "")
	until := s.snapshot.Now.Add(time.Minute)
	s.snapshot.Contested = map[api.ClusterName]map[object.Key]state.Contest{"west": {deployment("east"): {Until: until, Times: 6}}}
	allInPlace(t, "west", s.reconcile("west"))
	ways := map[string]func(){
		"a field": func() { drifted(s, "west", deployment("east")) },
		"a digest": func() {
			r := s.live["west"].Live.Record(deployment("east"))
			r.Digest++
			record(&s.live["west"].Live, deployment("east"), r)
		},
	}
	for name, way := range ways {
		s.snapshot.Now = until.Add(-time.Minute)
		way()
		step := s.reconcile("west")
		same(t, name, nil, actions(step))
		got := row(t, step, westEast)
		if got.Phase != Waiting || got.Why.Code != reason.Contested || !strings.Contains(got.Why.Message, "6 times") ||
			!strings.Contains(got.Why.Message, until.UTC().Format(time.RFC3339)) || !strings.Contains(got.Why.Message, deployment("east").String()) {
			t.Errorf("%s: %s %v", name, got.Phase, got.Why)
		}
		if name == "a field" && !strings.Contains(got.Why.Message, "argocd, kubectl") {
			t.Errorf("%s: nobody is named: %v", name, got.Why)
		}
		if !step.PlanAgain.Equal(until) {
			t.Errorf("%s: asked again at %s", name, step.PlanAgain)
		}
		drifted(s, "west", linkKey("east"))
		same(t, name+", and something else", []string{"update " + linkKey("east").String()}, describe(s.reconcile("west")))
		s.snapshot.Now = until
		if step := s.reconcile("west"); len(step.Changes) != 1 || step.Changes[0].Key != deployment("east") {
			t.Errorf("%s, in time: %v", name, describe(step))
		}
		allInPlace(t, "west", s.reconcile("west"))
	}
	s.snapshot.Now = until.Add(-time.Second)
	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	if !s.live["west"].Live.Record(deployment("east")).IsZero() {
		t.Error("what is contested is never removed")
	}
}

// Who deletes an object quarrels about nothing: it is created at once, however often that was.
func TestDeletedIsCreatedAtOnce(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Contested = map[api.ClusterName]map[object.Key]state.Contest{"west": {deployment("east"): {Until: s.snapshot.Now.Add(time.Hour), Times: 60}}}
	for range 3 {
		remove(s.live["west"], deployment("east"))
		same(t, "deleted", []string{"create " + deployment("east").String()}, actions(s.reconcile("west")))
	}
}

// formerly says that what was refused of another object, wanted or live, tells nothing of this one.
func formerly(t *testing.T, s *sim, k object.Key, denied state.Refusal) {
	t.Helper()
	for _, former := range []state.Refusal{
		{Rejection: denied.Rejection, Digest: denied.Digest + 1, Was: denied.Was},
		{Rejection: denied.Rejection, Digest: denied.Digest, Was: object.Record{UID: "of one that is gone"}},
		{Rejection: object.Rejection{Field: denied.Field, By: "somebody"}, Digest: denied.Digest, Was: object.Record{UID: denied.Was.UID, ResourceVersion: "of before"}},
	} {
		s.snapshot.Immutable = map[api.ClusterName]map[object.Key]state.Refusal{"west": {k: former}}
		if step := Next(s.now(), "west", s.renderer()); len(step.Changes) != 1 || step.Changes[0].Action != object.Update {
			t.Errorf("%s of %s, of an object that was refused before: %v", denied.Field, k, describe(step))
		}
	}
}

// An immutable field is replaced only where that is harmless; else the end is held, and says what to do.
func TestImmutable(t *testing.T) {
	roleBinding := object.Key{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Namespace: mc, Name: "controller-read-remote-creds-east"}
	clusterBinding := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: "linkerd-multicluster-controller-access-local-resources-east"}
	tests := []struct {
		key   object.Key
		field string
		keep  bool
		goes  bool
	}{
		{roleBinding, "roleRef", false, true},
		{clusterBinding, "roleRef", false, true},
		{mirrorKey, "type", false, true},
		{mirrorKey, "data", false, false},
		{mirrorKey, "type", true, false},
		{roleBinding, "subjects", false, false},
		{deployment("east"), "spec.selector", false, false},
		{linkKey("east"), "spec", false, false},
		{object.Key{Kind: "Service", Namespace: mc, Name: "probe-east"}, "type", false, false},
	}
	for _, tt := range tests {
		s := linked(t, "")
		drifted(s, "west", tt.key)
		r := s.live["west"].Live.Record(tt.key)
		r.PruneDisabled = tt.keep
		record(&s.live["west"].Live, tt.key, r)
		denied := state.Refusal{Rejection: object.Rejection{Field: tt.field}, Digest: Next(s.now(), "west", s.renderer()).Changes[0].Object.Digest, Was: r}
		formerly(t, s, tt.key, denied)
		s.snapshot.Immutable = map[api.ClusterName]map[object.Key]state.Refusal{"west": {tt.key: denied}}
		step := Next(s.now(), "west", s.renderer(), PrunePolicy)
		got := row(t, step, westEast)
		switch {
		case tt.goes && (len(step.Changes) != 1 || step.Changes[0].Action != object.Replace || step.Changes[0].Was != r):
			t.Errorf("%s of %s: %v, %s %v", tt.field, tt.key, describe(step), got.Phase, got.Why)
		case !tt.goes && (len(actions(step)) > 0 || got.Phase != Blocked || got.Why.Code != reason.ImmutableField || !strings.Contains(got.Why.Message, tt.key.String())):
			t.Errorf("%s of %s: %v, %s %v", tt.field, tt.key, describe(step), got.Phase, got.Why)
		}
		if old := Next(aged(s.now(), "west"), "west", s.renderer()); len(actions(old)) > 0 || tt.goes && len(old.ReadFirst) == 0 {
			t.Errorf("%s of %s: %v, without a look", tt.field, tt.key, describe(old))
		}
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: UpsertOnly"))
		if step := Next(s.now(), "west", s.renderer(), PrunePolicy); len(step.Changes) > 0 {
			t.Errorf("%s of %s: %v, where nothing may be deleted", tt.field, tt.key, describe(step))
		}
	}
}

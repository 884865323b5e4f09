package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
)

var two = []api.ClusterName{"east", "west"}

const all = "  remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}\n" +
	"  federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}\n"

// From nothing to linked to unlinked, by steps alone: nothing is left but linkwright's namespace, and the base of a cluster that is still declared.
func TestLinkAndUnlink(t *testing.T) {
	for name, spec := range map[string]string{
		"gateway": "", "all modes": all, "external": "  controller: {mode: External}\n",
		"spread": "  controller: {replicas: 2, podAntiAffinity: true}\n", "shared": shared,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, declare(t, two, linkDoc("west", "east", spec)), two...)
			for cluster, step := range s.settle() {
				allInPlace(t, cluster, step)
			}
			if !(linkerd.Selectors{}).Narrows(linkerd.SelectorsIn(bodyOf(s.live["west"].Live, linkKey("east")))) {
				t.Fatal("no Linkerd Link selects anything")
			}
			s.snapshot.Fleet = declare(t, two, "")
			s.settle()
			namespace, base := "Namespace linkwright-access", "ConfigMap linkwright-access/linkwright.base"
			for _, c := range two {
				if diff := cmp.Diff([]string{base, namespace}, s.names(c)); diff != "" {
					t.Errorf("unlinked %s: -want +got\n%s", c, diff)
				}
			}
			s.depart(t, "west")
			s.settle()
			if diff := cmp.Diff([]string{namespace}, s.names("west")); diff != "" {
				t.Errorf("departed west: -want +got\n%s", diff)
			}
		})
	}
}

// A controller that ends gives its Lease back. A simulation of the sync that writes the missing Deployment does not wait for the new one to take it.
func TestSimulatedControllerLeads(t *testing.T) {
	s := linked(t, "")
	s.lead(false)
	remove(s.live["west"], deployment("east"))
	w := s.now()
	w.Once = true
	_, steps := Simulate(w, s.renderer())
	var written []string
	for _, step := range steps["west"] {
		written = append(written, actions(step)...)
	}
	same(t, "writes", []string{"create " + deployment("east").String()}, written)
	if got := row(t, steps["west"][len(steps["west"])-1], westEast); got.Phase != Ready || got.NotWorking() != nil {
		t.Errorf("in the end it is %s, %v, %v", got.Phase, got.Why, got.NotWorking())
	}
}

// A cluster that leaves the fleet with its links takes all of them along.
func TestDepart(t *testing.T) {
	three := []api.ClusterName{"east", "north", "west"}
	mesh := "---\napiVersion: " + api.GroupVersion + "\nkind: Mesh\nmetadata: {name: all}\nspec:\n  clusters: {matchLabels: {in: mesh}}\n  template:\n  " +
		"  federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}\n"
	many := policyDoc("minAllowed: 100")
	s := newSim(t, declare(t, three, mesh+many), three...)
	s.settle()
	before := s.names("west")
	s.snapshot.Fleet = declare(t, []api.ClusterName{"north", "west"}, mesh+many)
	s.depart(t, "east")
	s.settle()
	if diff := cmp.Diff([]string{"Namespace linkwright-access"}, s.names("east")); diff != "" {
		t.Errorf("departed east: -want +got\n%s", diff)
	}
	for _, k := range s.names("west") {
		if k == "Link.multicluster.linkerd.io linkerd-multicluster/east" {
			t.Errorf("west still has %s; before: %v", k, before)
		}
	}
}

// A Secret that is written again, as where an overlay begins to shape it, still holds the token that it was issued.
func TestAfterKeepsIssuedTokens(t *testing.T) {
	s := linked(t, "")
	key := tokenKey
	view := credential.Pair{View: state.View{Source: *s.live["west"], Target: *s.live["east"]}}
	want, err := view.Credential(key)
	if err != nil || want == nil {
		t.Fatalf("nothing was issued: %v", err)
	}
	body := `{"kind":"Secret","metadata":{"name":"` + key.Name + `","labels":{"x":"y"}},"type":"kubernetes.io/service-account-token"}`
	view.Target = After(view.Target, Step{Cluster: "east", Changes: []object.Change{
		{Action: object.Update, Key: key, Was: view.Target.Live.Record(key), Object: object.Object{Key: key, Body: object.NewBody([]byte(body))}},
	}})
	got, err := view.Credential(key)
	if err != nil || got == nil || got.Fingerprint != want.Fingerprint {
		t.Errorf("after its Secret was written: %v, %v, want the same credential", got, err)
	}
	if !strings.Contains(string(bodyOf(view.Target.Live, key).Bytes()), `"x":"y"`) {
		t.Error("what was written is not seen")
	}
}

// Credentials that no token controller issues come from state.Snapshot.Fresh: so a pull request is planned.
func TestAfterWithFreshCredentials(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.controllers = nil
	s.snapshot.IssuedCredentials = map[api.Pair]linkerd.Credential{
		{Source: "west", Target: "east"}: {Token: object.NewSecret([]byte("stand-in")), Fingerprint: "print"},
	}
	for cluster, step := range s.settle() {
		allInPlace(t, cluster, step)
	}
	for _, k := range []object.Key{deployment("east"), linkKey("east"), {Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"}} {
		if _, ok := s.live["west"].Live.Body(k); !ok {
			t.Errorf("After: %s has no body", k)
		}
	}
}

func TestAfter(t *testing.T) {
	a, b := object.Key{Kind: "Service", Namespace: "shop", Name: "a"}, object.Key{Kind: "Service", Namespace: "shop", Name: "b"}
	body := func(text string) object.Body { return object.NewBody([]byte(text)) }
	current := *dressed("west", "192.0.2.1")
	record(&current.Live, b, object.Record{UID: "b", ResourceVersion: "7"})
	show(&current.Live, b, body(`{"metadata":{"annotations":{"x":"1","y":"2"}}}`))
	release := object.Change{Action: object.Release, Key: b, Object: object.Object{Body: body(`{"metadata":{"annotations":{"x":null,"z":{"k":3}}}}`)}}
	create := object.Change{Action: object.Create, Key: a, Object: object.Object{Key: a, Digest: 5, Body: body(`{"kind":"Service"}`)}}

	got := After(current, Step{Changes: []object.Change{create, release}})
	if string(bodyOf(got.Live, a).Bytes()) != `{"kind":"Service"}` || got.Live.Record(a) != object.Written(create.Object) {
		t.Errorf("After(create): %s, %+v", bodyOf(got.Live, a).Bytes(), got.Live.Record(a))
	}
	if want := `{"metadata":{"annotations":{"y":"2","z":{"k":3}}}}`; string(bodyOf(got.Live, b).Bytes()) != want {
		t.Errorf("After(release): %s, want %s", bodyOf(got.Live, b).Bytes(), want)
	}
	if !current.Live.Record(a).IsZero() {
		t.Error("After changed its input")
	}
	got = After(got, Step{After: []object.Change{{Action: object.Delete, Key: b}}})
	if _, ok := got.Live.Body(b); ok || !got.Live.Record(b).IsZero() {
		t.Error("After(delete): it is still there")
	}
	denied := After(current, Step{Denied: object.Because("No", "no"), Changes: []object.Change{create}})
	if !denied.Live.Record(a).IsZero() {
		t.Error("After(refused) wrote")
	}
}

// What was linkwright's and is released stays, and is nobody's.
func TestAfterRelease(t *testing.T) {
	s := linked(t, "")
	k := deployment("east")
	was := s.live["west"].Live.Record(k)
	c := prune.Release(object.Change{End: westEast, Key: k, Was: was}, linkerd.Helm{Name: "mc", Namespace: "ops"})
	got := After(*s.live["west"], Step{Changes: []object.Change{c}}).Live
	now, meta := got.Record(k), metaOf(bodyOf(got, k))
	if now.Mark != object.Unmarked || now.Digest != 0 || now.PruneDisabled || now.UID != was.UID || now.ResourceVersion == was.ResourceVersion {
		t.Errorf("After(release): %+v", now)
	}
	if _, marked := meta.Labels[object.OwnerLabel]; marked || meta.Annotations["meta.helm.sh/release-name"] != "mc" || len(meta.ManagedFields) > 0 {
		t.Errorf("After(release): %+v", meta)
	}
	reduced := *s.live["west"]
	record(&reduced.Live, k, was)
	if now := After(reduced, Step{Changes: []object.Change{c}}).Live.Record(k); now.Mark != object.Unmarked {
		t.Errorf("After(release) of what was seen without a body: %+v", now)
	}
	if v := After(*s.live["west"], Step{Changes: []object.Change{{Action: object.Release, Key: object.Key{Kind: "Service", Name: "x"}}}}); !v.Live.Record(object.Key{Kind: "Service", Name: "x"}).IsZero() {
		t.Error("After(release) of what is not there made it")
	}
}

// Policies: what is released is not taken from anybody, and yet more than a create.
func TestReleaseAndPolicies(t *testing.T) {
	frees := object.Change{Action: object.Release, Key: deployment("east"), Was: object.Record{UID: "u", Mark: object.Ours}}
	leaves := object.Change{Action: object.Release, Key: object.Key{Kind: "Service"}, Was: object.Record{UID: "u"}}
	for _, tt := range []struct {
		policy string
		change object.Change
		may    bool
	}{
		{"Sync", frees, true},
		{"UpsertOnly", frees, true},
		{"CreateOnly", frees, false},
		{"Sync", leaves, true},
		{"UpsertOnly", leaves, false},
		{"CreateOnly", leaves, false},
	} {
		w := state.Snapshot{Declarations: state.Declarations{Fleet: declare(t, two, policyDoc("policy: "+tt.policy))}}
		if why := PrunePolicy(w, westEast, []object.Change{tt.change}); (why == nil) != tt.may {
			t.Errorf("%s of %s: %v", tt.policy, tt.change.Key, why)
		}
	}
}

// depart makes a cluster one that only the record knows.
func (s *sim) depart(t *testing.T, name api.ClusterName) {
	t.Helper()
	var rest []api.ClusterName
	for _, c := range s.snapshot.Fleet.Clusters {
		if c.Name != name {
			rest = append(rest, c.Name)
		}
	}
	if _, declared := s.snapshot.Fleet.Cluster(name); declared {
		s.snapshot.Fleet = declare(t, rest, "")
	}
	s.snapshot.Departed = append(s.snapshot.Departed, fleet.Cluster{Name: name, Spec: api.Cluster{}.WithDefaults()})
}

func allInPlace(t testing.TB, cluster api.ClusterName, step Step) {
	t.Helper()
	if step.Denied != nil {
		t.Errorf("%s is refused: %s", cluster, step.Denied.Message)
	}
	for _, row := range step.Rows {
		if row.Phase != Ready {
			t.Errorf("%s is %s: %v", row.End, row.Phase, row.Why)
		}
	}
}

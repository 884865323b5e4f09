package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// foreign is west→east, all of it live in west, and nobody's: as if it were by hand.
func foreign(t *testing.T, spec string) *sim {
	t.Helper()
	s := linked(t, spec)
	for _, c := range two {
		observed := s.live[c].Live.Edit()
		for k, r := range s.live[c].Live.Records() {
			body := bodyOf(s.live[c].Live, k)
			switch {
			case r.Mark != object.Ours:
			case k.Namespace == object.AccessNamespace || c == "east":
				observed.Drop(k)
			default:
				r.Mark, r.Digest, r.ForeignManagers = object.Unmarked, 0, unique.Make("helm")
				observed.Put(k, r, body)
			}
		}
		s.live[c].Live = observed.Observation()
	}
	s.snapshot.Adopt = map[api.Pair]bool{{Source: "west", Target: "east"}: true}
	return s
}

// keptByFlux says that Flux manages the controller in west.
func keptByFlux(s *sim) {
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-east"}
	observed := s.live["west"].Live.Edit()
	patch := encoded(map[string]any{"metadata": map[string]any{"labels": map[string]any{"kustomize.toolkit.fluxcd.io/name": "mesh"}}})
	observed.Put(k, s.live["west"].Live.Record(k), merged(bodyOf(s.live["west"].Live, k), patch))
	s.live["west"].Live = observed.Observation()
}

func westEnd() object.End {
	return object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
}

// An adoption records what it takes over, then marks it, and nothing else, in no other cluster. The next ordinary steps make it all as declared, in
// place.
func TestAdopt(t *testing.T) {
	s := foreign(t, all)
	uids := map[object.Key]string{}
	for k, r := range s.live["west"].Live.Records() {
		uids[k] = r.UID
	}
	if step := s.reconcile("east"); step.Writes() > 0 || len(step.Rows) != 1 || step.Left() {
		t.Errorf("east: %v, left %t", describe(step), step.Left())
	}
	step := s.reconcile("west")
	if step.Rows[0].Phase != Changing || len(step.Changes) != 9 || len(step.TokenRequests)+len(step.After) > 0 {
		t.Errorf("west: %v, %v", statuses(step), describe(step))
	}
	inv, _ := inventory.Of(owner, westEnd(), s.live["west"].Live)
	for i, c := range step.Changes {
		if c.Action != object.Adopt || !c.Conditional || c.Was.UID != uids[c.Key] || !inv.Has(c.Key) {
			t.Errorf("change %d: %s %s, fenced %t, recorded %t", i, c.Action, c.Key, c.Conditional, inv.Has(c.Key))
		}
	}
	base, _ := inventory.ReadBase(owner, s.live["west"].Live)
	if n := len(step.Ahead); n == 0 || step.Ahead[n-1].Key != inventory.Key(owner, westEnd()) || base.Commit == "" {
		t.Errorf("ahead: %v, the base has commit %q", describe(step), base.Commit)
	}
	if again := s.reconcile("west"); again.Writes() > 0 || again.Rows[0].Phase != Ready {
		t.Errorf("again: %v, %v", statuses(again), describe(again))
	}
	s.snapshot.Adopt = nil
	s.firstSync(inv)
	for c, step := range s.settle() {
		for _, line := range statuses(step) {
			if !strings.HasSuffix(line, ": Ready") {
				t.Errorf("%s: %s", c, line)
			}
		}
	}
}

// firstSync holds that what was adopted is written because of that, and of nothing that others did.
func (s *sim) firstSync(inv inventory.Inventory) {
	s.t.Helper()
	for range 3 {
		s.reconcile("east") // the account, whose token the source gets
	}
	n := 0
	for _, c := range Next(s.now(), "west", s.renderer()).Changes {
		if !inv.Has(c.Key) {
			continue
		}
		if n++; c.Why.Code != reason.Adopted {
			s.t.Errorf("the first sync: %s %s because of %v, want Adopted", c.Action, c.Key, c.Why)
		}
	}
	if n == 0 {
		s.t.Error("the first sync writes nothing that was adopted")
	}
}

// Adopted is declared: an unlink that had begun is over, and its moment is not recorded any more.
func TestAdoptInTheMiddle(t *testing.T) {
	s := foreign(t, all)
	o, err := inventory.Inventory{End: westEnd(), Leaving: true, Since: s.snapshot.Now.Add(-time.Hour)}.Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	observed := s.live["west"].Live.Edit()
	observed.Put(o.Key, object.Written(o), o.Body)
	s.live["west"].Live = observed.Observation()
	s.reconcile("west")
	body := string(bodyOf(s.live["west"].Live, o.Key).Bytes())
	if !strings.Contains(body, "entries") || strings.Contains(body, "since") || strings.Contains(body, "leaving") {
		t.Error(body)
	}
}

// What is kept from being adopted keeps its whole end so.
func TestAdoptDenied(t *testing.T) {
	deployment := object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-east"}
	mark := func(s *sim, more map[string]any) {
		observed := s.live["west"].Live.Edit()
		body := bodyOf(s.live["west"].Live, deployment)
		patch := encoded(map[string]any{"metadata": more})
		observed.Put(deployment, s.live["west"].Live.Record(deployment), merged(body, patch))
		s.live["west"].Live = observed.Observation()
	}
	record := func(s *sim, change func(*object.Record)) {
		observed := s.live["west"].Live.Edit()
		r := s.live["west"].Live.Record(deployment)
		change(&r)
		observed.Put(deployment, r, bodyOf(s.live["west"].Live, deployment))
		s.live["west"].Live = observed.Observation()
	}
	theirs := func(s *sim) {
		mark(s, map[string]any{"labels": map[string]any{object.OwnerLabel: "old"}})
		record(s, func(r *object.Record) { r.Mark = object.Theirs })
	}
	for _, tt := range []struct {
		name string
		do   func(*sim)
		want string
	}{
		{"other labels", func(s *sim) { mark(s, map[string]any{"labels": map[string]any{"component": nil}}) }, string(reason.NotAdoptable)},
		{"another installation's", theirs, "ObjectExists"},
		{"one that is gone", func(s *sim) { theirs(s); s.snapshot.Rules.From = "old" }, ""},
		{"another one is gone", func(s *sim) { theirs(s); s.snapshot.Rules.From = "older" }, "ObjectExists"},
		{"Flux", keptByFlux, string(reason.ManagedByOtherTool)},
		{"Flux, knowingly", func(s *sim) { keptByFlux(s); s.snapshot.Rules.Managed = true }, ""},
		{"going", func(s *sim) { record(s, func(r *object.Record) { r.Terminating = true }) }, "Terminating"},
		{"another link's", func(s *sim) { s.snapshot.Adopt = map[api.Pair]bool{{Source: "east", Target: "north"}: true} }, "none"},
	} {
		s := foreign(t, all)
		tt.do(s)
		step := Next(s.now(), "west", s.renderer())
		got := "none"
		if !step.Rows[0].End.IsBase() {
			if got = ""; step.Rows[0].Why != nil {
				got = string(step.Rows[0].Why.Code)
			}
		}
		if got != tt.want || tt.want != "" && step.Writes() > 0 {
			t.Errorf("%s: %q, want %q, writes %v", tt.name, got, tt.want, describe(step))
		}
	}
}

// What a declaration leaves to others is left to them.
func TestAdoptPart(t *testing.T) {
	for spec, want := range map[string][]string{
		"  controller: {mode: External}\n": {"Link", "Secret"},
		"  credentials: {mode: Existing}\n": {
			"ClusterRoleBinding", "Deployment", "Link", "Role", "RoleBinding", "Service", "ServiceAccount",
		},
	} {
		s := foreign(t, "")
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", spec))
		var got []string
		for _, c := range Next(s.now(), "west", s.renderer()).Changes {
			got = append(got, c.Key.Kind)
		}
		slices.Sort(got)
		same(t, spec, want, slices.Compact(got))
	}
}

// Helm is told to leave what its release made; others' objects get no such mark.
func TestAdoptKeep(t *testing.T) {
	s := foreign(t, "")
	account := object.Key{Kind: "ServiceAccount", Namespace: mc, Name: "controller-east"}
	observed := s.live["west"].Live.Edit()
	patch := encoded(map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{"app.kubernetes.io/managed-by": "Helm"},
		"annotations": map[string]any{"meta.helm.sh/release-name": "a", "meta.helm.sh/release-namespace": "b"},
	}})
	observed.Put(account, s.live["west"].Live.Record(account), merged(bodyOf(s.live["west"].Live, account), patch))
	s.live["west"].Live = observed.Observation()
	for _, c := range Next(s.now(), "west", render.Renderer{Owner: owner}).Changes {
		if kept := strings.Contains(string(c.Object.Body.Bytes()), `"helm.sh/resource-policy":"keep"`); kept != (c.Key == account) {
			t.Errorf("%s: keep is %t in %s", c.Key, kept, c.Object.Body.Bytes())
		}
	}
}

// An account by a name of linkwright that carries another installation's mark is nobody's to take, whatever is asked for: of it only the mark was
// read.
func TestAdoptAccessOfOthers(t *testing.T) {
	for _, from := range []string{"", "old"} {
		s := linked(t, "")
		account := render.Account(owner, "west")
		observed := s.live["east"].Live.Edit()
		r := s.live["east"].Live.Record(account)
		r.Mark = object.Theirs
		observed.Put(account, r, object.Body{})
		s.live["east"].Live = observed.Observation()
		s.snapshot.Adopt, s.snapshot.Rules.From = map[api.Pair]bool{{Source: "west", Target: "east"}: true}, from
		step := Next(s.now(), "east", s.renderer())
		if step.Writes() > 0 || step.Rows[0].Why == nil || step.Rows[0].Why.Code != reason.ObjectExists {
			t.Errorf("from %q: %v, writes %v", from, statuses(step), describe(step))
		}
	}
}

// released is west→east after a release: all of it is live in both clusters, and nobody's. The next steps adopt it.
func released(t *testing.T, spec string) *sim {
	t.Helper()
	s := linked(t, spec)
	s.snapshot.Release = &state.Releasing{All: true}
	for s.releases() {
	}
	s.snapshot.Release, s.snapshot.Adopt = nil, map[api.Pair]bool{westEnd().Link: true}
	return s
}

// The account in the target is not adopted if the source's end cannot be.
func TestAdoptBothEnds(t *testing.T) {
	secret := object.Hidden{Key: linkerd.ControlPlaneSecret(api.Linkerd{Namespace: cp}, "east")}
	for _, tt := range []struct {
		name, spec string
		do         func(*sim)
		want       reason.Code
	}{
		{"all can be read", all, func(*sim) {}, ""},
		{"Flux manages the controller", all, keptByFlux, reason.ManagedByOtherTool},
		{"the source does not answer", all, func(s *sim) { s.down["west"] = true }, reason.Unreachable},
		{"its control plane's secret is hidden", all, func(s *sim) { s.hidden = map[api.ClusterName][]object.Hidden{"west": {secret}} }, reason.Forbidden},
		{"the same, and no service is federated", "", func(s *sim) { s.hidden = map[api.ClusterName][]object.Hidden{"west": {secret}} }, ""},
	} {
		s := released(t, tt.spec)
		tt.do(s)
		step := s.reconcile("east")
		var got reason.Code
		if why := step.Rows[0].Why; why != nil {
			got = why.Code
		}
		if got != tt.want || (tt.want == "") != (step.Writes() > 0) {
			t.Errorf("%s: east: %v, %v, want %q", tt.name, statuses(step), describe(step), tt.want)
		}
		if step := s.reconcile("west"); tt.want == "" && step.Writes() == 0 {
			t.Errorf("%s: west: %v", tt.name, statuses(step))
		}
	}
}

// Adopted in the target alone, by a process that was killed there: the account stays when the link is not declared any more, for as long as the
// Linkerd Link is in the source.
func TestAccountOfSomebodysLink(t *testing.T) {
	s := released(t, "")
	s.reconcile("east")
	s.snapshot.Adopt, s.snapshot.Fleet = nil, declare(t, two, "")
	account := render.Account(owner, "west")
	s.settle()
	step := s.settle()["east"]
	if i := slices.IndexFunc(step.Rows, func(r Row) bool { return !r.End.IsBase() }); i < 0 || step.Rows[i].Why == nil || step.Rows[i].Why.Code != reason.ObjectExists {
		t.Errorf("east: %v", statuses(step))
	}
	if s.live["east"].Live.Record(account).IsZero() {
		t.Fatal("the account is gone that a Linkerd Link in west uses")
	}
	observed := s.live["west"].Live.Edit()
	observed.Drop(linkerd.LinkKey(api.Linkerd{MulticlusterNamespace: mc}, "east"))
	s.live["west"].Live = observed.Observation()
	s.settle()
	if !s.live["east"].Live.Record(account).IsZero() {
		t.Error("the Linkerd Link is gone, and the account stays")
	}
}

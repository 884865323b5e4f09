package plan

import (
	"strings"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

var westEast = object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}

// row returns one row of a step.
func row(t *testing.T, s Step, end object.End) Row {
	t.Helper()
	for _, r := range s.Rows {
		if r.End == end {
			return r
		}
	}
	t.Fatalf("no row of %s in %v", end, statuses(s))
	return Row{}
}

// An object of a wanted name without linkwright's mark is never written, and holds its whole end.
func TestConflict(t *testing.T) {
	probe := object.Key{Kind: "Service", Namespace: mc, Name: "probe-east"}
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		s := newSim(t, declare(t, two, linkDoc("west", "east", "")), two...)
		put(s.live["west"], probe, nil, metav1.ObjectMeta{})
		r := s.live["west"].Live.Record(probe)
		r.Mark, r.ForeignManagers = mark, unique.Make("helm,kubectl-edit")
		record(&s.live["west"].Live, probe, r)
		step := s.settle()["west"]
		if got := row(t, step, westEast); got.Phase != Blocked || got.Why.Code != reason.ObjectExists ||
			!strings.Contains(got.Why.Message, "helm, kubectl-edit") || !strings.Contains(got.Why.Message, probe.String()) {
			t.Errorf("%s: %s, %v", mark, got.Phase, got.Why)
		}
		for _, name := range s.names("west") {
			if strings.Contains(name, "controller-east") || strings.Contains(name, "cluster-credentials") {
				t.Errorf("%s: %s was written nevertheless", mark, name)
			}
		}
	}
}

// What is in the way is to be adopted where Linkerd's own tools may have made it, and not where its content says otherwise,
// nor what no link consists of. In the target, linkwright's own names show it.
func TestConflictIsAdoptable(t *testing.T) {
	for name, tt := range map[string]struct {
		key   object.Key
		mark  object.Mark
		body  object.Body
		adopt bool
	}{
		"its content is not read": {deployment("east"), object.Unmarked, object.Body{}, true},
		"a Link to the target":    {linkKey("east"), object.Unmarked, object.NewBody([]byte(`{"spec":{"targetClusterName":"east"}}`)), true},
		"a Link to another one":   {linkKey("east"), object.Unmarked, object.NewBody([]byte(`{"spec":{"targetClusterName":"north"}}`)), false},
		"another installation's":  {deployment("east"), object.Theirs, object.Body{}, false},
		"of the target's end":     {access, object.Unmarked, object.Body{}, true},
		"there, of another one":   {access, object.Theirs, object.Body{}, false},
	} {
		s := linked(t, "")
		cluster := api.ClusterName("west")
		if tt.key == access {
			cluster = "east"
		}
		remove(s.live[cluster], tt.key)
		edit(&s.live[cluster].Live, tt.key, object.Record{UID: "theirs", Mark: tt.mark}, tt.body)
		got := row(t, s.reconcile(cluster), object.End{Cluster: cluster, Link: westEast.Link})
		if got.Why == nil || got.Why.Code != reason.ObjectExists || strings.Contains(got.Why.Message, "linkwright adopt west/east") != tt.adopt {
			t.Errorf("%s: %s, %v", name, got.Phase, got.Why)
		}
	}
}

// If an adoption would be denied, a sync says why instead of the command.
func TestConflictNotAdoptable(t *testing.T) {
	s := linked(t, all)
	secret := linkerd.ControlPlaneSecret(s.now().Spec("west").Linkerd, "east")
	for _, k := range []object.Key{deployment("east"), secret} {
		remove(s.live["west"], k)
	}
	edit(&s.live["west"].Live, deployment("east"), object.Record{UID: "theirs", Mark: object.Unmarked}, object.Body{})
	edit(&s.live["west"].Live, secret, object.Record{UID: "theirs", Mark: object.Unmarked}, object.NewBody([]byte(`{"type":"`+linkerd.KubeconfigSecretType+`"}`)))
	got := row(t, s.reconcile("west"), westEast)
	if got.Why == nil || got.Why.Code != reason.NotAdoptable || !strings.Contains(got.Why.Message, "kubectl label") || strings.Contains(got.Why.Message, "linkwright adopt") {
		t.Errorf("%s, %v", got.Phase, got.Why)
	}
}

// Once all is in place, an object that loses linkwright's mark is no longer touched either, and nothing else of the end goes.
func TestConflictLater(t *testing.T) {
	s := linked(t, "")
	before := s.names("west")
	r := s.live["west"].Live.Record(deployment("east"))
	r.Mark = object.Theirs
	record(&s.live["west"].Live, deployment("east"), r)
	same(t, "writes", nil, actions(s.reconcile("west")))
	same(t, "live", before, s.names("west"))
}

func TestDrift(t *testing.T) {
	tests := []struct {
		name   string
		change func(*object.Record)
		want   []string
		code   string
	}{
		{"nothing", func(*object.Record) {}, nil, ""},
		{"metadata of others", func(r *object.Record) { r.ResourceVersion, r.ForeignManagers = "9", unique.Make("hpa") }, nil, ""},
		{"another digest", func(r *object.Record) { r.Digest++ }, []string{"update " + deployment("east").String()}, "Changed"},
		{"no digest", func(r *object.Record) {
			r.Digest, r.ForeignManagers = 0, unique.Make("kubectl")
		}, []string{"update " + deployment("east").String()}, "Drift"},
		{"a field taken over", func(r *object.Record) {
			r.Fields, r.ForeignManagers = unique.Make(`{"f:metadata":{"f:labels":{}}}`), unique.Make("kubectl")
		}, []string{"update " + deployment("east").String()}, "Drift"},
		{"being deleted", func(r *object.Record) { r.Terminating = true }, nil, ""},
	}
	for _, tt := range tests {
		s := linked(t, "")
		r := s.live["west"].Live.Record(deployment("east"))
		tt.change(&r)
		record(&s.live["west"].Live, deployment("east"), r)
		step := s.reconcile("west")
		same(t, tt.name, tt.want, actions(step))
		if tt.code != "" && string(step.Changes[0].Why.Code) != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, step.Changes[0].Why, tt.code)
		}
		if tt.code == "Drift" && !strings.Contains(step.Changes[0].Why.Message, "kubectl") {
			t.Errorf("%s: %v names nobody", tt.name, step.Changes[0].Why)
		}
	}
}

// rebase writes an inventory of west's base again.
func rebase(t *testing.T, s *sim, change func(*inventory.Inventory)) {
	t.Helper()
	base := inventories(t, s.live["west"].Live)[object.End{Cluster: "west"}]
	key := inventory.Key(owner, base.End)
	change(&base)
	o, err := base.Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	edit(&s.live["west"].Live, key, object.Written(o), o.Body)
}

// What is not certainly the cluster it seems to be is not written at all, whatever is to do there.
func TestIdentityDenials(t *testing.T) {
	reuid := func(s *sim, c api.ClusterName, uid string) {
		k := object.Key{Kind: "Namespace", Name: "kube-system"}
		r := s.live[c].Live.Record(k)
		r.UID = uid
		record(&s.live[c].Live, k, r)
	}
	tests := []struct {
		name string
		do   func(*testing.T, *sim)
		want string
	}{
		{"as remembered", func(_ *testing.T, s *sim) { s.snapshot.UIDs["west"] = "west-kube-system" }, ""},
		{"not read", func(_ *testing.T, s *sim) { s.down["west"] = true }, "Unreachable"},
		{"no kube-system", func(_ *testing.T, s *sim) { remove(s.live["west"], object.Key{Kind: "Namespace", Name: "kube-system"}) }, "ClusterUIDMissing"},
		{"two names", func(_ *testing.T, s *sim) { reuid(s, "west", "east-kube-system") }, "DuplicateCluster"},
		{"another uid", func(_ *testing.T, s *sim) { s.snapshot.UIDs["west"] = "former" }, "ClusterChanged"},
		{"another uid, accepted", func(_ *testing.T, s *sim) {
			s.snapshot.UIDs["west"], s.snapshot.Accepted = "former", map[api.ClusterName]string{"west": "west-kube-system"}
		}, ""},
		{"another uid, another one accepted", func(_ *testing.T, s *sim) {
			s.snapshot.UIDs["west"], s.snapshot.Accepted = "former", map[api.ClusterName]string{"west": "third"}
		}, "ClusterChanged"},
		{"renamed", func(t *testing.T, s *sim) { rebase(t, s, func(i *inventory.Inventory) { i.End.Cluster = "oldwest" }) }, "ClusterRenamed"},
		{"renamed, accepted", func(t *testing.T, s *sim) {
			rebase(t, s, func(i *inventory.Inventory) { i.End.Cluster = "oldwest" })
			s.snapshot.Accepted = map[api.ClusterName]string{"west": "west-kube-system"}
		}, ""},
		{"later term", func(t *testing.T, s *sim) { rebase(t, s, func(i *inventory.Inventory) { i.Term = 2 }) }, "NewerLeader"},
		{"earlier term", func(_ *testing.T, s *sim) { s.snapshot.Leadership = 2 }, ""},
		{"unreadable inventory", func(_ *testing.T, s *sim) {
			k := inventory.Key(owner, westEast)
			show(&s.live["west"].Live, k, object.NewBody([]byte(`{"data":{"inventory.json":"{\"version\":2}"}}`)))
		}, "InventoryInvalid"},
	}
	for _, tt := range tests {
		s := linked(t, "")
		snapshot := s.now() // what Watches cannot read is seen as before
		tt.do(t, s)
		remove(s.live["west"], deployment("east")) // so that there is something to do
		current := snapshot.Clusters["west"]
		current.Live = observe(s.live["west"].Live, current.Watches)
		current.Facts = linkerd.FactsOf(api.Cluster{}.WithDefaults(), "https://west.example.com", current.Live)
		if s.down["west"] {
			current = s.watch(s.snapshot, s.snapshot.Fleet.Clusters[1])
		}
		sides := map[api.ClusterName]state.Cluster{"east": snapshot.Clusters["east"], "west": current}
		snapshot = s.snapshot
		snapshot.Clusters = sides
		step := Next(snapshot, "west", s.renderer())
		if tt.want == "" {
			if step.Denied != nil || step.Writes() == 0 {
				t.Errorf("%s: %v, writes %v", tt.name, step.Denied, describe(step))
			}
			continue
		}
		if step.Denied == nil || string(step.Denied.Code) != tt.want || step.Writes() > 0 || len(step.Rows) != 2 {
			t.Errorf("%s: %v, want %s; rows %v", tt.name, step.Denied, tt.want, statuses(step))
		}
	}
}

// A held end is declared: nothing of it is written or taken, whatever became of its facts.
func TestBlockedEndKeepsEverything(t *testing.T) {
	tests := []struct {
		name string
		do   func(*sim)
		code string
	}{
		{"no gateway", func(s *sim) {
			remove(s.live["east"], object.Key{Kind: "Service", Namespace: mc, Name: "linkerd-gateway"})
		}, "GatewayIncomplete"},
		{"target down", func(s *sim) { s.down["east"] = true }, "TargetNotRead"},
		{"not installed", func(s *sim) {
			remove(s.live["west"], object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: linkerd.LocalAccessRole})
		}, "LinkerdNotInstalled"},
		{"no configuration", func(s *sim) {
			remove(s.live["west"], object.Key{Kind: "ConfigMap", Namespace: cp, Name: "linkerd-config"})
		}, "LinkerdNotInstalled"},
		{"no token", func(s *sim) {
			s.controllers = nil
			show(&s.live["east"].Live, tokenKey, object.NewBody([]byte(`{"kind":"Secret"}`)))
		}, "CredentialNotIssued"},
	}
	for _, tt := range tests {
		s := linked(t, all)
		before := s.names("west")
		tt.do(s)
		step := s.reconcile("west")
		same(t, tt.name, nil, actions(step))
		if got := row(t, step, westEast); got.Phase != Blocked || string(got.Why.Code) != tt.code {
			t.Errorf("%s: %s %v, want %s", tt.name, got.Phase, got.Why, tt.code)
		}
		same(t, tt.name, before, s.names("west"))
	}
}

package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
)

var tokenKey = object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"}

// describe lists the writes of a step.
func describe(s Step) []string {
	var out []string
	for _, list := range [][]object.Change{s.Ahead, s.Changes, s.After} {
		for _, c := range list {
			out = append(out, c.Action.String()+" "+c.Key.String())
		}
	}
	return out
}

// actions returns the words of a step's writes but those that tell nothing but conditions.
func actions(s Step) []string {
	conditions := func(c object.Change) bool { return c.Why.Code == reason.ConditionsChanged }
	s.Ahead = slices.DeleteFunc(slices.Clone(s.Ahead), conditions)
	return describe(s)
}

// statuses lists the rows of a step; codes of reasons stand behind.
func statuses(s Step) []string {
	var out []string
	for _, r := range s.Rows {
		line := r.End.String() + ": " + string(r.Phase)
		if r.Why != nil {
			line += " " + string(r.Why.Code)
		}
		out = append(out, line)
	}
	return out
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

// linked is west→east, all in place.
func linked(t *testing.T, spec string) *sim {
	t.Helper()
	s := newSim(t, declare(t, two, linkDoc("west", "east", spec)), two...)
	s.settle()
	return s
}

// Target first is a dependency of values: while no token is seen, the source is held and nothing is written there, whoever has the first reconcile.
func TestFirstLink(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", "")), two...)
	west := s.reconcile("west")
	same(t, "west's writes before the token", nil, describe(west))
	same(t, "west's rows", []string{"west base: Ready", "west→east in west: Blocked CredentialNotIssued"}, statuses(west))
	same(t, "east's writes", []string{
		"create Namespace linkwright-access",
		"create ConfigMap linkwright-access/linkwright.base",
		"create ConfigMap linkwright-access/linkwright.west.east",
		"create ServiceAccount linkwright-access/linkwright.west",
		"create ClusterRoleBinding.rbac.authorization.k8s.io linkwright-access.linkwright.west",
		"create Secret linkwright-access/linkwright.west-token",
	}, describe(s.reconcile("east")))
	tokens := *s.live["east"]
	*s.live["east"] = After(tokens, Step{Changes: []object.Change{{Action: object.Replace, Key: tokenKey, Object: object.Object{Body: object.NewBody([]byte("{}"))}}}})
	if s.reconcile("west").PlanAgain.IsZero() {
		t.Error("west waits for the token of an account, and is never asked again")
	}
	*s.live["east"] = tokens
	same(t, "west's writes with the token", []string{
		"create Namespace linkwright-access",
		"create ConfigMap linkwright-access/linkwright.base",
		"create ConfigMap linkwright-access/linkwright.west.east",
		"create ServiceAccount linkerd-multicluster/controller-east",
		"create ClusterRoleBinding.rbac.authorization.k8s.io linkerd-multicluster-controller-access-local-resources-east",
		"create Role.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east",
		"create RoleBinding.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east",
		"create Secret linkerd-multicluster/cluster-credentials-east",
		"create Service linkerd-multicluster/probe-east",
		"create Link.multicluster.linkerd.io linkerd-multicluster/east",
		"create Deployment.apps linkerd-multicluster/controller-east",
	}, describe(s.reconcile("west")))
	same(t, "west's writes once it works", []string{"update ConfigMap linkwright-access/linkwright.west.east"}, describe(s.reconcile("west")))
	for _, c := range two {
		if step := s.reconcile(c); step.Writes() > 0 {
			t.Errorf("%s has still to do: %v", c, describe(step))
		}
	}
}

// Inventories go first, fenced, and record every key of their end; that creates are written ahead is checked at every reconcile.
func TestWrittenAheadAndFenced(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	for range 6 {
		for _, c := range two {
			step := s.reconcile(c)
			for _, ch := range step.Ahead {
				if !ch.Conditional && ch.Key.Kind == "ConfigMap" {
					t.Errorf("%s of %s is not fenced", ch.Action, ch.Key)
				}
			}
			for _, ch := range step.Changes {
				if ch.Conditional || ch.Key.Kind == "ConfigMap" {
					t.Errorf("%s of %s stands among the changes", ch.Action, ch.Key)
				}
			}
		}
	}
	recorded := inventories(t, s.live["west"].Live)[westEast]
	same(t, "recorded", []string{
		"Secret linkerd/cluster-credentials-east",
		"Secret linkerd-multicluster/cluster-credentials-east",
		"Service linkerd-multicluster/probe-east",
		"ServiceAccount linkerd-multicluster/controller-east",
		"Deployment.apps linkerd-multicluster/controller-east",
		"Link.multicluster.linkerd.io linkerd-multicluster/east",
		"ClusterRoleBinding.rbac.authorization.k8s.io linkerd-multicluster-controller-access-local-resources-east",
		"Role.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east",
		"RoleBinding.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east",
	}, namesOf(recorded.Entries))
}

func namesOf(keys []object.Key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.String()
	}
	return out
}

// The Linkerd Link names what makes it use the control plane's credential only once that is live.
func TestControlPlaneSecretFirst(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.reconcile("east")
	discovers := func() bool {
		return strings.Contains(string(bodyOf(s.live["west"].Live, linkKey("east")).Bytes()), "federatedServiceSelector")
	}
	first := s.reconcile("west")
	if discovers() || !strings.Contains(strings.Join(describe(first), "\n"), "create Secret linkerd/cluster-credentials-east") {
		t.Errorf("the first step: %v", describe(first))
	}
	same(t, "the second step", []string{"update Link.multicluster.linkerd.io linkerd-multicluster/east"}, describe(s.reconcile("west")))
	if !discovers() {
		t.Error("the Linkerd Link does not federate")
	}
	same(t, "the third step", []string{"update ConfigMap linkwright-access/linkwright.west.east"}, describe(s.reconcile("west")))
	same(t, "the fourth step", nil, describe(s.reconcile("west")))
}

// A control plane's secret that somebody deleted comes back, and no mirror goes meanwhile.
func TestControlPlaneSecretLost(t *testing.T) {
	s := linked(t, all)
	remove(s.live["west"], object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"})
	same(t, "the step", []string{"create Secret linkerd/cluster-credentials-east"}, describe(s.reconcile("west")))
}

// A commit is recorded once in each cluster; a term alone is not, and what changes nothing writes nothing else.
func TestBaseOncePerCommit(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Leadership = 7
	for _, c := range two {
		same(t, "writes of a new term", nil, describe(s.reconcile(c)))
	}
	s.snapshot.Fleet = declare(t, two, "# a comment\n"+linkDoc("west", "east", ""))
	for _, c := range two {
		same(t, "writes of a new commit", []string{"update ConfigMap linkwright-access/linkwright.base"}, describe(s.reconcile(c)))
		same(t, "writes of the same commit", nil, describe(s.reconcile(c)))
		base := inventories(t, s.live[c].Live)[object.End{Cluster: c}]
		if base.Term != 7 || base.Commit != s.snapshot.Fleet.Commit {
			t.Errorf("base of %s: term %d, commit %s", c, base.Term, base.Commit)
		}
	}
}

// A cluster that holds nothing of linkwright and gets nothing is not written to, not even a base.
func TestNothingDeclaredNothingWritten(t *testing.T) {
	s := newSim(t, declare(t, two, ""), two...)
	for _, c := range two {
		same(t, string(c), nil, describe(s.reconcile(c)))
	}
}

// What is rendered is what is live at the end, byte for byte.
func TestLiveEqualsDesired(t *testing.T) {
	s := linked(t, all)
	w := s.now()
	for _, c := range two {
		for _, want := range DesiredEnds(w, c, render.Renderer{Owner: owner}) {
			for _, o := range want.Objects {
				if s.live[c].Live.Record(o.Key).Digest != o.Digest {
					t.Errorf("%s: %s is not as wanted", want.End, o.Key)
				}
			}
		}
	}
}

// A hostile target issues tokens, too: one behind which YAML would read on reaches no kubeconfig, and its link is held.
func TestHostileToken(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.settle()
	token := object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: owner + ".west-token"}
	show(&s.live["east"].Live, token, encoded(corev1.Secret{
		Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{"token": []byte("t\n    tokenFile: /etc/hostname")},
	}))
	step := s.reconcile("west")
	for _, row := range step.Rows {
		if !row.End.IsBase() && (row.Why == nil || row.Why.Code != reason.RenderFailed || strings.Contains(row.Why.Message, "hostname")) {
			t.Errorf("%s: %s: %v", row.End, row.Phase, row.Why)
		}
	}
	if writes := strings.Join(describe(step), "\n"); strings.Contains(writes, "Secret") {
		t.Errorf("it writes %s", writes)
	}
}

package plan

import (
	"slices"
	"strings"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

const (
	vault    = "  credentials: {mode: Existing, secretRef: {name: vault-east}}\n"
	handed   = "  credentials: {mode: Existing}\n"
	theToken = "canary-7f3a"
)

var (
	vaultKey  = object.Key{Kind: "Secret", Namespace: mc, Name: "vault-east"}
	mirrorKey = object.Key{Kind: "Secret", Namespace: mc, Name: "cluster-credentials-east"}
	planeKey  = object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"}
)

// manage writes what a secret manager would.
func (s *sim) manage(token string, keys ...object.Key) {
	config := `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"e","user":"u"}}],` +
		`"clusters":[{"name":"e","cluster":{"server":"https://east.example.com"}}],"users":[{"name":"u","user":{"token":"` + token + `"}}]}`
	for _, k := range keys {
		put(s.live["west"], k, map[string]any{"type": linkerd.KubeconfigSecretType, "data": map[string][]byte{"kubeconfig": []byte(config)}}, metav1.ObjectMeta{
			Labels:      map[string]string{linkerd.RemoteClusterLabel: "east"},
			Annotations: map[string]string{linkerd.TrustDomain: "root.test", linkerd.ClusterDomain: "cluster.local"},
		})
		r := s.live["west"].Live.Record(k)
		r.ForeignManagers = unique.Make("vault")
		record(&s.live["west"].Live, k, r)
	}
}

// A link of mode Existing is written around its Secrets, which stay as they are, also when it is unlinked; nothing of
// it is in the target.
func TestExisting(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all+vault)), two...)
	last := s.settle()
	same(t, "rows without the Secrets", []string{"west base: Ready", "west→east in west: Blocked SecretNotFound"}, statuses(last["west"]))
	s.manage(theToken, vaultKey)
	last = s.settle()
	same(t, "rows without the control plane's", []string{"west base: Ready", "west→east in west: Blocked SecretNotFound"}, statuses(last["west"]))
	s.manage(theToken, planeKey)
	for c, step := range s.settle() {
		allInPlace(t, c, step)
	}
	if name, entries := linkerd.CredentialEntries(bodyOf(s.live["west"].Live, linkKey("east"))); name != "vault-east" || len(entries) != 1 {
		t.Errorf("the Linkerd Link names %s, %v", name, entries)
	}
	same(t, "east", nil, s.names("east"))
	s.manage("another", vaultKey)
	same(t, "writes for a changed Secret", []string{"update Link.multicluster.linkerd.io linkerd-multicluster/east"}, describe(s.reconcile("west")))

	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	same(t, "west after an unlink", []string{
		"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access",
		"Secret linkerd/cluster-credentials-east", "Secret linkerd-multicluster/vault-east",
	}, s.names("west"))
}

// A Secret that is lost or broken holds the end as it is: nothing is taken away, and nothing is reported about its content.
func TestExistingLost(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all+vault)), two...)
	s.manage(theToken, vaultKey, planeKey)
	s.settle()
	before := s.names("west")
	s.manage(theToken+`","tokenFile":"`+theToken, vaultKey)
	step := s.reconcile("west")
	same(t, "rows", []string{"west base: Ready", "west→east in west: Blocked SecretInvalid"}, statuses(step))
	if message := step.Rows[1].Why.Message; strings.Contains(message, theToken) || !strings.Contains(message, "tokenFile refers to a file") {
		t.Errorf("the reason: %s", message)
	}
	remove(s.live["west"], planeKey)
	same(t, "writes", nil, describe(s.reconcile("west")))
	same(t, "west", slices.DeleteFunc(before, func(n string) bool { return n == planeKey.String() }), s.names("west"))
}

// From LegacyToken to another Secret: linkwright's own goes once the Linkerd Link names the other, and the account after it.
func TestLegacyTokenToExisting(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", vault))
	last := s.settle()
	same(t, "west's rows without a Secret", []string{"west base: Ready", "west→east in west: Blocked SecretNotFound"}, statuses(last["west"]))
	same(t, "east's rows without a Secret", []string{"east base: Ready", "west→east in east: Blocked CredentialInUse"}, statuses(last["east"]))
	s.manage(theToken, vaultKey)
	same(t, "east's writes before west's", nil, describe(s.reconcile("east")))
	same(t, "west's writes", []string{
		"update Role.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east",
		"update Link.multicluster.linkerd.io linkerd-multicluster/east",
		"delete Secret linkerd-multicluster/cluster-credentials-east",
	}, describe(s.reconcile("west")))
	same(t, "east's writes after west's", []string{
		"delete Secret linkwright-access/linkwright.west-token",
		"delete ServiceAccount linkwright-access/linkwright.west",
		"delete ClusterRoleBinding.rbac.authorization.k8s.io linkwright-access.linkwright.west",
	}, describe(s.reconcile("east")))
	for c, step := range s.settle() {
		allInPlace(t, c, step)
	}
}

// From LegacyToken to the same Secret: the end is held until people hand the Secret over, and the account stays until
// its token is no longer in it.
func TestHandOver(t *testing.T) {
	s := linked(t, all)
	before := s.names("west")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all+handed))
	last := s.settle()
	same(t, "west's rows", []string{"west base: Ready", "west→east in west: Blocked SecretStillManaged"}, statuses(last["west"]))
	same(t, "west", before, s.names("west"))
	for _, k := range []object.Key{mirrorKey, planeKey} { // without linkwright's label
		r := s.live["west"].Live.Record(k)
		r.Mark = object.Unmarked
		record(&s.live["west"].Live, k, r)
	}
	last = s.settle()
	same(t, "east's rows with the old token", []string{"east base: Ready", "west→east in east: Blocked CredentialInUse"}, statuses(last["east"]))
	same(t, "west's rows with the old token", []string{"west base: Ready", "west→east in west: Ready"}, statuses(last["west"]))
	s.manage(theToken, mirrorKey)
	s.settle()
	if s.live["east"].Live.Record(tokenKey).IsZero() {
		t.Error("the control plane's token is gone")
	}
	s.manage(theToken, planeKey)
	for c, step := range s.settle() {
		allInPlace(t, c, step)
	}
	if !s.live["east"].Live.Record(tokenKey).IsZero() {
		t.Error("the token is still there")
	}
	for _, k := range []object.Key{mirrorKey, planeKey} {
		if s.live["west"].Live.Record(k).IsZero() {
			t.Errorf("%s is gone", k)
		}
	}
}

// What an earlier pass saw of the source does not prove that it no longer uses the account.
func TestInUseWithoutAFreshRead(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", vault))
	s.manage(theToken, vaultKey)
	s.reconcile("west")
	w := s.now()
	w.Round = 2
	east := w.Clusters["east"]
	east.Round = 2
	w.Clusters["east"] = east
	step := Next(w, "east", s.renderer())
	same(t, "rows", []string{"east base: Ready", "west→east in east: Waiting WaitingForRead"}, statuses(step))
}

// Back to LegacyToken: a Secret of the same name is the user's and in the way; one of another name is left alone.
func TestExistingToLegacyToken(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", handed)), two...)
	s.manage(theToken, mirrorKey)
	s.settle()
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	last := s.settle()
	same(t, "rows", []string{"west base: Ready", "west→east in west: Blocked ObjectExists"}, statuses(last["west"]))
	remove(s.live["west"], mirrorKey)
	for c, step := range s.settle() {
		allInPlace(t, c, step)
	}

	s = newSim(t, declare(t, two, linkDoc("west", "east", vault)), two...)
	s.manage(theToken, vaultKey)
	s.settle()
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	for c, step := range s.settle() {
		allInPlace(t, c, step)
	}
	if s.live["west"].Live.Record(vaultKey).IsZero() {
		t.Error("the user's Secret is gone")
	}
}

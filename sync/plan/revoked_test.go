package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// used returns the token that west uses.
func (i *issuer) used() string {
	token, _, _, _ := i.inUse()
	return string(token.Bytes())
}

// The Secret of a token that leaked is what people delete first. What they ask for then is another token, and not the same again,
// which is what the server would give.
func TestRotationOfDeletedTokens(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	leaked := i.used()
	remove(i.live["east"], tokenKey)
	if rotation := i.ask(true); rotation.After != 1 {
		t.Errorf("deleted, then asked: %+v", rotation)
	}
	i.settle()
	same(t, "deleted, then asked", []string{"token.2"}, i.tokens())
	if i.used() == leaked || i.asked() {
		t.Errorf("it uses %s, asked for still: %t", i.used(), i.asked())
	}

	i = newIssuer(t, bound)
	i.inPlace()
	leaked = i.used()
	remove(i.live["east"], generation(1))
	i.ask(true)
	i.settle()
	if i.used() == leaked || i.asked() {
		t.Errorf("mode Bound, deleted, then asked: it uses %s, asked for still: %t", i.used(), i.asked())
	}

	i = newIssuer(t, "")
	i.inPlace()
	i.ask(true)
	remove(i.live["east"], tokenKey)
	i.down["west"] = true
	for range 4 {
		i.reconcile("east")
		same(t, "asked, then deleted", []string{"token.2"}, i.tokens())
	}
}

// Both modes have one count: the way there and back brings no former token.
func TestRotationAfterModeChanges(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	leaked := i.used()
	i.ask(true)
	i.inPlace()
	for _, want := range []struct{ spec, token string }{{bound, "4"}, {"", "token.6"}, {bound, "8"}, {"", "token.10"}} {
		i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", want.spec))
		i.inPlace()
		i.ask(true)
		i.inPlace()
		if now := i.used(); now == leaked {
			t.Errorf("%q: the first token again", want.spec)
		}
		same(t, want.spec+": tokens", []string{want.token}, i.tokens())
	}
}

// If linkwright may not restart the source's control plane, that goes on with the former token: the token stays for a generation, or until
// people ask to revoke it.
func TestRotationWithManualRestart(t *testing.T) {
	for cause, forbidRestarts := range map[string]func(*issuer){
		"linkwright may not read the Deployment": func(i *issuer) { i.forbidReading("west", destinationKey) },
		"no policies confine linkwright's account": func(i *issuer) {
			put(i.live["west"], destinationKey, map[string]any{"spec": map[string]any{"template": map[string]any{}}}, metav1.ObjectMeta{})
			i.live["west"].Gap = "no policies"
		},
	} {
		t.Run(cause, func(t *testing.T) { rotationWithManualRestart(t, forbidRestarts) })
	}
}

func rotationWithManualRestart(t *testing.T, forbidRestarts func(*issuer)) {
	t.Helper()
	for _, tt := range []struct {
		spec        string
		revoke      bool
		want, later []string
	}{
		{all, false, []string{"token", "token.2"}, []string{"token.2"}},
		{all, true, []string{"token.2"}, []string{"token.3"}},
		{all + bound, false, []string{"1", "2"}, []string{"3"}},
		{all + bound, true, []string{"2"}, []string{"3"}},
	} {
		i := newIssuer(t, tt.spec)
		i.inPlace()
		forbidRestarts(i)
		if rotation := i.ask(tt.revoke); rotation.Note == nil || rotation.Note.Code != reason.CredentialNotLoaded {
			t.Errorf("%q, revoke %t: nothing asks people to restart the control plane: %+v", tt.spec, tt.revoke, rotation)
		}
		i.settle()
		same(t, tt.spec+": tokens", tt.want, i.tokens())
		if rotation := i.ask(true); rotation.Requested { // people restarted it
			t.Errorf("%q: to revoke after all: it is asked for already", tt.spec)
		}
		i.settle()
		same(t, tt.spec+": to revoke after all", tt.later, i.tokens())
		if i.asked() {
			t.Errorf("%q: the rotation does not end", tt.spec)
		}
	}
}

// The new token is in use, and the former one cannot go yet: who asks now means another one.
func TestRotationWhileTheFormerTokenStays(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: UpsertOnly"))
	i.ask(false, PrunePolicy)
	i.settle(PrunePolicy)
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	i.ask(true)
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: UpsertOnly"))
	last := i.settle(PrunePolicy)
	same(t, "tokens", []string{"token", "token.2", "token.3"}, i.tokens())
	why := row(t, last["east"], object.End{Cluster: "east", Link: westEast.Link}).Why
	if why == nil || why.Code != reason.CredentialInUse || !strings.Contains(why.Message, "UpsertOnly") {
		t.Errorf("what keeps the former ones: %v", why)
	}
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	if rotation := i.ask(true); rotation.Requested || rotation.After != 3 {
		t.Errorf("asked again: %+v", rotation)
	}
	i.settle()
	same(t, "in the end", []string{"token.4"}, i.tokens())
}

// The clock of a target was ahead when it issued the token in use: one with an earlier time is the later one all the same.
func TestRotationAfterAClockWasAhead(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		i := newIssuer(t, bound)
		i.snapshot.Now = i.snapshot.Now.Add(10 * time.Minute)
		i.inPlace()
		i.snapshot.Now = i.snapshot.Now.Add(-5 * time.Minute)
		i.ask(revoke)
		issued := i.issued
		i.inPlace()
		if _, secret, _, _ := i.inUse(); i.asked() || i.issued-issued != 1 || !strings.HasSuffix(secret, "-2") {
			t.Errorf("revoke %t: asked for still: %t, %d were issued, in use %s", revoke, i.asked(), i.issued-issued, secret)
		}
	}
}

// The last token is deleted while the one before it is still there: it is made again, and what people ask for is past both.
func TestRotationWithoutTheLastToken(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: UpsertOnly"))
	i.ask(false, PrunePolicy)
	i.settle(PrunePolicy)
	second := tokenKey
	second.Name += ".2"
	remove(i.live["east"], second)
	if rotation := i.ask(false, PrunePolicy); rotation.After != 2 {
		t.Errorf("%+v", rotation)
	}
	i.settle(PrunePolicy)
	same(t, "tokens", []string{"token", "token.3"}, i.tokens())
	i.sim.settle(PrunePolicy)
	remove(i.live["east"], object.Key{Kind: "Secret", Namespace: second.Namespace, Name: tokenKey.Name + ".3"})
	i.sim.settle(PrunePolicy)
	same(t, "nobody asked", []string{"token", "token.3"}, i.tokens())
}

package plan

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
)

const bound = "  credentials: {mode: Bound}\n"

var accountKey = object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}

func generation(n int) object.Key {
	return object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: fmt.Sprintf("linkwright.west-%d", n)}
}

// issuer is east's API server, and what a process remembers of the tokens it got.
type issuer struct {
	*sim
	limit  time.Duration // of what is granted; 0: none
	refuse bool
	issued int
}

func newIssuer(t *testing.T, spec string) *issuer {
	t.Helper()
	i := &issuer{sim: newSim(t, declare(t, two, linkDoc("west", "east", spec)), two...)}
	i.snapshot.IssuedCredentials = map[api.Pair]linkerd.Credential{}
	i.controllers = append(i.controllers, playUIDs())
	return i
}

// playUIDs gives every Secret that is made an identity of its own.
func playUIDs() func(*state.Cluster) {
	made := 0
	return func(s *state.Cluster) {
		for k, r := range s.Live.Records() {
			if k.Namespace == object.AccessNamespace && r.UID == "simulated" {
				made++
				r.UID = fmt.Sprintf("uid-%d", made)
				record(&s.Live, k, r)
			}
		}
	}
}

// reconcile returns one of a sync: the step, then the tokens it needs; what is in place is forgotten. The source's token is good after every
// reconcile once it has one.
func (i *issuer) reconcile(name api.ClusterName, policies ...Policy) Step {
	i.t.Helper()
	had := i.accepted()
	s := i.sim.reconcile(name, policies...)
	for _, n := range s.TokenRequests {
		if i.refuse {
			continue
		}
		i.issued++
		i.snapshot.IssuedCredentials[n.Link] = linkerd.Credential{Token: i.grant(n.Request)}
	}
	for p, c := range i.snapshot.IssuedCredentials {
		l, _ := i.snapshot.Fleet.Link(p)
		if l.Source == nil || (credential.Pair{View: state.View{Link: l, Source: *i.live["west"]}}).SecretsHold(c.Token) {
			delete(i.snapshot.IssuedCredentials, p)
		}
	}
	if had && !i.accepted() {
		i.t.Errorf("%s's step took the token away that the source uses: %v", name, describe(s))
	}
	return s
}

func (i *issuer) grant(r object.TokenRequest) object.Secret {
	i.t.Helper()
	observed := i.live["east"].Live
	if observed.Record(r.Secret).UID != r.UID || observed.Record(r.Account).IsZero() {
		i.t.Errorf("a token is asked for that cannot be issued: %+v", r)
	}
	life := r.TTL
	if i.limit > 0 {
		life = min(life, i.limit)
	}
	payload, err := json.Marshal(map[string]any{
		"iat": i.snapshot.Now.Unix(), "exp": i.snapshot.Now.Add(life).Unix(),
		"kubernetes.io": map[string]any{
			"namespace":      r.Account.Namespace,
			"secret":         map[string]any{"name": r.Secret.Name, "uid": r.UID},
			"serviceaccount": map[string]any{"name": r.Account.Name, "uid": observed.Record(r.Account).UID},
		},
	})
	if err != nil {
		i.t.Fatal(err)
	}
	return object.NewSecret([]byte("e30." + base64.RawURLEncoding.EncodeToString(payload) + ".c2ln"))
}

// inUse returns the token in west's Secret for its mirror, and what it is bound to.
func (i *issuer) inUse() (token object.Secret, secret, uid string, expires int64) {
	token = linkerd.TokenOf(bodyOf(i.live["west"].Live, mirrorKey))
	parts := strings.Split(string(token.Bytes()), ".")
	if len(parts) != 3 {
		return token, "", "", 0
	}
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var c struct {
		Exp int64
		K   struct{ Secret struct{ Name, UID string } } `json:"kubernetes.io"`
	}
	_ = json.Unmarshal(raw, &c)
	return token, c.K.Secret.Name, c.K.Secret.UID, c.Exp
}

// accepted reports whether east takes the token that west uses: what it hangs on is there, by uid, and it has not expired.
func (i *issuer) accepted() bool {
	token, secret, uid, expires := i.inUse()
	if secret == "" {
		for k, body := range i.live["east"].Live.Bodies() {
			var legacy corev1.Secret
			if strings.HasPrefix(k.Name, tokenKey.Name) && json.Unmarshal(body.Bytes(), &legacy) == nil &&
				len(legacy.Data["token"]) > 0 && string(legacy.Data["token"]) == string(token.Bytes()) {
				return true
			}
		}
		return false
	}
	bound := i.live["east"].Live.Record(object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: secret})
	return bound.UID == uid && i.snapshot.Now.Unix() < expires
}

func (i *issuer) settle(policies ...Policy) map[api.ClusterName]Step {
	i.t.Helper()
	for range 30 {
		last, moved := map[api.ClusterName]Step{}, false
		for _, c := range two {
			before := i.issued
			last[c] = i.reconcile(c, policies...)
			moved = moved || last[c].Writes() > 0 || i.issued > before
		}
		if !moved {
			return last
		}
	}
	i.t.Fatal("the clusters come to no rest")
	return nil
}

func (i *issuer) inPlace(policies ...Policy) {
	i.t.Helper()
	for c, step := range i.settle(policies...) {
		allInPlace(i.t, c, step)
	}
	if !i.accepted() {
		i.t.Error("west has no token that east takes")
	}
}

// tokens lists the Secrets of tokens in east.
func (i *issuer) tokens() (out []string) {
	for _, name := range i.names("east") {
		if secret, ok := strings.CutPrefix(name, "Secret linkwright-access/linkwright.west-"); ok {
			out = append(out, secret)
		}
	}
	return out
}

// east makes account and Secret, is asked for a token, and only then west is written.
func TestBoundFirstLink(t *testing.T) {
	i := newIssuer(t, bound)
	same(t, "west's rows", []string{"west base: Ready", "west→east in west: Blocked CredentialNotIssued"}, statuses(i.reconcile("west")))
	first := i.reconcile("east")
	if len(first.TokenRequests) > 0 {
		t.Error("a token is asked for before the Secret it hangs on is seen")
	}
	same(t, "tokens in east", []string{"1"}, i.tokens())
	second := i.reconcile("east")
	want := object.TokenRequest{Account: accountKey, Secret: generation(1), UID: i.live["east"].Live.Record(generation(1)).UID, TTL: api.DefaultTTL}
	if len(second.TokenRequests) != 1 || second.TokenRequests[0].Request != want || second.Writes() > 0 {
		t.Errorf("east's second step: %+v, %v", second.TokenRequests, describe(second))
	}
	if third := i.reconcile("east"); len(third.TokenRequests) > 0 {
		t.Error("a token is asked for twice")
	}
	i.inPlace()
	if _, secret, _, _ := i.inUse(); secret != "linkwright.west-1" || i.issued != 1 || len(i.snapshot.IssuedCredentials) > 0 {
		t.Errorf("west uses %s, %d tokens were issued, %d are remembered", secret, i.issued, len(i.snapshot.IssuedCredentials))
	}
	step := i.reconcile("east")
	if at := i.snapshot.Now.Add(api.DefaultTTL * 2 / 3); !step.PlanAgain.Equal(at) {
		t.Errorf("the next step of east: %v, want %v", step.PlanAgain, at)
	}
}

// Time passes: at two thirds of a token's life the next generation takes over; one generation overlaps. A restart in
// between asks for nothing.
func TestRotation(t *testing.T) {
	i := newIssuer(t, all+bound)
	i.inPlace()
	for n, want := range [][]string{{"1", "2"}, {"2", "3"}, {"3", "4"}} {
		i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL*2/3 - time.Second)
		i.snapshot.IssuedCredentials = map[api.Pair]linkerd.Credential{}
		i.inPlace()
		if i.issued != n+1 {
			t.Fatalf("%d tokens were issued before the %dth was due", i.issued, n+2)
		}
		i.snapshot.Now = i.snapshot.Now.Add(time.Second)
		i.inPlace()
		same(t, "tokens in east", want, i.tokens())
		if _, secret, _, _ := i.inUse(); i.issued != n+2 || secret != "linkwright.west-"+want[1] {
			t.Errorf("%d tokens were issued, west uses %s", i.issued, secret)
		}
	}
}

// A rotation changes the Secrets and the Link's entry, and nothing else of the source.
func TestRotationWrites(t *testing.T) {
	i := newIssuer(t, all+bound)
	i.inPlace()
	i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 2 / 3)
	same(t, "east's writes", []string{
		"update ConfigMap linkwright-access/linkwright.west.east", "create Secret linkwright-access/linkwright.west-2",
	}, describe(i.reconcile("east")))
	i.reconcile("east")
	same(t, "west's writes", []string{
		"update Secret linkerd/cluster-credentials-east", "update Secret linkerd-multicluster/cluster-credentials-east",
		"update Link.multicluster.linkerd.io linkerd-multicluster/east",
	}, describe(i.reconcile("west")))
}

// A process that dies between the grant and the write loses the token: the next one asks again, for the same Secret.
func TestCrashBeforeTheWrite(t *testing.T) {
	i := newIssuer(t, bound)
	i.inPlace()
	i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 2 / 3)
	for range 3 {
		i.reconcile("east")
		i.reconcile("east")
		if len(i.snapshot.IssuedCredentials) != 1 {
			t.Fatal("no token was issued")
		}
		clear(i.snapshot.IssuedCredentials)
	}
	same(t, "tokens in east", []string{"1", "2"}, i.tokens())
	i.inPlace()
	same(t, "tokens in east", []string{"1", "2"}, i.tokens())
	if _, secret, _, _ := i.inUse(); secret != "linkwright.west-2" {
		t.Errorf("west uses %s", secret)
	}
}

// One Secret was written, the other not: the newer token counts, and both carry it.
func TestCrashBetweenSecrets(t *testing.T) {
	i := newIssuer(t, all+bound)
	i.inPlace()
	old, body := i.live["west"].Live.Record(mirrorKey), bodyOf(i.live["west"].Live, mirrorKey)
	i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 2 / 3)
	i.inPlace()
	edit(&i.live["west"].Live, mirrorKey, old, body)
	same(t, "west's writes", []string{"update Secret linkerd-multicluster/cluster-credentials-east"}, describe(i.reconcile("west")))
	if i.inPlace(); i.issued != 2 {
		t.Errorf("%d tokens were issued", i.issued)
	}
}

// A token whose Secret or account is gone is no token: a new generation takes its place, whatever the names.
func TestRevoked(t *testing.T) {
	for name, revoke := range map[string]func(*state.Cluster){
		"the Secret is deleted": func(s *state.Cluster) { remove(s, generation(1)) },
		"another Secret has its name": func(s *state.Cluster) {
			r := s.Live.Record(generation(1))
			r.UID = "another"
			record(&s.Live, generation(1), r)
		},
		"the account is another one": func(s *state.Cluster) {
			r := s.Live.Record(accountKey)
			r.UID = "another"
			record(&s.Live, accountKey, r)
		},
	} {
		i := newIssuer(t, bound)
		i.inPlace()
		revoke(i.live["east"])
		i.inPlace()
		if _, secret, _, _ := i.inUse(); secret != "linkwright.west-2" || i.issued != 2 {
			t.Errorf("%s: west uses %s, %d were issued", name, secret, i.issued)
		}
	}
}

// Long away: the token expired. Whoever reads the source's Secret meanwhile has none; the next generation mends it.
func TestExpired(t *testing.T) {
	i := newIssuer(t, bound)
	i.inPlace()
	i.snapshot.Now = i.snapshot.Now.Add(2 * api.DefaultTTL)
	i.inPlace()
	same(t, "tokens in east", []string{"1", "2"}, i.tokens())
}

// What keeps the source's end from being written keeps its token from being issued.
func TestNothingIssuedInVain(t *testing.T) {
	suspended := func(_ state.Snapshot, end object.End, _ []object.Change) *object.Reason {
		if end.IsSource() {
			return object.Because(reason.Suspended, "")
		}
		return nil
	}
	for name, change := range map[string]func(*issuer) []Policy{
		"suspended": func(*issuer) []Policy { return []Policy{suspended} },
		"another process writes west": func(i *issuer) []Policy {
			i.snapshot.WrittenElsewhere = map[api.ClusterName]bool{"west": true}
			return nil
		},
		"west is down":            func(i *issuer) []Policy { i.down["west"] = true; return nil },
		"west is another cluster": func(i *issuer) []Policy { i.snapshot.UIDs["west"] = "other"; return nil },
		"west's overlay holds it": func(i *issuer) []Policy {
			i.change = func(want object.Desired) object.Desired {
				if want.End.IsSource() {
					want.Objects, want.Blocked = nil, object.Because(reason.OverlayInvalid, "")
				}
				return want
			}
			return nil
		},
		"an object is in the way, foreign": func(i *issuer) []Policy { i.manage("x", mirrorKey); return nil },
	} {
		i := newIssuer(t, bound)
		policies := change(i)
		for range 4 {
			i.reconcile("east", policies...)
		}
		if i.issued > 0 {
			t.Errorf("%s: %d tokens were issued", name, i.issued)
		}
	}
}

// Under a policy that deletes nothing, generations are kept, and none is in the way of the next.
func TestRotationWithoutDeletes(t *testing.T) {
	i := newIssuer(t, bound+policyDoc("policy: UpsertOnly"))
	i.inPlace(PrunePolicy)
	for range 3 {
		i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 2 / 3)
		i.inPlace(PrunePolicy)
	}
	same(t, "tokens in east", []string{"1", "2", "3", "4"}, i.tokens())
}

// A server that grants less is reported; remote discovery is not given what ends within a week.
func TestShortGrant(t *testing.T) {
	i := newIssuer(t, bound)
	i.limit = 24 * time.Hour
	i.inPlace()
	same(t, "west's rows", []string{"west base: Ready", "west→east in west: Ready TokenLifetimeTooShort"}, statuses(i.reconcile("west")))
	i.snapshot.Now = i.snapshot.Now.Add(16 * time.Hour)
	if i.inPlace(); i.issued != 2 {
		t.Errorf("%d tokens were issued, the second after two thirds of what was granted", i.issued)
	}

	i = newIssuer(t, all+bound)
	i.limit = 24 * time.Hour
	last := i.settle()
	same(t, "west's rows", []string{"west base: Ready", "west→east in west: Blocked TokenLifetimeTooShort"}, statuses(last["west"]))
	if i.issued != 1 {
		t.Errorf("%d tokens were issued", i.issued)
	}
	i.limit = 0
	clear(i.snapshot.IssuedCredentials)
	i.inPlace()
}

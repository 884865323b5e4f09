package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
)

// ask has people ask for another token of west→east.
func (i *issuer) ask(revoke bool, policies ...Policy) Rotation {
	i.t.Helper()
	w := i.now()
	l, declared := w.Fleet.Link(westEast.Link)
	if !declared {
		i.t.Fatal("no such link")
	}
	t := RequestRotations(w, []fleet.Link{l}, revoke, policies...)[0]
	if t.Denied == nil && !t.Requested {
		*i.live["east"] = After(*i.live["east"], Step{Ahead: []object.Change{t.Change}})
	}
	return t
}

// asked reports whether a rotation is recorded, and not done.
func (i *issuer) asked() bool {
	return inventory.RequestedRotation(owner, object.End{Cluster: "east", Link: westEast.Link}, i.live["east"].Live) != nil
}

// A token is replaced because people say so: the source's is good all the time, what was before goes, and nothing asks for more.
func TestRotations(t *testing.T) {
	bound := "  credentials: {mode: Bound}\n"
	tests := []struct {
		name, spec    string
		revoke        bool
		before, after []string
	}{
		{"a token that does not expire", "", false, []string{"token"}, []string{"token.2"}},
		{"the same, to revoke", "", true, []string{"token"}, []string{"token.2"}},
		{"with remote discovery", all, false, []string{"token"}, []string{"token.2"}},
		{"one that expires", bound, false, []string{"1"}, []string{"1", "2"}},
		{"the same, to revoke", bound, true, []string{"1"}, []string{"2"}},
	}
	for _, tt := range tests {
		i := newIssuer(t, tt.spec)
		i.inPlace()
		same(t, tt.name+": before", tt.before, i.tokens())
		was, _, _, _ := i.inUse()
		if rotation := i.ask(tt.revoke); rotation.Denied != nil || rotation.Requested || rotation.WaitsFor != nil {
			t.Fatalf("%s: %+v", tt.name, rotation)
		}
		again := i.ask(tt.revoke)
		if !again.Requested {
			t.Errorf("%s: asked for twice, it is written twice", tt.name)
		}
		i.inPlace()
		same(t, tt.name+": after", tt.after, i.tokens())
		if now, _, _, _ := i.inUse(); i.asked() || string(now.Bytes()) == string(was.Bytes()) {
			t.Errorf("%s: asked for still: %t; the token: %s", tt.name, i.asked(), now.Bytes())
		}
		if i.ask(tt.revoke); !i.asked() {
			t.Errorf("%s: it cannot be asked for again", tt.name)
		}
	}
}

// A token that was revoked never comes back: what takes the place of a lost Secret has no earlier number, by which the server would
// issue the very same token.
func TestRevokedTokensStayRevoked(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	i.ask(true)
	i.inPlace()
	last := tokenKey
	last.Name += ".2"
	remove(i.live["east"], last)
	i.sim.settle()
	same(t, "tokens", []string{"token.2"}, i.tokens())
}

// To revoke may be asked for after all, while the new token is on its way.
func TestRevokeIsAddedToARotation(t *testing.T) {
	i := newIssuer(t, "  credentials: {mode: Bound}\n")
	i.inPlace()
	i.ask(false)
	i.reconcile("east")
	if rotation := i.ask(true); rotation.Requested || rotation.After != 1 {
		t.Errorf("%+v", rotation)
	}
	if rotation := i.ask(false); !rotation.Requested {
		t.Errorf("asked for less: %+v", rotation)
	}
	i.inPlace()
	same(t, "tokens", []string{"2"}, i.tokens())
}

// A source that does not take the new token keeps the one that it has, and its end says so.
func TestRotationWaitsForTheSource(t *testing.T) {
	for _, spec := range []string{"", "  credentials: {mode: Bound}\n"} {
		i := newIssuer(t, spec)
		i.inPlace()
		i.ask(true)
		i.down["west"] = true
		for range 5 {
			i.reconcile("east")
		}
		step := i.reconcile("east")
		if got := row(t, step, object.End{Cluster: "east", Link: westEast.Link}); got.Why == nil || got.Why.Code != reason.CredentialInUse || !i.asked() || !i.accepted() {
			t.Errorf("%q: %s %v, tokens %v", spec, got.Phase, got.Why, i.tokens())
		}
		i.down["west"] = false
		i.inPlace()
		if len(i.tokens()) != 1 || i.asked() {
			t.Errorf("%q: once it is back: %v", spec, i.tokens())
		}
	}
}

// What is suspended keeps its token until it is resumed; what is suspended elsewhere stops nothing.
func TestRotationOfASuspendedLink(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "  suspend: true\n"))
	if rotation := i.ask(false, Suspend); rotation.Denied != nil || rotation.WaitsFor == nil || rotation.WaitsFor.Code != reason.Suspended {
		t.Errorf("%+v", rotation)
	}
	i.settle(Suspend)
	same(t, "while it is suspended", []string{"token"}, i.tokens())
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	i.settle(Suspend)
	same(t, "resumed", []string{"token.2"}, i.tokens())
}

// Nothing is deleted where the policy says so: the new token is used, and the former one stays.
func TestRotateWithoutDeletes(t *testing.T) {
	i := newIssuer(t, "")
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: UpsertOnly"))
	if rotation := i.ask(true, PrunePolicy); rotation.Denied == nil || rotation.Denied.Code != reason.PrunePolicy {
		t.Errorf("to revoke: %+v", rotation)
	}
	i.ask(false, PrunePolicy)
	i.settle(PrunePolicy)
	if token, _, _, _ := i.inUse(); string(token.Bytes()) != "token-of-linkwright.west-token.2" || i.asked() {
		t.Errorf("in use: %s, asked for still: %t", token.Bytes(), i.asked())
	}
	same(t, "tokens", []string{"token", "token.2"}, i.tokens())
}

// What cannot be replaced is refused, with what to do.
func TestRotationDenied(t *testing.T) {
	tests := []struct {
		name, says string
		do         func(*issuer)
	}{
		{"a secret manager's", "secret manager", func(i *issuer) {
			i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "  credentials: {mode: Existing}\n"))
		}},
		{"nothing is changed", "never get the new token", func(i *issuer) {
			i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: CreateOnly"))
		}},
		{"the target is down", "down", func(i *issuer) { i.down["east"] = true }},
		{"another cluster", "kube-system", func(i *issuer) { i.snapshot.UIDs["east"] = "another" }},
		{"nothing yet", "no token yet", func(i *issuer) {
			remove(i.live["east"], inventory.Key(owner, object.End{Cluster: "east", Link: westEast.Link}))
		}},
	}
	for _, tt := range tests {
		i := newIssuer(t, "")
		i.inPlace()
		tt.do(i)
		if rotation := i.ask(true); rotation.Denied == nil || !strings.Contains(rotation.Denied.Message, tt.says) {
			t.Errorf("%s: %+v", tt.name, rotation.Denied)
		}
	}
}

// A process that dies after any write of a rotation, again and again, comes to the same end, and the source's token is good all along.
func TestRotationCrash(t *testing.T) {
	unraced(t)
	for _, spec := range []string{"", all, bound, all + bound} {
		whole := rotated(t, spec, nil)
		for seed := range uint64(25) {
			random := rand.New(rand.NewPCG(seed, 0))
			if got := rotated(t, spec, random); !slices.Equal(got, whole) {
				t.Errorf("%q, seed %d: %v, want %v", spec, seed, got, whole)
			}
		}
	}
}

// rotated returns what is left in both clusters of a rotation that is to revoke, where a random number of writes is done of each step.
func rotated(t *testing.T, spec string, dies *rand.Rand) []string {
	t.Helper()
	i := newIssuer(t, spec)
	i.inPlace()
	i.ask(true)
	for range 40 {
		if dies == nil {
			break
		}
		name := two[dies.IntN(2)]
		step := Next(i.now(), name, i.renderer(), PrunePolicy)
		done := dies.IntN(step.Writes() + 1)
		for _, part := range []*[]object.Change{&step.Ahead, &step.Changes, &step.After} {
			n := min(done, len(*part))
			*part, done = (*part)[:n], done-n
		}
		*i.live[name] = After(*i.live[name], step)
		for _, play := range i.controllers {
			play(i.live[name])
		}
		if !i.accepted() {
			t.Errorf("%q: dead after %v in %s, west has no token that east takes", spec, describe(step), name)
		}
	}
	i.inPlace(PrunePolicy)
	return append(i.names("west"), append(i.names("east"), i.tokens()...)...)
}

package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// A change of mode keeps the source's access at every step, which every reconcile checks.
func TestLegacyTokenToBoundAndBack(t *testing.T) {
	i := newIssuer(t, all)
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all+bound))
	i.refuse = true
	last := i.settle()
	same(t, "west's rows without a grant", []string{"west base: Ready", "west→east in west: Blocked CredentialNotIssued"}, statuses(last["west"]))
	same(t, "tokens without a grant", []string{"2", "token"}, i.tokens())
	i.refuse = false
	i.inPlace()
	same(t, "tokens of the first generation", []string{"2", "token"}, i.tokens())
	i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 2 / 3)
	i.inPlace()
	same(t, "tokens of the second generation", []string{"2", "3"}, i.tokens())

	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
	i.reconcile("east")
	same(t, "tokens before west's turn", []string{"2", "3", "token.4"}, i.tokens())
	i.inPlace()
	same(t, "tokens of the other mode", []string{"token.4"}, i.tokens())
}

func TestBoundToExisting(t *testing.T) {
	i := newIssuer(t, bound)
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", handed))
	last := i.settle()
	same(t, "east's rows", []string{"east base: Ready", "west→east in east: Blocked CredentialInUse"}, statuses(last["east"]))
	r := i.live["west"].Live.Record(mirrorKey)
	r.Mark = object.Unmarked
	record(&i.live["west"].Live, mirrorKey, r)
	i.settle()
	same(t, "tokens while the Secret carries ours", []string{"1"}, i.tokens())
	i.manage(theToken, mirrorKey)
	i.settle()
	if left := i.names("east"); slices.ContainsFunc(left, func(n string) bool {
		return strings.Contains(n, "linkwright.west-") || strings.Contains(n, "ServiceAccount")
	}) {
		t.Errorf("left in east: %v", left)
	}
}

// An unlink takes all generations, and a cluster's lost inventory is created again of their names.
func TestBoundUnlinked(t *testing.T) {
	i := newIssuer(t, all+bound)
	i.inPlace()
	i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 2 / 3)
	i.inPlace()
	remove(i.live["east"], object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: "linkwright.west.east"})
	i.snapshot.Fleet = declare(t, two, "")
	for range 30 {
		i.sim.reconcile("west")
		i.sim.reconcile("east")
	}
	same(t, "east", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, i.names("east"))
}

// A token that was issued, and not written before the mode changed, is no credential of the other mode.
func TestModeChangesWithATokenUnderWay(t *testing.T) {
	underWay := func(spec string) *issuer {
		i := newIssuer(t, bound)
		i.inPlace()
		i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL * 3 / 4)
		i.reconcile("east")
		i.reconcile("east")
		if len(i.snapshot.IssuedCredentials) != 1 {
			t.Fatal("no token is under way")
		}
		i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", spec))
		return i
	}
	i := underWay(vault)
	before := i.names("west")
	last := i.settle()
	same(t, "west's rows without the Secret", []string{"west base: Ready", "west→east in west: Blocked SecretNotFound"}, statuses(last["west"]))
	same(t, "east's rows without the Secret", []string{"east base: Ready", "west→east in east: Blocked CredentialInUse"}, statuses(last["east"]))
	same(t, "west", before, i.names("west"))
	same(t, "tokens in east", []string{"1", "2"}, i.tokens())

	i = underWay("")
	same(t, "west's rows without a token", []string{"west base: Ready", "west→east in west: Blocked CredentialNotIssued"}, statuses(i.reconcile("west")))
	i.inPlace()
	same(t, "tokens in east", []string{"token.3"}, i.tokens())
}

// An overlay changes digests, and not what the source logs in by: tokens of the former mode go nevertheless, once it is
// in use, and not before.
func TestFormerTokensWithAnOverlay(t *testing.T) {
	i := newIssuer(t, all+bound)
	i.change = labelled(t, "west")
	i.inPlace()
	i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
	i.reconcile("east")
	i.reconcile("east")
	same(t, "tokens before west's turn", []string{"1", "token.2"}, i.tokens())
	last := i.reconcile("east")
	same(t, "east's rows before west's turn", []string{"east base: Ready", "west→east in east: Ready CredentialInUse"}, statuses(last))
	i.inPlace()
	same(t, "tokens of the other mode", []string{"token.2"}, i.tokens())
}

// labelled plays an overlay that labels every object of a cluster.
func labelled(t *testing.T, cluster api.ClusterName) func(object.Desired) object.Desired {
	return func(want object.Desired) object.Desired {
		if want.End.Cluster != cluster {
			return want
		}
		want.Objects = slices.Clone(want.Objects)
		for i, o := range want.Objects {
			var content map[string]any
			if err := json.Unmarshal(o.Body.Bytes(), &content); err != nil {
				t.Fatal(err)
			}
			content["metadata"].(map[string]any)["labels"].(map[string]any)["team"] = "mesh"
			labelled, err := object.Seal(object.Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: owner}, content)
			if err != nil {
				t.Fatal(err)
			}
			want.Objects[i] = labelled
		}
		return want
	}
}

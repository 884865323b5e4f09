package sync

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// What a Link tells is decoded once for each version of it: what was remembered of another version tells nothing.
func TestShownByFollowsLinks(t *testing.T) {
	link := func(credential string) state.Cluster {
		body := fmt.Sprintf(`{"spec": {"clusterCredentialsSecret": "east", "excludedAnnotations": ["linkwright.dev/credential-%s"]}}`, credential)
		return state.Cluster{Seen: object.NewObservation(nil, object.Layer{Group: "multicluster.linkerd.io", Kind: "Link", Items: []object.Item{
			{Namespace: "linkerd-multicluster", Name: "east", Body: object.NewBody([]byte(body))},
		}})}
	}
	first, known := shownBy("", link("one"), nil, nil)
	if again, _ := shownBy("", link("one"), nil, known); again != first {
		t.Error("the same side shows something else")
	}
	if next, _ := shownBy("", link("two"), nil, known); next == first {
		t.Error("a Link that tells of another credential shows the same")
	}
	if afresh, _ := shownBy("", link("two"), nil, nil); afresh == first {
		t.Error("without memory, too")
	}
}

// based is a side whose base is so.
func based(t *testing.T, change func(*inventory.Inventory)) state.Cluster {
	t.Helper()
	i := inventory.Inventory{End: object.End{Cluster: "east"}, Commit: "c1", Term: 1, Entries: []object.Key{{Kind: "Service", Namespace: "n", Name: "one"}}}
	change(&i)
	o, err := i.Object(object.DefaultOwner)
	if err != nil {
		t.Fatal(err)
	}
	e := object.Observation{}.Edit()
	e.Put(o.Key, object.Written(o), o.Body)
	return state.Cluster{Known: true, Seen: e.Observation()}
}

// Neighbours have a turn when what a base holds changes, or whose it is, or that it can be read; not for each commit and term,
// unless it is a commit that bars or no longer does.
func TestShownOfBases(t *testing.T) {
	const bad = api.Commit("bad")
	same := func(*inventory.Inventory) {}
	commit := func(c api.Commit) func(*inventory.Inventory) { return func(i *inventory.Inventory) { i.Commit = c } }
	for name, tt := range map[string]struct {
		before, after func(*inventory.Inventory)
		moved         bool
	}{
		"nothing":            {same, same, false},
		"commit and term":    {same, func(i *inventory.Inventory) { i.Commit, i.Term = "c2", 2 }, false},
		"entries":            {same, func(i *inventory.Inventory) { i.Entries[0].Name = "two" }, true},
		"leaving":            {same, func(i *inventory.Inventory) { i.Leaving = true }, true},
		"name":               {same, func(i *inventory.Inventory) { i.End.Cluster = "other" }, true},
		"to a barred commit": {same, commit(bad), true},
		"of a barred commit": {commit(bad), same, true},
		"still barred":       {commit(bad), func(i *inventory.Inventory) { i.Commit, i.Term = bad, 2 }, false},
	} {
		b := newBoard(&Loop{Owner: object.DefaultOwner}, 1)
		b.fleet = load(t, "")
		b.answers[[2]api.Commit{b.fleet.Commit, bad}] = errSkipped
		b.put("east", based(t, tt.before), b.now())
		if moved, _ := b.put("east", based(t, tt.after), b.now()); moved != tt.moved {
			t.Errorf("%s: moved %v, want %v", name, moved, tt.moved)
		}
	}
}

// A base that cannot be read any more shows something else, whoever made it so.
func TestShownOfForeignBases(t *testing.T) {
	side := based(t, func(*inventory.Inventory) {})
	key := inventory.Key(object.DefaultOwner, object.End{})
	body, _ := side.Seen.Body(key)
	for name, change := range map[string]func(*object.Edit){
		"another's": func(e *object.Edit) { e.Put(key, object.Record{UID: "x", Mark: object.Theirs}, body) },
		"garbage":   func(e *object.Edit) { e.Put(key, side.Seen.Record(key), object.NewBody([]byte("]"))) },
	} {
		e := side.Seen.Edit()
		change(e)
		first, _ := shownBy(object.DefaultOwner, side, nil, nil)
		if next, _ := shownBy(object.DefaultOwner, state.Cluster{Known: true, Seen: e.Observation()}, nil, nil); next.sum == first.sum {
			t.Errorf("%s: it shows the same", name)
		}
	}
}

// What a step is planned from is another basis once a neighbour's commit is barred, although other clusters barred it before.
func TestBasisOfBarred(t *testing.T) {
	b := newBoard(&Loop{Owner: object.DefaultOwner}, 1)
	b.fleet = load(t, "---\napiVersion: "+api.GroupVersion+"\nkind: Link\nmetadata: {name: l}\nspec: {source: west, target: east}\n")
	b.good = b.fleet
	of := func() basis {
		v, ok := b.view(b.now())
		if !ok {
			t.Fatal("no view")
		}
		return v.basis(plan.Step{Cluster: "west"})
	}
	b.put("east", based(t, func(*inventory.Inventory) {}), b.now())
	first := of()
	b.put("east", based(t, func(i *inventory.Inventory) { i.Commit = "c2" }), b.now())
	if of() != first {
		t.Error("another commit is another basis")
	}
	b.answers[[2]api.Commit{b.fleet.Commit, "bad"}] = errSkipped // as other clusters carry it
	b.derived.barred, b.derived.rules = nil, nil
	first = of()
	if b.put("east", based(t, func(i *inventory.Inventory) { i.Commit = "bad" }), b.now()); of() == first {
		t.Error("a barred commit is no other basis")
	}
}

// What is barred is seen as soon as it was asked.
func TestBarredIsSeen(t *testing.T) {
	b := newBoard(&Loop{Owner: object.DefaultOwner, Declared: refusing{}}, 1)
	b.fleet = load(t, "")
	b.good = b.fleet
	before, _ := b.view(b.now())
	if err := b.ask(t.Context(), b.fleet.Commit, "c2"); err == nil {
		t.Fatal("it was not asked")
	}
	if after, _ := b.view(b.now()); len(before.Barred) != 0 || after.Barred["c2"] == nil || after.rules == before.rules {
		t.Errorf("barred before %v, after %v", before.Barred, after.Barred)
	}
	b.forgetAnswers()
	if again, _ := b.view(b.now()); len(again.Barred) != 0 || again.rules != before.rules {
		t.Errorf("and once that is forgotten %v", again.Barred)
	}
}

// refusing is a history in which nothing follows anything.
type refusing struct{ Declared }

func (refusing) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error {
	return errSkipped
}

// A world that was handed out stays as it was, whatever happens on the board since.
func TestWorldStays(t *testing.T) {
	b := newBoard(&Loop{Owner: object.DefaultOwner}, 1)
	b.fleet = load(t, "---\napiVersion: "+api.GroupVersion+"\nkind: Link\nmetadata: {name: l}\nspec: {source: west, target: east, credentials: {mode: Bound}}\n")
	link := api.Pair{Source: "west", Target: "east"}
	b.put("east", state.Cluster{Known: true}, b.now())
	b.issued(link, object.NewSecret([]byte("token")))
	refused := object.Outcome{Err: errors.New("immutable"), Change: object.Change{Key: probe, End: object.End{Cluster: "east"}}}
	b.loop.Refused = func(error) (object.Refusal, bool) { return object.Refusal{Field: "spec"}, true }
	b.correct("east", []object.Outcome{refused})
	w := b.world()
	b.put("east", state.Cluster{Known: true, Pass: 7}, b.now())
	b.put("west", state.Cluster{}, b.now())
	b.issued(link, object.NewSecret([]byte("another")))
	b.answers[[2]api.Commit{b.fleet.Commit, "x"}] = errSkipped
	b.setRecord(inventory.Record{Clusters: map[api.ClusterName]inventory.Known{"east": {UID: "uid"}}})
	b.correct("east", []object.Outcome{{Change: refused.Change}})
	switch {
	case len(w.Clusters) != 1 || w.Clusters["east"].Pass != 0:
		t.Errorf("sides: %v", w.Clusters)
	case string(w.Fresh[link].Token.Bytes()) != "token":
		t.Error("another token")
	case len(w.UIDs)+len(w.Barred) > 0:
		t.Errorf("remembered %v, barred %v", w.UIDs, w.Barred)
	case len(w.Immutable["east"]) != 1:
		t.Errorf("immutable: %v", w.Immutable)
	case !w.Failing["east"][refused.Change.End]:
		t.Errorf("failing: %v", w.Failing)
	}
	if now := b.world(); len(now.Failing["east"]) > 0 || len(now.Clusters) != 2 || len(now.UIDs) != 1 || len(now.Immutable["east"]) != 0 || string(now.Fresh[link].Token.Bytes()) != "another" {
		t.Errorf("and now: %v %v %v", now.Clusters, now.UIDs, now.Immutable)
	}
}

// Facts are decoded anew when what they are read from changes, or how the cluster is declared, and at no other time.
func TestFactsAreReused(t *testing.T) {
	spec := api.Cluster{APIServer: "https://a"}.WithDefaults()
	seen := func(uid, root string) object.Observation {
		e := object.Observation{}.Edit()
		e.Put(object.Key{Kind: "Namespace", Name: "kube-system"}, object.Record{UID: uid}, object.Body{})
		e.Put(object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"}, object.Record{UID: "x"}, object.NewBody([]byte(`{"data":{"ca.crt":"`+root+`"}}`)))
		return e.Observation()
	}
	served := seen("uid", "ca")
	served.Unserved = []string{"Link.v1alpha3.multicluster.linkerd.io"}
	moved := seen("uid", "ca")
	moved.Server = "https://elsewhere"
	elsewhere := spec
	elsewhere.APIServer = "https://b"
	for name, tt := range map[string]struct {
		spec  api.Cluster
		seen  object.Observation
		known bool
		reuse bool
	}{
		"as it was":         {spec, seen("uid", "ca"), true, true},
		"another identity":  {spec, seen("other", "ca"), true, false},
		"another CA":        {spec, seen("uid", "cb"), true, false},
		"another kind gone": {spec, served, true, false},
		"another address":   {spec, moved, true, false},
		"declared anew":     {elsewhere, seen("uid", "ca"), true, false},
		"unknown before":    {spec, seen("uid", "ca"), false, false},
	} {
		b := newBoard(&Loop{}, 1)
		b.fleet = load(t, "")
		b.put("east", state.Cluster{Known: tt.known, Seen: seen("uid", "ca"), Gap: "of before", Facts: linkerd.Facts{Version: "as it was"}}, b.now())
		b.specify("east", sumOf(spec))
		u := &reconcile{board: b, cluster: fleet.Cluster{Name: "east", Spec: tt.spec}}
		side := state.Cluster{Seen: tt.seen}
		if u.tell(&side); (side.Facts.Version == "as it was") != tt.reuse {
			t.Errorf("%s: reused %v, want %v", name, side.Facts.Version, tt.reuse)
		}
		if side.Gap == "of before" { // another observation: who we are is asked anew
			t.Errorf("%s: whether policies confine linkwright is told by what was seen before", name)
		}
	}
}

// Watches that nothing changed in give the very same observation, which tells the same.
func TestSameObservation(t *testing.T) {
	e := object.Observation{}.Edit()
	e.Put(object.Key{Kind: "Namespace", Name: "kube-system"}, object.Record{UID: "u"}, object.Body{})
	b, spec, same := newBoard(&Loop{}, 1), api.Cluster{}.WithDefaults(), e.Observation()
	b.fleet = load(t, "")
	b.put("east", state.Cluster{Known: true, Seen: same, Gap: "of before", Facts: linkerd.Facts{Version: "as it was"}}, b.now())
	b.specify("east", sumOf(spec))
	side := state.Cluster{Seen: same}
	if (&reconcile{board: b, cluster: fleet.Cluster{Name: "east", Spec: spec}}).tell(&side); side.Gap != "of before" || side.Facts.Version != "as it was" {
		t.Errorf("it was looked at again: %q, %q", side.Gap, side.Facts.Version)
	}
}

// Which commits are carried is known again once a base, an identity or what is remembered is another one.
func TestAppliedFollows(t *testing.T) {
	b := newBoard(&Loop{Owner: object.DefaultOwner}, 1)
	b.fleet = load(t, "")
	read := func(uid string, commit api.Commit) {
		side := based(t, func(i *inventory.Inventory) { i.Commit = commit })
		side.Facts.UID = uid
		b.put("east", side, b.now())
	}
	remember := func(version, uid string) {
		b.setRecord(inventory.Record{Was: object.Record{UID: "r", ResourceVersion: version}, Clusters: map[api.ClusterName]inventory.Known{"east": {UID: uid}}})
	}
	for _, tt := range []struct {
		name string
		do   func()
		want api.Commit
	}{
		{"nothing was read", func() {}, ""},
		{"a base", func() { read("uid", "c1") }, "c1"},
		{"another commit", func() { read("uid", "c2") }, "c2"},
		{"another cluster is remembered", func() { remember("1", "other") }, ""},
		{"this one is", func() { remember("2", "uid") }, "c2"},
		{"another cluster is read", func() { read("other", "c2") }, ""},
		{"and this one again", func() { read("uid", "c2") }, "c2"},
		{"another name for it", func() { b.put("west", state.Cluster{Known: true, Facts: linkerd.Facts{UID: "uid"}}, b.now()) }, "c2"},
		{"and none is remembered by it", func() { remember("3", "") }, ""},
		{"which is dropped", func() { b.drop("west") }, "c2"},
		{"all is forgotten", b.forgetSides, ""},
	} {
		tt.do()
		if got := b.applied()["east"]; got != tt.want {
			t.Errorf("%s: east carries %q, want %q", tt.name, got, tt.want)
		}
	}
}

// That two names are one cluster is seen as soon as they show it, and forgotten when one of them does no more: whatever is
// planned with it would be written to the wrong cluster.
func TestTwinsAreSeen(t *testing.T) {
	b := newBoard(&Loop{Owner: object.DefaultOwner}, 1)
	b.fleet = load(t, "")
	b.good = b.fleet
	twins := func() int {
		v, ok := b.view(b.now())
		if !ok {
			t.Fatal("no view")
		}
		b.done(v)
		return len(v.Twins)
	}
	show := func(name api.ClusterName, uid string) {
		b.put(name, state.Cluster{Known: true, Facts: linkerd.Facts{UID: uid}}, b.now())
	}
	show("east", "one")
	if show("west", "two"); twins() != 0 {
		t.Fatal("two clusters are one")
	}
	if show("west", "one"); twins() != 1 {
		t.Error("one cluster is two")
	}
	if b.drop("west"); twins() != 0 {
		t.Error("a cluster that is not known is still another one")
	}
	show("west", "one")
	if b.put("west", state.Cluster{}, b.now()); twins() != 0 {
		t.Error("a cluster that cannot be read is still another one")
	}
}

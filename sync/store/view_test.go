package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
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
		return state.Cluster{Live: object.NewObservation(nil, object.Layer{Group: "multicluster.linkerd.io", Kind: "Link", Items: []object.Item{
			{Namespace: "linkerd-multicluster", Name: "east", Body: object.NewBody([]byte(body))},
		}})}
	}
	first, known := digestOf("", link("one"), nil, nil)
	if again, _ := digestOf("", link("one"), nil, known); again != first {
		t.Error("the same side shows something else")
	}
	if next, _ := digestOf("", link("two"), nil, known); next == first {
		t.Error("a Link that tells of another credential shows the same")
	}
	if afresh, _ := digestOf("", link("two"), nil, nil); afresh == first {
		t.Error("without memory, too")
	}
}

var errRefused = errors.New("refused")

var settings = Settings{
	Installation: object.Installation{Owner: object.DefaultOwner},
	Rejected:     func(error) (object.Rejection, bool) { return object.Rejection{Field: "spec"}, true },
}

// declare has a fleet declared and applied.
func declare(s *Store, f *fleet.Fleet) {
	s.Enter(f, inventory.Record{})
	s.Apply(f)
}

// based returns a side whose base is so.
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
	return state.Cluster{Reading: state.Read, Live: e.Observation()}
}

// Neighbours are reconciled when the inventory of an end changes, but not for the conditions of its link: with many links, some always change.
func TestShownOfEnds(t *testing.T) {
	same := func(*inventory.Inventory) {}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		after func(*inventory.Inventory)
		moved bool
	}{
		"nothing": {same, false},
		"conditions": {func(i *inventory.Inventory) {
			i.Conditions = []object.Condition{{Type: object.Ready, Status: object.False, Reason: reason.Timeout, Message: `asked "east"`, Since: now}}
		}, false},
		"entries": {func(i *inventory.Inventory) { i.Entries[0].Name = "two" }, true},
		"leaving": {func(i *inventory.Inventory) { i.Leaving, i.Since = true, now }, true},
	} {
		t.Run(name, func(t *testing.T) {
			end := func(change func(*inventory.Inventory)) state.Cluster {
				return based(t, func(i *inventory.Inventory) {
					i.End.Link = api.Pair{Source: "east", Target: "west"}
					change(i)
				})
			}
			first, known := digestOf(object.DefaultOwner, end(same), nil, nil)
			if next, _ := digestOf(object.DefaultOwner, end(tt.after), nil, known); (next.sum != first.sum) != tt.moved {
				t.Errorf("neighbours are reconciled: %t, want %t", next.sum != first.sum, tt.moved)
			}
		})
	}
	for name, tt := range map[string]struct {
		change func(*object.Record)
		moved  bool
	}{
		"another version": {func(r *object.Record) { r.UID, r.ResourceVersion = "2", "2" }, false},
		"another's":       {func(r *object.Record) { r.Mark = object.Theirs }, true},
		"being deleted":   {func(r *object.Record) { r.Terminating = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			was := based(t, func(i *inventory.Inventory) { i.End.Link = api.Pair{Source: "east", Target: "west"} })
			key := inventory.Key(object.DefaultOwner, object.End{Cluster: "east", Link: api.Pair{Source: "east", Target: "west"}})
			body, _ := was.Live.Body(key)
			r, e := was.Live.Record(key), was.Live.Edit()
			tt.change(&r)
			e.Put(key, r, body)
			first, known := digestOf(object.DefaultOwner, was, nil, nil)
			next, _ := digestOf(object.DefaultOwner, state.Cluster{Reading: state.Read, Live: e.Observation()}, nil, known)
			if (next.sum != first.sum) != tt.moved {
				t.Errorf("neighbours are reconciled: %t, want %t", next.sum != first.sum, tt.moved)
			}
		})
	}
}

// What a view has of verifications stays as it was, and those of links that are no longer declared are forgotten.
func TestVerifications(t *testing.T) {
	s := New(settings)
	west, north := api.Pair{Source: "west", Target: "east"}, api.Pair{Source: "north", Target: "east"}
	s.Credentials.SetVerification(west, state.Verification{Fingerprint: "one"})
	seen, loan := s.Credentials.proofs.lend()
	if news := s.Credentials.SetVerification(west, state.Verification{Fingerprint: "two"}); !news {
		t.Error("another credential is no news")
	}
	if news := s.Credentials.SetVerification(west, state.Verification{Fingerprint: "two"}); news {
		t.Error("the same again is news")
	}
	s.Credentials.SetVerification(north, state.Verification{Fingerprint: "three"})
	if got := seen["west"]["east"].Fingerprint; got != "one" || len(seen) != 1 {
		t.Errorf("what was lent has changed: %v", seen)
	}
	*loan--
	s.Credentials.keep(&fleet.Fleet{})
	if left := s.Credentials.proofs.at; len(left) > 0 {
		t.Errorf("nothing is declared, and %v stays", left)
	}
}

// Neighbours are reconciled when what a base holds changes, or whose it is, or that it can be read; not for each commit and term, unless it is a
// commit that bars or no longer does.
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
		s := New(settings)
		declare(s, load(t, ""))
		s.Declared.SetAnswer(s.Declared.Commit(), bad, errRefused)
		s.PutCluster("east", based(t, tt.before), s.Declared.Epoch())
		if moved, _ := s.PutCluster("east", based(t, tt.after), s.Declared.Epoch()); moved != tt.moved {
			t.Errorf("%s: moved %v, want %v", name, moved, tt.moved)
		}
	}
}

// A base that cannot be read any more shows something else, whoever made it so.
func TestShownOfForeignBases(t *testing.T) {
	cluster := based(t, func(*inventory.Inventory) {})
	key := inventory.Key(object.DefaultOwner, object.End{})
	body, _ := cluster.Live.Body(key)
	for name, change := range map[string]func(*object.Edit){
		"another's": func(e *object.Edit) { e.Put(key, object.Record{UID: "x", Mark: object.Theirs}, body) },
		"garbage":   func(e *object.Edit) { e.Put(key, cluster.Live.Record(key), object.NewBody([]byte("]"))) },
	} {
		e := cluster.Live.Edit()
		change(e)
		first, _ := digestOf(object.DefaultOwner, cluster, nil, nil)
		if next, _ := digestOf(object.DefaultOwner, state.Cluster{Reading: state.Read, Live: e.Observation()}, nil, nil); next.sum == first.sum {
			t.Errorf("%s: it shows the same", name)
		}
	}
}

// What a step is planned from is another basis once a neighbour's commit is barred, although other clusters barred it before.
func TestBasisOfBarred(t *testing.T) {
	s := New(settings)
	declare(s, load(t, "---\napiVersion: "+api.GroupVersion+"\nkind: Link\nmetadata: {name: l}\nspec: {source: west, target: east}\n"))
	of := func() Basis {
		v, ok := s.View(s.Declared.Epoch())
		if !ok {
			t.Fatal("no view")
		}
		return v.Basis(plan.Step{Cluster: "west"})
	}
	s.PutCluster("east", based(t, func(*inventory.Inventory) {}), s.Declared.Epoch())
	first := of()
	s.PutCluster("east", based(t, func(i *inventory.Inventory) { i.Commit = "c2" }), s.Declared.Epoch())
	if of() != first {
		t.Error("another commit is another basis")
	}
	s.Declared.SetAnswer(s.Declared.Commit(), "bad", errRefused) // as other clusters carry it
	first = of()
	if s.PutCluster("east", based(t, func(i *inventory.Inventory) { i.Commit = "bad" }), s.Declared.Epoch()); of() == first {
		t.Error("a barred commit is no other basis")
	}
}

// What a step is planned from is another basis once it is known, or known otherwise, which cluster a name means, whoever that is.
func TestBasisOfIdentities(t *testing.T) {
	s := New(settings)
	declare(s, load(t, ""))
	of := func() Basis {
		v, ok := s.View(s.Declared.Epoch())
		if !ok {
			t.Fatal("no view")
		}
		return v.Basis(plan.Step{Cluster: "west"})
	}
	last := of()
	for _, uid := range []string{"one", "two"} {
		s.PutCluster("east", state.Cluster{Reading: state.Read, Facts: linkerd.Facts{UID: uid}}, s.Declared.Epoch())
		now := of()
		if now == last {
			t.Errorf("cluster %s is no other basis", uid)
		}
		last = now
	}
}

// That ends fail is forgotten with the next reconcile that writes nothing, and when links followed their targets with another commit.
func TestResultsAreForgotten(t *testing.T) {
	s := New(settings)
	f := load(t, "")
	declare(s, f)
	end := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
	followed := object.Outcome{Change: object.Change{Action: object.Update, End: end, Why: object.Reason{Code: reason.FactsChanged}}}
	s.Correct("west", []object.Outcome{followed}, map[object.End]object.Reason{end: {Code: reason.Invalid}})
	if now := s.Snapshot(); now.Failing["west"][end].Code != reason.Invalid || now.Followed[end.Link].IsZero() {
		t.Fatalf("failing %v, followed %v", now.Failing, now.Followed)
	}
	if s.Correct("west", nil, map[object.End]object.Reason{}); len(s.Snapshot().Failing["west"]) > 0 {
		t.Error("an end still fails")
	}
	if s.Enter(f, inventory.Record{}); s.Snapshot().Followed[end.Link].IsZero() {
		t.Error("with the same commit it is forgotten")
	}
	next := *f
	next.Commit = "another"
	s.Enter(&next, inventory.Record{})
	s.PutCluster("west", state.Cluster{}, s.Declared.Epoch())
	if at := s.Snapshot().Followed; len(at) > 0 {
		t.Errorf("followed at %v under another commit", at)
	}
}

// A snapshot that was handed out stays as it was, whatever happens in the store since.
func TestWorldStays(t *testing.T) {
	s := New(settings)
	declare(s, load(t, "---\napiVersion: "+api.GroupVersion+"\nkind: Link\nmetadata: {name: l}\nspec: {source: west, target: east, credentials: {mode: Bound}}\n"))
	link := api.Pair{Source: "west", Target: "east"}
	s.PutCluster("east", state.Cluster{Reading: state.Read}, s.Declared.Epoch())
	s.Credentials.Issue(link, object.NewSecret([]byte("token")))
	refused := object.Outcome{Err: errors.New("immutable"), Change: object.Change{Key: object.Key{Kind: "Service", Name: "probe"}, End: object.End{Cluster: "east"}}}
	s.Correct("east", []object.Outcome{refused}, map[object.End]object.Reason{refused.Change.End: {Code: reason.Invalid}})
	w := s.Snapshot()
	s.PutCluster("east", state.Cluster{Reading: state.Read, Round: 7}, s.Declared.Epoch())
	s.PutCluster("west", state.Cluster{}, s.Declared.Epoch())
	s.Credentials.Issue(link, object.NewSecret([]byte("another")))
	s.Declared.SetAnswer(s.Declared.Commit(), "x", errRefused)
	s.SetRecord(inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {UID: "uid"}}})
	s.Correct("east", []object.Outcome{{Change: refused.Change}}, map[object.End]object.Reason{})
	switch {
	case len(w.Clusters) != 1 || w.Clusters["east"].Round != 0:
		t.Errorf("sides: %v", w.Clusters)
	case string(w.IssuedCredentials[link].Token.Bytes()) != "token":
		t.Error("another token")
	case len(w.UIDs)+len(w.DeniedAfter) > 0:
		t.Errorf("remembered %v, barred %v", w.UIDs, w.DeniedAfter)
	case len(w.Immutable["east"]) != 1:
		t.Errorf("immutable: %v", w.Immutable)
	case w.Failing["east"][refused.Change.End].Code != reason.Invalid:
		t.Errorf("failing: %v", w.Failing)
	}
	if now := s.Snapshot(); len(now.Failing["east"]) > 0 || len(now.Clusters) != 2 || len(now.UIDs) != 1 || len(now.Immutable["east"]) != 0 || string(now.IssuedCredentials[link].Token.Bytes()) != "another" {
		t.Errorf("and now: %v %v %v", now.Clusters, now.UIDs, now.Immutable)
	}
}

// Which commits are carried is known again once a base, an identity or what is remembered is another one.
func TestAppliedFollows(t *testing.T) {
	s := New(settings)
	declare(s, load(t, ""))
	read := func(uid string, commit api.Commit) {
		cluster := based(t, func(i *inventory.Inventory) { i.Commit = commit })
		cluster.Facts.UID = uid
		s.PutCluster("east", cluster, s.Declared.Epoch())
	}
	remember := func(version, uid string) {
		s.SetRecord(inventory.Record{Was: object.Record{UID: "r", ResourceVersion: version}, Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {UID: uid}}})
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
		{"another name for it", func() {
			s.PutCluster("west", state.Cluster{Reading: state.Read, Facts: linkerd.Facts{UID: "uid"}}, s.Declared.Epoch())
		}, "c2"},
		{"and none is remembered by it", func() { remember("3", "") }, ""},
		{"which is dropped", func() { s.Clusters.ReadAgain("west") }, "c2"},
		{"all is forgotten", s.Clusters.ReadAllAgain, ""},
	} {
		tt.do()
		if got := s.Carried()["east"]; got != tt.want {
			t.Errorf("%s: east carries %q, want %q", tt.name, got, tt.want)
		}
	}
}

// That two names are one cluster is seen as soon as they show it, and forgotten when one of them does no more: whatever is
// planned with it would be written to the wrong cluster.
func TestTwinsAreSeen(t *testing.T) {
	s := New(settings)
	declare(s, load(t, ""))
	twins := func() int {
		v, ok := s.View(s.Declared.Epoch())
		if !ok {
			t.Fatal("no view")
		}
		s.Release(v)
		return len(v.DuplicateUIDs)
	}
	show := func(name api.ClusterName, uid string) {
		s.PutCluster(name, state.Cluster{Reading: state.Read, Facts: linkerd.Facts{UID: uid}}, s.Declared.Epoch())
	}
	show("east", "one")
	if show("west", "two"); twins() != 0 {
		t.Fatal("two clusters are one")
	}
	if show("west", "one"); twins() != 1 {
		t.Error("one cluster is two")
	}
	if s.Clusters.ReadAgain("west"); twins() != 0 {
		t.Error("a cluster that is not known is still another one")
	}
	show("west", "one")
	if s.PutCluster("west", state.Cluster{}, s.Declared.Epoch()); twins() != 0 {
		t.Error("a cluster that cannot be read is still another one")
	}
}

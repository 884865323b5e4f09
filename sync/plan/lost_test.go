package plan

import (
	"slices"
	"strings"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// restore lays an inventory into a cluster as a backup tool would: with a uid of its own, and linkwright's mark.
func restore(t *testing.T, s *sim, inv inventory.Inventory) {
	t.Helper()
	o, err := inv.Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	r := object.Written(o)
	r.UID, r.ResourceVersion = "restored", "1"
	edit(&s.live[inv.End.Cluster].Live, o.Key, r, o.Body)
}

// intact holds what is true of running links whose inventories were lost or restored: nothing is taken, all stands as it
// stood, and the inventories are what they were.
func intact(t *testing.T, s *sim, spoil func()) {
	t.Helper()
	names, written := map[api.ClusterName][]string{}, map[api.ClusterName]map[object.End]inventory.Inventory{}
	for _, c := range two {
		names[c], written[c] = s.names(c), inventories(t, s.live[c].Live)
	}
	spoil()
	last, taken := s.settled()
	same(t, "taken", nil, taken)
	for _, c := range two {
		allInPlace(t, c, last[c])
		same(t, string(c), names[c], s.names(c))
		now := inventories(t, s.live[c].Live)
		for end, inv := range written[c] {
			found := now[end]
			if !found.Same(inv) {
				t.Errorf("inventory of %s: %+v, was %+v", end, found, inv)
			}
		}
	}
}

// wipe deletes all inventories of a cluster.
func wipe(s *sim, c api.ClusterName) {
	for k := range s.live[c].Live.Records() {
		if inventory.Named(owner, k) {
			remove(s.live[c], k)
		}
	}
}

// Running links survive the loss of every inventory, in one cluster or in both.
func TestAllInventoriesWiped(t *testing.T) {
	for _, of := range [][]api.ClusterName{{"east"}, {"west"}, two} {
		s := linked(t, all)
		intact(t, s, func() {
			for _, c := range of {
				wipe(s, c)
			}
		})
	}
}

// A declared link survives the loss while its end is held: the peer is down, and nothing is known of it.
func TestInventoriesWipedWhileBlocked(t *testing.T) {
	s := linked(t, all)
	before := s.names("west")
	wipe(s, "west")
	s.down["east"] = true
	_, taken := s.settled()
	same(t, "taken", nil, taken)
	s.down["east"] = false
	last, taken := s.settled()
	same(t, "taken later", nil, taken)
	allInPlace(t, "west", last["west"])
	same(t, "west", before, s.names("west"))
}

// Inventories that a backup tool restored: another uid and older content.
func TestInventoryRestored(t *testing.T) {
	theirs := object.Key{Kind: "Service", Namespace: mc, Name: "somebodys"}
	for name, old := range map[string]func(inventory.Inventory) inventory.Inventory{
		"as it was":    func(i inventory.Inventory) inventory.Inventory { return i },
		"emptied":      func(i inventory.Inventory) inventory.Inventory { i.Entries = nil; return i },
		"entries lack": func(i inventory.Inventory) inventory.Inventory { i.Entries = i.Entries[:len(i.Entries)/2]; return i },
		"was leaving":  func(i inventory.Inventory) inventory.Inventory { i.Leaving = true; return i },
		"older commit": func(i inventory.Inventory) inventory.Inventory { i.Commit = "0123"; return i },
		"too many gone": func(i inventory.Inventory) inventory.Inventory {
			return more(i, object.Key{Kind: "Service", Namespace: mc, Name: "probe-gone"})
		},
		"of another's": func(i inventory.Inventory) inventory.Inventory { return more(i, theirs) },
		"of another end's": func(i inventory.Inventory) inventory.Inventory {
			return more(i, linkKey("east"), deployment("east"), access)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := linked(t, all)
			put(s.live["west"], theirs, nil, metav1.ObjectMeta{})
			intact(t, s, func() {
				for _, c := range two {
					for _, inv := range inventories(t, s.live[c].Live) {
						if next := old(inv); !next.Same(inv) || name == "as it was" {
							restore(t, s, possible(next))
						}
					}
				}
			})
		})
	}
}

// possible returns an inventory without what its kind never says.
func possible(inv inventory.Inventory) inventory.Inventory {
	if inv.End.IsBase() {
		inv.Leaving = false // a base that leaves names a cluster that left
	} else {
		inv.Commit, inv.Term = "", 0
	}
	return inv
}

func more(inv inventory.Inventory, keys ...object.Key) inventory.Inventory {
	return inv.Settle(slices.Concat(inv.Entries, keys), func(object.Key) bool { return false })
}

// An inventory without content tells nothing, and so the cluster cannot be judged: who reads that is told to delete it, and
// then it is rebuilt.
func TestInventoryUnreadable(t *testing.T) {
	s := linked(t, all)
	k := inventory.Key(owner, westEast)
	whole := s.live["west"].Live
	show(&s.live["west"].Live, k, object.NewBody([]byte(`{"metadata":{}}`)))
	c, _ := s.snapshot.Fleet.Cluster("west")
	_, err := Watches(s.snapshot, *c, s.renderer(), observe(s.live["west"].Live, InventoryWatches()))
	if err == nil || !strings.Contains(err.Error(), k.String()) || !strings.Contains(err.Error(), "delete the ConfigMap") {
		t.Errorf("Watches: %v", err)
	}
	broken := s.live["west"].Live
	s.live["west"].Live = whole
	w := s.now()
	west := w.Clusters["west"]
	west.Live = observe(broken, west.Watches)
	w.Clusters["west"] = west
	if step := Next(w, "west", s.renderer()); step.Writes() > 0 || step.Denied == nil {
		t.Errorf("with an inventory that cannot be read: %v, %v", step.Denied, describe(step))
	}
	intact(t, s, func() { remove(s.live["west"], k) })
}

// What an overlay brings into the multicluster namespace is recorded again while it is wanted, after all inventories were lost.
// What the overlay no longer brings stays: nothing tells that it was ever recorded.
func TestLostBaseOfAnOverlay(t *testing.T) {
	quota := brought(t, "limits")
	other := brought(t, "more")
	s := newSim(t, declare(t, two, linkDoc("west", "east", "")), two...)
	s.extras = map[api.ClusterName][]object.Object{"west": {quota, other}}
	s.settle()
	intact(t, s, func() { wipe(s, "west") })
	wipe(s, "west")
	s.extras = map[api.ClusterName][]object.Object{"west": {quota}}
	_, taken := s.settled()
	same(t, "taken", nil, taken)
	if s.live["west"].Live.Record(other.Key).IsZero() {
		t.Errorf("%s is gone", other.Key)
	}
}

func brought(t *testing.T, name string) object.Object {
	t.Helper()
	k := object.Key{Kind: "ConfigMap", Namespace: mc, Name: name}
	o, err := object.Seal(object.Spec{Key: k, Version: "v1", Phase: object.PhaseExtras, Owner: owner}, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": mc},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The control plane's secret is found again although its Link selects nothing any more: an unlink drains first.
func TestLostInventoryOfADrainedLink(t *testing.T) {
	s := linked(t, all)
	secret := object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"}
	s.snapshot.Fleet = declare(t, two, "")
	body := strings.NewReplacer("remoteDiscoverySelector", "a", "federatedServiceSelector", "b").Replace(string(bodyOf(s.live["west"].Live, linkKey("east")).Bytes()))
	show(&s.live["west"].Live, linkKey("east"), object.NewBody([]byte(body)))
	wipe(s, "west")
	s.settle()
	if !s.live["west"].Live.Record(secret).IsZero() {
		t.Error("the control plane's secret is left")
	}
}

// A link whose inventories were wiped in both clusters together with its declaration is nobody's: nothing of it is taken, and all of it
// is reported. So it goes once the inventory of one end is back.
func TestWipedAndUndeclared(t *testing.T) {
	s := linked(t, all)
	reported, _ := inventory.Of(owner, westEast, s.live["west"].Live)
	for _, c := range two {
		wipe(s, c)
	}
	s.snapshot.Fleet = declare(t, two, "")
	for _, c := range two {
		ours := len(s.names(c)) - 1 // but the namespace
		step := s.reconcile(c)
		if got := len(step.Listed) + step.More; step.Writes() > 0 || got < min(ours, 3) {
			t.Errorf("%s: writes %v, and reports %d orphans of %d objects", c, describe(step), got, ours)
		}
	}
	restore(t, s, reported)
	s.settle()
	for _, c := range two {
		same(t, string(c), []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(c))
	}
}

// So is it where nothing else is left of its end but the service mirror's: an unlink, or a first write, that was broken off.
func TestLostInventoryOfCredentials(t *testing.T) {
	s := linked(t, all)
	secret := object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"}
	s.snapshot.Fleet = declare(t, two, "")
	for k, r := range s.live["west"].Live.Records() {
		if r.Mark == object.Ours && k.Kind != "Secret" && k.Kind != "Namespace" {
			remove(s.live["west"], k)
		}
	}
	s.settle()
	if !s.live["west"].Live.Record(secret).IsZero() {
		t.Error("the control plane's secret is left")
	}
}

// Somebody else's ConfigMap that has the name of an inventory is an orphan, or stands in the way of the one end that needs the name:
// all else of the cluster goes on.
func TestInventoryNameOfOthers(t *testing.T) {
	s := newSim(t, declare(t, []api.ClusterName{"east", "north", "west"}, linkDoc("west", "east", all)+linkDoc("west", "north", all)), "east", "north", "west")
	s.settle()
	stranger := object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: "linkwright.of.nobody"}
	taken := inventory.Key(owner, westEast)
	for _, k := range []object.Key{stranger, taken} {
		put(s.live["west"], k, nil, metav1.ObjectMeta{})
		record(&s.live["west"].Live, k, object.Record{UID: "theirs", ResourceVersion: "1", Mark: object.Copied, ForeignManagers: unique.Make("velero")})
	}
	remove(s.live["west"], deployment("north"))
	step := s.settle()["west"]
	if step.Denied != nil || s.live["west"].Live.Record(deployment("north")).IsZero() {
		t.Errorf("the cluster: %v, %v", step.Denied, statuses(step))
	}
	if got := row(t, step, westEast); got.Phase != Blocked || got.Why.Code != reason.ObjectExists || !strings.Contains(got.Why.Message, taken.String()) || !strings.Contains(got.Why.Message, "velero") {
		t.Errorf("the end whose name is taken: %s %v", got.Phase, got.Why)
	}
	if !slices.ContainsFunc(step.Listed, func(o Orphan) bool { return o.Key == stranger }) {
		t.Errorf("orphans: %v", step.Listed)
	}
	remove(s.live["west"], taken)
	allInPlace(t, "west", s.settle()["west"])
}

// A copy of an inventory under another name, restored with its managed fields, is an orphan. In the place of another inventory it stands
// in the way of that one end, until it is deleted.
func TestCopyOfAnInventory(t *testing.T) {
	s := newSim(t, declare(t, []api.ClusterName{"east", "north", "west"}, linkDoc("west", "east", all)+linkDoc("west", "north", all)), "east", "north", "west")
	s.settle()
	body, _ := s.live["west"].Live.Body(inventory.Key(owner, westEast))
	backup := inventory.Key(owner, westEast)
	backup.Name += "-backup"
	instead := inventory.Key(owner, object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}})
	for _, k := range []object.Key{backup, instead} {
		record(&s.live["west"].Live, k, object.Record{UID: "copy", ResourceVersion: "1", Mark: object.Ours})
		show(&s.live["west"].Live, k, body)
	}
	remove(s.live["west"], deployment("east"))
	step := s.settle()["west"]
	if step.Denied != nil || s.live["west"].Live.Record(deployment("east")).IsZero() {
		t.Errorf("the cluster: %v, %v", step.Denied, statuses(step))
	}
	north := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}
	if got := row(t, step, north); got.Phase != Blocked || got.Why.Code != reason.ObjectExists || !strings.Contains(got.Why.Message, "a copy of another inventory: delete it") {
		t.Errorf("the end whose inventory it took the place of: %s %v", got.Phase, got.Why)
	}
	remove(s.live["west"], instead)
	allInPlace(t, "west", s.settle()["west"])
}

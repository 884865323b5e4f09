package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// rename gives a cluster of the sim another name, with all that lies in it.
func rename(t *testing.T, s *sim, from, to api.ClusterName, links string) {
	t.Helper()
	uid := s.now().Clusters[from].Facts.UID
	var names []api.ClusterName
	for _, c := range s.snapshot.Fleet.Clusters {
		s.snapshot.UIDs[c.Name] = s.now().Clusters[c.Name].Facts.UID
		if c.Name == from {
			c.Name = to
		}
		names = append(names, c.Name)
	}
	s.live[to] = s.live[from]
	s.snapshot.Fleet = declare(t, names, links)
	s.snapshot.Departed = append(s.snapshot.Departed, fleet.Cluster{Name: from, Spec: api.Cluster{}.WithDefaults()})
	s.snapshot.Accepted = map[api.ClusterName]string{to: uid}
}

// unready holds a Deployment of a cluster back, until it is told otherwise.
func unready(s *sim, k object.Key) (ready func()) {
	done := false
	s.controllers = append(s.controllers, func(current *state.Cluster) {
		if r := current.Live.Record(k); !r.IsZero() {
			r.Health = object.Health{}
			if !done {
				r.Health = halfway()
			}
			record(&current.Live, k, r)
		}
	})
	return func() {
		done = true
		playReady(s)
	}
}

// secondDoc declares a second name.
func secondDoc(name, of, more string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s}\nspec: {sameAs: %s%s}\n", api.GroupVersion, name, of, more)
}

// twoNames is west with links to both names of east, of which the second one has no gateway.
func twoNames(t *testing.T) *sim {
	t.Helper()
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)+bySecond()), two...)
	last := s.settle()
	for _, c := range two {
		allInPlace(t, c, last[c])
	}
	return s
}

// bySecond declares that name, and a link to it.
func bySecond() string {
	return secondDoc("east-flat", "east", ", gateway: {enabled: false}") + linkDoc("west", "east-flat", "  remoteDiscoverySelector: {}\n")
}

var westFlat = object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east-flat"}}

// A second name has links, inventories and gateway of its own, and shares the account in the cluster.
func TestSecondName(t *testing.T) {
	s := twoNames(t)
	flat := object.End{Cluster: "east", Link: westFlat.Link}
	for _, k := range []object.Key{linkKey("east"), linkKey("east-flat")} {
		if s.live["west"].Live.Record(k).Mark != object.Ours {
			t.Errorf("%s is not there", k)
		}
	}
	spec := string(bodyOf(s.live["west"].Live, linkKey("east-flat")).Bytes())
	if strings.Contains(spec, "gatewayAddress") || !strings.Contains(string(bodyOf(s.live["west"].Live, linkKey("east")).Bytes()), "gatewayAddress") {
		t.Errorf("the gateway of the second name: %s", spec)
	}
	all := inventories(t, s.live["east"].Live)
	if !slices.Equal(all[flat].Entries, all[object.End{Cluster: "east", Link: westEast.Link}].Entries) {
		t.Errorf("the ends in east hold %v", all)
	}
	base := all[object.End{Cluster: "east"}]
	if !slices.Equal(base.Names, []api.ClusterName{"east-flat"}) {
		t.Errorf("the base names %v", base.Names)
	}
}

// A link by one name goes, and nothing of the other's is touched; with the last one the account goes.
func TestSecondNameIsUnlinked(t *testing.T) {
	for first, second := range map[api.Pair]string{westEast.Link: bySecond(), westFlat.Link: linkDoc("west", "east", all)} {
		s := twoNames(t)
		s.snapshot.Fleet = declare(t, two, second)
		last, _ := s.settled()
		for _, c := range two {
			allInPlace(t, c, last[c])
		}
		if !s.live["west"].Live.Record(linkKey(string(first.Target))).IsZero() || s.live["east"].Live.Record(access).Mark != object.Ours {
			t.Errorf("after the link %s went: %v, %v", first, s.names("west"), s.names("east"))
		}
		s.snapshot.Fleet = declare(t, two, "")
		s.settle()
		for _, c := range two {
			same(t, string(c), []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(c))
		}
	}
}

// The target of a link by a name that is no longer declared is asked as any other: while it cannot be read, its guards are not known.
func TestSecondNameIsDropped(t *testing.T) {
	s := twoNames(t)
	kept := s.live["east"].Live.Record(access)
	kept.PruneDisabled = true
	record(&s.live["east"].Live, access, kept)
	s.snapshot.Fleet = declare(t, two, "")
	last, taken := s.settled()
	same(t, "taken, though the account is to be kept", nil, taken)
	if got := row(t, last["west"], westFlat); got.Phase != Denied || got.Other != "east" {
		t.Errorf("%s of %s: %v", got.Phase, got.Other, got.Why)
	}
}

// So it is if the cluster is no longer declared, either.
func TestSecondNameOfADepartedCluster(t *testing.T) {
	s := twoNames(t)
	s.snapshot.Departed = slices.Clone(s.snapshot.Fleet.Clusters[:1])
	if s.snapshot.Departed[0].Name != "east" {
		t.Fatal(s.snapshot.Departed[0].Name)
	}
	s.snapshot.UIDs["east"] = "east-kube-system"
	s.snapshot.Fleet = declare(t, []api.ClusterName{"west"}, "")
	if got := row(t, s.reconcile("west"), westFlat); !got.Leaving || got.Other != "east" {
		t.Errorf("%s of %s: %v", got.Phase, got.Other, got.Why)
	}
	s.settle()
	same(t, "east", []string{"Namespace linkwright-access"}, s.names("east"))
}

// promoted drops a cluster's name, gives its access to the second one, and declares links.
func promoted(t *testing.T, s *sim, former, now api.ClusterName, links string) {
	t.Helper()
	rename(t, s, former, now, links)
	s.snapshot.Accepted = nil
}

// A target gets its second name for good: the link by that name goes on, untouched.
func TestSecondNameIsPromoted(t *testing.T) {
	s := twoNames(t)
	before := bodyOf(s.live["west"].Live, linkKey("east-flat"))
	kept := s.live["west"].Live.Record(deployment("east-flat")).UID
	s.snapshot.Fleet = declare(t, two, bySecond())
	s.settle() // clients have moved
	promoted(t, s, "east", "east-flat", linkDoc("west", "east-flat", "  remoteDiscoverySelector: {}\n  selector: {}\n"))
	last, taken := s.settled()
	same(t, "taken", nil, taken)
	for _, c := range []api.ClusterName{"east-flat", "west"} {
		allInPlace(t, c, last[c])
	}
	if s.live["west"].Live.Record(deployment("east-flat")).UID != kept || before.IsZero() {
		t.Error("the controller was made anew")
	}
	if !last["east"].Left() {
		t.Errorf("the former name cannot be forgotten: %v", statuses(last["east"]))
	}
}

// A source gets its second name for good: what its controllers need stays, and its former account goes once the new one is in use.
func TestPromotedSource(t *testing.T) {
	s := newSim(t, declare(t, two, secondDoc("sunset", "west", "")+linkDoc("west", "east", all)), two...)
	s.settle()
	ready := unready(s, deployment("east"))
	s.settle()
	before := s.live["west"].Live
	promoted(t, s, "west", "sunset", linkDoc("sunset", "east", all))
	_, taken := s.settled()
	same(t, "taken before it is ready", nil, taken)
	ready()
	var last map[api.ClusterName]Step
	last, taken = s.settled()
	for _, c := range []api.ClusterName{"east", "sunset"} {
		allInPlace(t, c, last[c])
	}
	for _, k := range taken {
		if strings.HasPrefix(k, "west: ") || strings.HasPrefix(k, "sunset: ") {
			t.Errorf("%s, of a link that goes on", k)
		}
	}
	for k := range before.Records() {
		if s.live["west"].Live.Record(k).IsZero() && k != inventory.Key(owner, westEast) {
			t.Errorf("%s is gone", k)
		}
	}
	if !s.live["east"].Live.Record(access).IsZero() || !last["west"].Left() {
		t.Errorf("the former access is left, or the former name cannot be forgotten: %v", statuses(last["west"]))
	}
}

// Both names may change their places: the former one is the second one then.
func TestNamesChangePlaces(t *testing.T) {
	s := twoNames(t)
	promoted(t, s, "east", "east-flat", secondDoc("east", "east-flat", "")+linkDoc("west", "east", all)+linkDoc("west", "east-flat", "  remoteDiscoverySelector: {}\n  selector: {}\n"))
	s.snapshot.Departed = nil
	last, taken := s.settled()
	same(t, "taken", nil, taken)
	for _, c := range []api.ClusterName{"east-flat", "west"} {
		allInPlace(t, c, last[c])
	}
}

// So may the names of a source: its controllers go on.
func TestNamesOfASourceChangePlaces(t *testing.T) {
	s := newSim(t, declare(t, two, secondDoc("sunset", "west", "")+linkDoc("west", "east", all)), two...)
	s.settle()
	promoted(t, s, "west", "sunset", secondDoc("west", "sunset", "")+linkDoc("sunset", "east", all))
	s.snapshot.Departed = nil
	last, taken := s.settled()
	for _, c := range []api.ClusterName{"east", "sunset"} {
		allInPlace(t, c, last[c])
	}
	if slices.ContainsFunc(taken, func(k string) bool { return !strings.HasPrefix(k, "east: ") }) || !s.live["east"].Live.Record(access).IsZero() {
		t.Errorf("taken: %v", taken)
	}
}

// A name that was no second one is refused, until people accept it: then the former links go, and new ones are made.
func TestOtherNameIsRefused(t *testing.T) {
	s := linked(t, all)
	promoted(t, s, "east", "orient", linkDoc("west", "orient", all))
	last, taken := s.settled()
	same(t, "taken", nil, taken)
	for _, name := range []api.ClusterName{"east", "orient"} {
		if why := last[name].Denied; why == nil || why.Code != reason.DuplicateCluster || !strings.Contains(why.Message, "accept cluster orient=east-kube-system") {
			t.Errorf("%s: %v", name, why)
		}
	}
	s.snapshot.Accepted = map[api.ClusterName]string{"orient": "east-kube-system"}
	last, _ = s.settled()
	for _, c := range []api.ClusterName{"orient", "west"} {
		allInPlace(t, c, last[c])
	}
	for _, k := range s.names("west") {
		if strings.HasSuffix(k, "-east") || strings.HasSuffix(k, "/east") || strings.HasSuffix(k, "west.east") {
			t.Errorf("%s is left in the source", k)
		}
	}
}

// Another token of a link to a second name is asked for in the cluster, and a suspended cluster suspends such links, too.
func TestDecisionsAboutSecondNames(t *testing.T) {
	s := twoNames(t)
	l, _ := s.snapshot.Fleet.Link(westFlat.Link)
	if rotation := RequestRotations(s.now(), []fleet.Link{l}, false)[0]; rotation.Denied != nil || rotation.Change.End != (object.End{Cluster: "east", Link: westFlat.Link}) {
		t.Errorf("a rotation writes %s: %v", rotation.Change.End, rotation.Denied)
	}
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", suspend: true"}, linkDoc("west", "east", all))
	s.snapshot.Fleet.Commit = "without the second name"
	last, taken := s.settled(Suspend)
	same(t, "taken", nil, taken)
	if got := row(t, last["west"], westFlat); got.Phase != Suspended || !got.Leaving {
		t.Errorf("the link to the second name is %s: %v", got.Phase, got.Why)
	}
}

// The account of a link by a second name alone is found again after its inventory was lost.
func TestLostInventoryOfASecondName(t *testing.T) {
	s := twoNames(t)
	s.snapshot.Fleet = declare(t, two, bySecond())
	s.settle()
	intact(t, s, func() { wipe(s, "east"); wipe(s, "west") })
}

// Whether an inventory names the former name of a cluster is reported by its own name: of others not even the content matters.
func TestHandedOverByNames(t *testing.T) {
	for name, done := range map[string]bool{"linkwright.a.b": true, "linkwright.gone.b": false, "linkwright.a.gone": false} {
		w := linked(t, "").now()
		east := w.Clusters["east"]
		k := object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: name}
		put(&east, k, nil, metav1.ObjectMeta{})
		record(&east.Live, k, object.Record{UID: "broken", ResourceVersion: "1", Mark: object.Ours})
		w.Clusters["east"] = east
		if why := (formerName{newCluster(w, "gone", nil, nil)}).mentions(); (why == nil) != done {
			t.Errorf("with an unreadable %s: %v", name, why)
		}
	}
}

// Declarations without a commit, from a directory: the base has the new name nevertheless.
func TestRenamedWithoutCommit(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet.Commit = ""
	s.settle()
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", ""))
	s.snapshot.Fleet.Commit = ""
	s.settle()
	if _, named := inventories(t, s.live["newwest"].Live)[object.End{Cluster: "newwest"}]; !named {
		t.Error("the base has the former name")
	}
}

// A renamed cluster whose link is not declared by its new name is unlinked in order.
func TestRenamedAndUnlinked(t *testing.T) {
	for _, from := range two {
		s := linked(t, all)
		rename(t, s, from, "new", "")
		last, _ := s.settled()
		for _, c := range two {
			same(t, string(c)+" when "+string(from)+" is renamed",
				[]string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(c))
		}
		if !last[from].Left() {
			t.Errorf("the former name %s cannot be forgotten: %v", from, statuses(last[from]))
		}
	}
}

// A renamed source whose link is the user's chart's from the same commit on: the controller is given up, as where the name stays,
// and not taken away before any other runs (seed 9104993).
func TestRenamedSourceExternal(t *testing.T) {
	s := linked(t, all)
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", all+"  controller: {mode: External}\n"))
	last, taken := s.settled()
	for _, k := range taken {
		if strings.Contains(k, "controller-east") && strings.Contains(k, "delete") {
			t.Errorf("%s, which the chart is to run", k)
		}
	}
	if r := s.live["newwest"].Live.Record(deployment("east")); r.IsZero() || r.Mark == object.Ours {
		t.Errorf("the controller is not given up: %+v", r)
	}
	allInPlace(t, "newwest", last["newwest"])
}

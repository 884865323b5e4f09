package plan

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// rename gives a cluster of the sim another name, with all that lies in it.
func rename(t *testing.T, s *sim, from, to api.ClusterName, links string) {
	t.Helper()
	uid := s.now().Sides[from].Facts.UID
	var names []api.ClusterName
	for _, c := range s.world.Fleet.Clusters {
		s.world.UIDs[c.Name] = s.now().Sides[c.Name].Facts.UID
		if c.Name == from {
			c.Name = to
		}
		names = append(names, c.Name)
	}
	s.live[to] = s.live[from]
	s.world.Fleet = declare(t, names, links)
	s.world.Departed = append(s.world.Departed, fleet.Cluster{Name: from, Spec: api.Cluster{}.WithDefaults()})
	s.world.Accepted = map[api.ClusterName]string{to: uid}
}

// unready holds a Deployment of a cluster back, until it is told otherwise.
func unready(s *sim, k object.Key) (ready func()) {
	done := false
	s.play = append(s.play, func(side *pair.Side) {
		if r := side.Seen.Record(k); !r.IsZero() {
			r.Health = object.Health{}
			if !done {
				r.Health = halfway()
			}
			record(&side.Seen, k, r)
		}
	})
	return func() {
		done = true
		playReady(s)
	}
}

// A renamed source: keys are handed over between inventories, and its former account stays until the link goes by the new.
func TestRenamedSource(t *testing.T) {
	s := linked(t, all)
	ready := unready(s, deployment("east"))
	s.settle() // the link's own controller is not ready now
	before := s.live["west"].Seen
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", all))
	last, taken := s.settled()
	same(t, "taken before it is ready", nil, taken)
	if got := row(t, last["east"], object.End{Cluster: "east", Link: westEast.Link}); got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor {
		t.Errorf("the former access is %s: %v", got.Standing, got.Why)
	}
	if s.live["east"].Seen.Record(access).IsZero() || last["west"].Left() {
		t.Error("the former access is gone, or the former name forgotten")
	}
	ready()
	last, taken = s.settled()
	for c, step := range last {
		if c != "west" {
			allInPlace(t, c, step)
		}
	}
	for _, k := range taken {
		if strings.HasPrefix(k, "west: ") || strings.HasPrefix(k, "newwest: ") {
			t.Errorf("%s, of a link that goes on", k)
		}
	}
	for k := range before.Records() {
		if s.live["west"].Seen.Record(k).IsZero() && k != inventory.Key(owner, westEast) {
			t.Errorf("%s is gone from the renamed cluster", k)
		}
	}
	if !s.live["east"].Seen.Record(access).IsZero() || !s.live["west"].Seen.Record(inventory.Key(owner, westEast)).IsZero() {
		t.Error("the former access or inventory is left")
	}
	if !last["west"].Left() {
		t.Errorf("the former name cannot be forgotten: %v", standings(last["west"]))
	}
	base := inventories(t, s.live["newwest"].Seen)[object.End{Cluster: "newwest"}]
	if base.Commit != s.world.Fleet.Commit {
		t.Errorf("the base is not of the new name: %+v", base)
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
	if r := s.live["newwest"].Seen.Record(deployment("east")); r.IsZero() || r.Mark == object.Ours {
		t.Errorf("the controller is not given up: %+v", r)
	}
	allInPlace(t, "newwest", last["newwest"])
}

// Where what takes its place is suspended, the report says so: nothing would come of waiting. It says what else people may do, and
// that is so.
func TestSuccessorSuspended(t *testing.T) {
	s := linked(t, all)
	rename(t, s, "east", "neweast", linkDoc("west", "neweast", all+suspended))
	last := s.settle(Suspend)
	link := linkerd.LinkKey(api.Cluster{}.WithDefaults().Linkerd, "east")
	if s.live["west"].Seen.Record(link).IsZero() {
		t.Error("the former link is gone")
	}
	got := row(t, last["west"], westEast)
	for _, says := range []string{"suspended by Link west-neweast", "as it was before, or take that link out"} {
		if got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor || !strings.Contains(got.Why.Message, says) {
			t.Errorf("the former link is %s, and does not tell %q: %v", got.Standing, says, got.Why)
		}
	}
	s.world.Fleet = declare(t, []api.ClusterName{"west", "neweast"}, "")
	if s.settle(Suspend); !s.live["west"].Seen.Record(link).IsZero() {
		t.Error("the link was taken out, and what it was to replace stays")
	}
}

// A renamed target: the link by its former name stays in the source until the new one is ready, and then is unlinked,
// mirrors included; the account, which both use, is handed over.
func TestRenamedTarget(t *testing.T) {
	s := linked(t, all)
	rename(t, s, "east", "neweast", linkDoc("west", "neweast", all))
	ready := unready(s, deployment("neweast"))
	last, taken := s.settled()
	same(t, "taken before the new link is ready", nil, taken)
	if got := row(t, last["west"], westEast); got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor || !got.Leaving {
		t.Errorf("the former link is %s: %v", got.Standing, got.Why)
	}
	s.world.Accepted = nil // it started anew, without the flag: the base has the new name
	ready()
	last, _ = s.settled()
	for _, c := range []api.ClusterName{"neweast", "west"} {
		allInPlace(t, c, last[c])
	}
	if s.live["east"].Seen.Record(access).Mark != object.Ours {
		t.Error("the account that the new link uses is gone")
	}
	for _, k := range s.names("west") {
		if strings.HasSuffix(k, "-east") || strings.HasSuffix(k, "/east") || strings.HasSuffix(k, "west.east") {
			t.Errorf("%s is left in the source", k)
		}
	}
	if !last["east"].Left() {
		t.Errorf("the former name cannot be forgotten: %v", standings(last["east"]))
	}
}

// A federated Service that has no member but that of a target's former name would be made anew: it is waited for until the
// link by the new name, which makes members of the same services, has joined it.
func TestRenamedTargetOfTheOnlyMember(t *testing.T) {
	federate := func(label string) string {
		return "  federatedServiceSelector: {matchLabels: {" + label + ": member}}\n"
	}
	const shared = "mirror.linkerd.io/federated"
	for _, tt := range []struct {
		name, declared, members string
		waits                   bool
	}{
		{"of the former alone", federate(shared), "web@east", true},
		{"joined by the new one", federate(shared), "web@east,web@neweast", false},
		{"shared with another", federate(shared), "web@east,web@north", false},
		{"which the new one does not select", federate("other"), "web@east", false},
		{"which the new one does not make", "", "web@east", false},
	} {
		s := linked(t, federate(shared))
		put(s.live["west"], object.Key{Kind: "Service", Namespace: "default", Name: "web-federated"}, nil, metav1.ObjectMeta{
			Labels:      map[string]string{linkerd.MirroredLabel: "true"},
			Annotations: map[string]string{linkerd.RemoteDiscovery: tt.members},
		})
		rename(t, s, "east", "neweast", linkDoc("west", "neweast", tt.declared))
		last, taken := s.settled()
		waits := slices.ContainsFunc(last["west"].Rows, func(r Row) bool {
			return r.End == westEast && r.Standing == Waiting && strings.Contains(r.Why.Message, "has no member of it yet")
		})
		if waits != tt.waits || waits && len(taken) > 0 {
			t.Errorf("%s: %v, and went %v", tt.name, standings(last["west"]), taken)
		}
	}
}

// Declarations without a commit, from a directory: the base has the new name nevertheless.
func TestRenamedWithoutCommit(t *testing.T) {
	s := linked(t, "")
	s.world.Fleet.Commit = ""
	s.settle()
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", ""))
	s.world.Fleet.Commit = ""
	s.settle()
	if _, named := inventories(t, s.live["newwest"].Seen)[object.End{Cluster: "newwest"}]; !named {
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
			t.Errorf("the former name %s cannot be forgotten: %v", from, standings(last[from]))
		}
	}
}

// While the new end is held, nothing of the former one goes, even where nobody remembers the former name.
func TestRenamedAndHeld(t *testing.T) {
	for _, remembered := range []bool{true, false} {
		s := linked(t, all)
		rename(t, s, "west", "newwest", linkDoc("newwest", "east", all))
		if !remembered {
			s.world.Departed = nil
			delete(s.world.UIDs, "west")
		}
		s.down["east"] = true
		_, taken := s.settled()
		same(t, "taken while the new end is held", nil, taken)
		if s.live["west"].Seen.Record(deployment("east")).IsZero() {
			t.Error("the controller is gone")
		}
	}
}

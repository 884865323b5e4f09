package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// stages are the stages of an unlink, a line each, with how many objects there are of each kind.
func stages(u Unlink) (out []string) {
	for _, s := range u.Stages {
		line := fmt.Sprintf("%s in %s:", s.Kind, s.Cluster)
		n := map[string]int{}
		for _, k := range s.Objects {
			n[k.Kind]++
		}
		for _, kind := range []string{"Deployment", "Link", "Service", "ServiceAccount", "Endpoints", "Lease", "Secret"} {
			if n[kind] > 0 {
				line += fmt.Sprintf(" %d %s", n[kind], kind)
			}
		}
		out = append(out, line)
	}
	return out
}

// onlyUnlink simulates what is declared, and returns the one unlink of it.
func onlyUnlink(t *testing.T, s *sim, policies ...Policy) Unlink {
	t.Helper()
	return unlinkIn(t, s, s.now(), policies...)
}

func unlinkIn(t *testing.T, s *sim, w state.Snapshot, policies ...Policy) Unlink {
	t.Helper()
	_, steps := Simulate(w, s.renderer(), policies...)
	all := Unlinks(w, steps, s.renderer(), policies...)
	if len(all) != 1 || all[0].Link != westEast.Link || all[0].Target != "east" {
		t.Fatalf("unlinks: %+v", all)
	}
	return all[0]
}

const (
	drains     = "EmptySelectors in west: 1 Link"
	rest       = "DeleteObjects in west: 1 Deployment 1 Link 1 Service 1 ServiceAccount 1 Endpoints 1 Lease 2 Secret"
	accessGoes = "DeleteObjects in east: 1 ServiceAccount 1 Secret"
)

// The stages of an unlink are those of its steps, in every order that the gates have.
func TestUnlinks(t *testing.T) {
	tests := []struct {
		name   string
		spec   string // of the link
		policy string
		change func(*sim)
		want   []string
	}{
		{name: "drained", spec: all, want: []string{drains, "RemoveMirrors in west: 3 Service", rest, accessGoes}},
		{name: "without a drain", spec: all, policy: policyDoc("drainDeadline: 0s"), want: []string{
			"DeleteObjects in west: 1 Deployment", "DeleteMirrors in west: 3 Service 1 Endpoints",
			"DeleteObjects in west: 1 Link 1 Service 1 ServiceAccount 1 Endpoints 1 Lease 2 Secret", accessGoes,
		}},
		{name: "no pod runs", spec: all, change: func(s *sim) { remove(s.live["west"], object.Key{Kind: "Pod", Namespace: mc, Name: "controller-east"}) }, want: []string{
			"DeleteObjects in west: 1 Deployment", "DeleteMirrors in west: 3 Service 1 Endpoints",
			"DeleteObjects in west: 1 Link 1 Service 1 ServiceAccount 1 Endpoints 1 Lease 2 Secret", accessGoes,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := linked(t, tt.spec)
			s.controllers = nil
			if tt.change != nil {
				tt.change(s)
			}
			s.snapshot.Fleet = declare(t, two, tt.policy)
			u := onlyUnlink(t, s)
			same(t, "stages", tt.want, stages(u))
			if u.Begun || u.Stopped != nil || u.Waiting != nil || !u.Known || len(u.Services) != 2 || u.Serving != 1 || len(u.Federated) != 1 {
				t.Errorf("unlink: %+v", u)
			}
		})
	}
}

// Links that are declared are no unlinks.
func TestNoUnlinks(t *testing.T) {
	s := linked(t, all)
	w := s.now()
	_, steps := Simulate(w, s.renderer())
	if got := Unlinks(w, steps, s.renderer()); len(got) > 0 {
		t.Errorf("unlinks of declared links: %+v", got)
	}
}

// What a limit denies has the stages that an approval allows; what another guard denies has none.
func TestUnlinksDenied(t *testing.T) {
	s := linked(t, all)
	s.controllers = nil
	s.snapshot.Fleet = declare(t, two, policyDoc("maxLinks: 0%, minAllowed: 0"))
	u := onlyUnlink(t, s)
	if !u.NeedsApproval() || u.Waiting != nil {
		t.Errorf("over a limit: %v, waiting %v", u.Stopped, u.Waiting)
	}
	same(t, "stages after an approval", []string{drains, "RemoveMirrors in west: 3 Service", rest, accessGoes}, stages(u))

	kept := s.live["east"].Live.Record(access)
	kept.PruneDisabled = true
	record(&s.live["east"].Live, access, kept)
	if u = onlyUnlink(t, s); !u.NeedsApproval() || len(u.Stages) > 0 || u.Waiting == nil || u.Waiting.Code != reason.PruneDisabled {
		t.Errorf("over a limit, and protected: %v, waiting %v", u.Stopped, u.Waiting)
	}
	kept.PruneDisabled = false
	record(&s.live["east"].Live, access, kept)

	s.snapshot.Fleet = declare(t, two, policyDoc("policy: UpsertOnly"))
	if u = onlyUnlink(t, s, PrunePolicy); u.Stopped == nil || u.Stopped.Code != reason.PrunePolicy || len(u.Stages) > 0 || len(u.Services) != 2 {
		t.Errorf("UpsertOnly: %+v", u)
	}
}

// An unlink that began waits for its drain, and a source that is not read has unknown mirrors.
func TestUnlinksThatWait(t *testing.T) {
	s := stuck(t)
	s.settle()
	if u := onlyUnlink(t, s); !u.Begun || u.Waiting == nil || u.Waiting.Code != reason.Draining || len(u.Stages) > 0 || len(u.Services) != 2 {
		t.Errorf("while it drains: %+v", u)
	}
	s.down["west"] = true
	if u := onlyUnlink(t, s); u.Known || u.Unread == nil || u.Waiting == nil || u.Waiting.Code != reason.WaitingForSource || len(u.Stages) > 0 {
		t.Errorf("while west is down: %+v", u)
	}
}

// What stops only the target's end does not stop an unlink that began: the source goes on, and the target waits after that.
func TestUnlinksThatGoOn(t *testing.T) {
	s := stuck(t)
	s.settle()
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", suspend: true"}, "")
	if u := onlyUnlink(t, s, Suspend); !u.Begun || u.Stopped != nil || u.Waiting == nil || u.Waiting.Code != reason.Draining {
		t.Errorf("while it drains: %+v, stopped %v, waiting %v", u, u.Stopped, u.Waiting)
	}
	s.later(10 * time.Minute)
	if u := onlyUnlink(t, s, Suspend); !u.Begun || u.Stopped != nil || u.Waiting == nil || u.Waiting.Code != reason.Suspended || len(u.Stages) == 0 {
		t.Errorf("after the deadline: %+v, stopped %v, waiting %v", u, u.Stopped, u.Waiting)
	}
	s.down["west"] = true
	if u := onlyUnlink(t, s, Suspend); !u.Begun || len(u.Stages) > 0 {
		t.Errorf("as only the target's inventory has it: %+v", u)
	}
}

// An end in a cluster that cannot be read stays, which is said although nothing stops the other end.
func TestUnlinksThatLeaveAnEnd(t *testing.T) {
	s := linked(t, all)
	s.controllers = nil
	s.snapshot.Fleet = declare(t, two, "")
	s.down["east"] = true
	u := onlyUnlink(t, s)
	const want = "linkwright cannot read cluster east: what the link has there stays until it can"
	if len(u.Stages) == 0 || u.Stopped != nil || u.Waiting == nil || u.Waiting.Code != reason.Unreachable || u.Waiting.Message != want {
		t.Errorf("the target is down: %+v, waiting %v", u, u.Waiting)
	}
}

// Without any cluster, a simulated controller drains, and nobody knows its mirrors.
func TestUnlinksOfSimulatedClusters(t *testing.T) {
	s := linked(t, "")
	w := s.now()
	for name, c := range w.Clusters {
		c.Reading = state.Simulated
		edit := c.Live.Edit()
		for _, k := range slices.Collect(keysOfKinds(c, "Pod", "Lease", "Endpoints")) {
			edit.Drop(k)
		}
		edit.Drop(object.Key{Kind: "Service", Namespace: "shop", Name: "web-east"})
		c.Live = edit.Observation()
		w.Clusters[name] = c
	}
	w.Fleet = declare(t, two, "")
	u := unlinkIn(t, s, WithControllers(w))
	same(t, "stages", []string{
		drains, "RemoveMirrors in west:", "DeleteObjects in west: 1 Deployment 1 Link 1 Service 1 ServiceAccount 1 Secret", accessGoes,
	}, stages(u))
	if u.Known || u.Unread != nil || u.Deadline != 5*time.Minute {
		t.Errorf("unlink: %+v", u)
	}
}

func keysOfKinds(c state.Cluster, kinds ...string) func(func(object.Key) bool) {
	return func(yield func(object.Key) bool) {
		for k := range c.Live.Records() {
			if slices.Contains(kinds, k.Kind) && !yield(k) {
				return
			}
		}
	}
}

// New selectors that choose less say which mirrors go; others are no narrowing.
func TestNarrowings(t *testing.T) {
	s := linked(t, all)
	s.controllers = nil
	for _, tt := range []struct {
		name, spec string
		want       []string
	}{
		{"the same", all, nil},
		{"more", all + "  selector: {matchExpressions: [{key: mirror.linkerd.io/exported, operator: Exists}]}\n", nil},
		{"less", "", []string{"Service shop/db-east", "Service shop/web-federated"}},
	} {
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", tt.spec))
		w := s.now()
		_, steps := Simulate(w, s.renderer())
		var got []string
		for _, n := range Narrowings(w, steps) {
			if n.Link != (api.Pair{Source: "west", Target: "east"}) || !n.Known || len(n.Services) != 2 {
				t.Errorf("%s: %+v", tt.name, n)
			}
			for _, k := range n.Lost {
				got = append(got, k.String())
			}
		}
		same(t, tt.name, tt.want, got)
	}
}

// A link is new until something of it is recorded. All selectors that it gets in the end are named, also those that wait for a Secret.
func TestNewLinks(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	w := s.now()
	w.IssuedCredentials = map[api.Pair]linkerd.Credential{westEast.Link: {Token: object.NewSecret([]byte("stand-in")), Fingerprint: "print"}}
	_, steps := Simulate(w, s.renderer())
	want := NewLink{westEast.Link, linkerd.Chosen{
		Mirrored: "mirror.linkerd.io/exported=true", Discovered: "mirror.linkerd.io/exported=remote-discovery", Federated: "mirror.linkerd.io/federated=member",
	}}
	if got := NewLinks(w, steps); len(got) != 1 || got[0] != want {
		t.Errorf("new links: %+v", got)
	}
	s.settle()
	remove(s.live["west"], linkKey("east"))
	w = s.now()
	_, steps = Simulate(w, s.renderer())
	if got := NewLinks(w, steps); len(got) > 0 {
		t.Errorf("a link that lost its Linkerd Link: %+v", got)
	}
}

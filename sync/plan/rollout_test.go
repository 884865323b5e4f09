package plan

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

const aRollout = "\n---\napiVersion: linkwright.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: all}\nspec: {clusters: {}, rollout: {}}\n"

// Nothing restarts where linkwright's account is not confined, where somebody paused restarts, and where the base is not as declared. A cluster that
// cannot be read has a rollout, too: others wait for it.
func TestRolloutHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *sim)
		want   reason.Code
	}{
		"as declared":  {func(*sim) {}, ""},
		"not confined": {func(s *sim) { s.live["west"].Gap = "policies are missing" }, reason.NotConfined},
		"no policy could confine the account": {func(s *sim) {
			s.live["west"].Gap, s.live["west"].NotServiceAccount = "no ServiceAccount", true
		}, ""},
		"paused": {func(s *sim) {
			key := inventory.Key(owner, object.End{})
			r := s.live["west"].Live.Record(key)
			r.RolloutPaused = true
			body, _ := s.live["west"].Live.Body(key)
			e := s.live["west"].Live.Edit()
			e.Put(key, r, body)
			s.live["west"].Live = e.Observation()
		}, reason.RolloutPaused},
		"unreachable": {func(s *sim) { s.down["west"] = true }, reason.Unreachable},
	} {
		s := newSim(t, declare(t, two, linkDoc("west", "east", "")+aRollout), two...)
		s.settle()
		tt.change(s)
		r := Next(s.now(), "west", s.renderer()).Rollout
		if r == nil || r.Declared.From != "ProxyConfig all" {
			t.Errorf("%s: rollout %+v", name, r)
			continue
		}
		if got := r.Hold; (got == nil) != (tt.want == "") || got != nil && got.Code != tt.want {
			t.Errorf("%s: held by %v, want %q", name, got, tt.want)
		}
	}
	if r := Next(linked(t, "").now(), "west", linked(t, "").renderer()).Rollout; r != nil {
		t.Errorf("nothing is declared: rollout %+v", r)
	}
}

// A cluster without links has a base if a rollout is declared, because the base keeps its progress.
func TestRolloutHasBase(t *testing.T) {
	for more, want := range map[string]bool{"": false, aRollout: true} {
		s := newSim(t, declare(t, two, more), two...)
		s.settle()
		if found := !s.live["west"].Live.Record(inventory.Key(owner, object.End{})).IsZero(); found != want {
			t.Errorf("%q: the base is there: %t, want %t", more, found, want)
		}
	}
}

// What the injector reads is not known while its ConfigMap is hidden: that is no other configuration.
func TestRolloutOfHiddenInputs(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", "")+aRollout), two...)
	s.settle()
	known := Next(s.now(), "west", s.renderer()).Rollout
	s.forbidReading("west", linkerd.ConfigKey(api.Linkerd{Namespace: cp}))
	if r := Next(s.now(), "west", s.renderer()).Rollout; known.Inputs == "" || r.Inputs != "" || r.Hold == nil || !r.Untouched {
		t.Errorf("known %+v, hidden %+v", known, r)
	}
}

package plan

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// What Helm was told to leave is told so again when it is made anew, whenever the process dies: before the write that replaces it,
// between delete and create, between create and the word of it, and before that is struck off.
func TestHelmKeepsWhatIsMadeAnew(t *testing.T) {
	key := deployment("east")
	kept := func(s *sim) []object.Key {
		inv, _ := inventory.Of(owner, westEast, s.live["west"].Seen)
		return inv.Kept
	}
	says := func(s *sim) bool { return s.live["west"].Seen.Record(key).HelmKeeps }
	for name, dies := range map[string]func(s *sim, c object.Change){
		"never": func(s *sim, c object.Change) {
			*s.live["west"] = After(*s.live["west"], Step{Changes: []object.Change{c}})
			if !says(s) {
				t.Error("a replacement loses what Helm was told")
			}
		},
		"before": func(*sim, object.Change) {},
		"after its delete": func(s *sim, c object.Change) {
			*s.live["west"] = After(*s.live["west"], Step{Changes: []object.Change{{Action: object.Delete, Key: c.Key}}})
		},
		"after its create": func(s *sim, c object.Change) {
			c.HelmKeep = false
			*s.live["west"] = After(*s.live["west"], Step{Changes: []object.Change{c}})
		},
	} {
		s := linked(t, "")
		s.world.Fleet = declare(t, two, linkDoc("west", "east", "")+syncDoc("replace: [{kind: Deployment}]"))
		s.settle()
		atRest := Cluster(s.now(), "west", s.renderer())
		drifted(s, "west", key)
		r := s.live["west"].Seen.Record(key)
		r.HelmKeeps = true
		record(&s.live["west"].Seen, key, r)
		digest := Cluster(s.now(), "west", s.renderer()).Changes[0].Object.Digest
		s.world.Immutable = map[api.ClusterName]map[object.Key]Refusal{"west": {key: {object.Refusal{Field: "spec.selector"}, digest, r}}}
		step := Cluster(s.now(), "west", s.renderer())
		at := slices.IndexFunc(step.Changes, func(c object.Change) bool { return c.Action == object.Replace })
		if at < 0 || !step.Changes[at].HelmKeep || len(step.Ahead) == 0 {
			t.Fatalf("%s: %v, want the inventory, and a replacement that tells Helm", name, words(step))
		}
		if d := Drift(s.now(), atRest, []object.End{westEast}, s.renderer()); !d.Whole || d.Writes() > 0 {
			t.Errorf("%s: of the end alone: %v, want nothing, and the whole asked for", name, words(d))
		}
		*s.live["west"] = After(*s.live["west"], Step{Changes: step.Ahead})
		if d := Drift(s.now(), atRest, []object.End{westEast}, s.renderer()); !d.Whole || d.Writes() > 0 {
			t.Errorf("%s: of the end alone, written down: %v, want nothing, and the whole asked for", name, words(d))
		}
		if got := kept(s); !slices.Equal(got, []object.Key{key}) {
			t.Errorf("%s: written down ahead is %v", name, got)
		}
		dies(s, step.Changes[at])
		s.settle()
		if !says(s) || len(kept(s)) > 0 {
			t.Errorf("%s: in the end Helm is told: %t, written down: %v", name, says(s), kept(s))
		}
	}
}

package plan

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// At every moment of linking and unlinking, the step depends on values alone: maps filled in another
// order give the same one, and no input is changed.
func TestNextIsPure(t *testing.T) {
	three := []api.ClusterName{"east", "north", "west"}
	links := linkDoc("west", "east", all) + linkDoc("east", "west", "") + linkDoc("west", "north", all)
	s := newSim(t, declare(t, three, links), three...)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	turns := func() {
		for range 12 {
			for _, c := range three {
				w := s.now()
				before := clone(w, nil)
				first := Next(w, c, s.renderer(), PrunePolicy)
				if !reflect.DeepEqual(before, w) {
					t.Fatalf("seed %d: Next(%s) changed its input", seed, c)
				}
				again := Next(clone(w, random), c, s.renderer(), PrunePolicy)
				if !reflect.DeepEqual(first, again) {
					t.Fatalf("seed %d: Next(%s) differs with the order of maps:\n%v\n%v", seed, c, describe(first), describe(again))
				}
				s.reconcile(c, PrunePolicy)
			}
		}
	}
	turns()
	s.snapshot.Fleet = declare(t, three, "")
	turns()
	if s.steps < 40 {
		t.Errorf("only %d writes were planned", s.steps)
	}
}

// clone copies all of a snapshot but the fleet, which nothing can change; with random, maps are filled in another order.
func clone(w state.Snapshot, random *rand.Rand) state.Snapshot {
	w.Departed = slices.Clone(w.Departed)
	w.IssuedCredentials = filled(w.IssuedCredentials, random, func(c linkerd.Credential) linkerd.Credential { return c })
	w.UIDs = filled(w.UIDs, random, func(s string) string { return s })
	w.Accepted = filled(w.Accepted, random, func(s string) string { return s })
	w.Clusters = filled(w.Clusters, random, func(s state.Cluster) state.Cluster {
		s.Live, s.Watches = another(s.Live), slices.Clone(s.Watches)
		s.Facts.Missing = slices.Clone(s.Facts.Missing)
		s.Facts.Gateway.Addresses = slices.Clone(s.Facts.Gateway.Addresses)
		return s
	})
	return w
}

// another shares nothing with what it is of.
func another(observed object.Observation) object.Observation {
	e := object.Observation{Unserved: slices.Clone(observed.Unserved)}.Edit()
	for k, r := range observed.Records() {
		e.Put(k, r, object.NewBody(slices.Clone(bodyOf(observed, k).Bytes())))
	}
	return e.Observation()
}

func filled[K comparable, V any](m map[K]V, random *rand.Rand, copied func(V) V) map[K]V {
	if m == nil {
		return nil
	}
	keys := slices.Collect(maps.Keys(m))
	if random != nil {
		random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	out := map[K]V{}
	for _, k := range keys {
		out[k] = copied(m[k])
	}
	return out
}

// Whatever part of a cluster is lost at whatever moment, the clusters come to the same rest: no sequence
// of events is special.
func TestConvergesFromAnywhere(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.settle()
	want := map[api.ClusterName][]string{"east": s.names("east"), "west": s.names("west")}
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 1))
		for _, c := range two {
			for k := range s.live[c].Live.Records() {
				if dressed(c, "").Live.Record(k).IsZero() && k.Kind != "Namespace" && random.IntN(4) == 0 {
					remove(s.live[c], k)
				}
			}
		}
		if random.IntN(2) == 0 {
			for range random.IntN(6) {
				s.reconcile(two[random.IntN(2)])
			}
		}
		for c, step := range s.settle() {
			allInPlace(t, c, step)
			same(t, string(c), want[c], s.names(c))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

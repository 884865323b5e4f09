package history

import (
	"math/rand/v2"
	"slices"

	"github.com/linkwright/linkwright/api"
)

// Verbs of events, by who acts.
func commitVerbs() []string {
	return []string{"link", "link", "link", "unlink", "unlink", "mesh", "nomesh", "leave", "stay", "drop", "join", "suspend", "resume", "policy", "empty", "bare", "move", "extra"}
}

// renameVerbs are what commits do besides, in histories of their own: what was played less stays apart.
func renameVerbs() []string { return []string{"rename", "rename", "rename", "rename"} }

func foreignVerbs() []string {
	return []string{
		"unmark", "mark", "edit", "overwrite", "remove", "recreate", "keep", "unkeep", "squat", "squat", "namesake", "local",
		"lose", "restore", "wipe", "hang", "chart", "nochart",
	}
}

func faultVerbs() []string {
	return []string{"down", "down", "up", "late", "idle", "crd", "half", "rebuild", "accept", "lag", "wait", "restart", "grace", "forget", "approve"}
}

// clusterSets are the clusters of a history: names of which one is the other's suffix, or ends as a mirror's does.
func clusterSets() [][]api.ClusterName {
	return [][]api.ClusterName{
		{"east", "west"}, {"east", "us-east"}, {"east", "us-east", "west"}, {"a", "b-a", "east"}, {"east", "north", "us-east", "west"},
	}
}

// least is how many events a history has before it is brought to an end, at least.
const least = 8

// Generate makes a history: which, is the seed's alone.
func Generate(seed uint64) []Event { return generate(seed, nil) }

// GenerateRenames makes a history in which clusters get other names, too.
func GenerateRenames(seed uint64) []Event { return generate(seed, renameVerbs()) }

// GenerateRotations makes a history in which links get other tokens, too.
func GenerateRotations(seed uint64) []Event { return generate(seed, rotationVerbs()) }

func generate(seed uint64, more []string) []Event {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1)), commits: append(commitVerbs(), more...)}
	all := clusterSets()
	world := g.IntN(len(all))
	g.names = all[world]
	events := []Event{{Do: "world", N: world}}
	if g.IntN(3) > 0 { // mostly there is something to lose
		for range 1 + g.IntN(2) {
			events = append(events, g.event("link"))
		}
		events = append(events, Event{Do: "settle"})
	}
	for range least + g.IntN(2*least) {
		events = append(events, g.any())
	}
	return events
}

type generator struct {
	*rand.Rand
	names   []api.ClusterName
	commits []string
}

func (g generator) any() Event {
	switch n := g.IntN(20); {
	case n < 5:
		return g.event(g.one(g.commits))
	case n < 9:
		return g.event(g.one(foreignVerbs()))
	case n < 11:
		return g.event(g.one(faultVerbs()))
	case n < 16:
		return g.faulty(g.one([]string{"pass", "pass", "turn"}))
	case n < 17:
		return g.faulty(g.one([]string{"pass", "turn", "adopt", "release"}))
	}
	return g.faulty("settle")
}

func (g generator) one(of []string) string { return of[g.IntN(len(of))] }

func (g generator) event(do string) Event {
	at := g.IntN(len(g.names))
	to := (at + 1 + g.IntN(len(g.names)-1)) % len(g.names)
	return Event{Do: do, At: g.names[at], To: g.names[to], N: g.IntN(256), M: g.IntN(4)}
}

// faulty is a part of a pass, mostly with a fault.
func (g generator) faulty(do string) Event {
	e := g.event(do)
	e.Fault = g.one([]string{"none", "none", crash, crash, crash, lost, refused, race, race, stall})
	e.K, e.Seed = g.IntN(14), g.Uint64()
	switch e.Fault {
	case race:
		then := g.event(g.one(foreignVerbs()))
		e.Then = &then
	case stall:
		then := g.event(g.one(slices.Concat(g.commits, foreignVerbs())))
		e.Then = &then
	}
	return e
}

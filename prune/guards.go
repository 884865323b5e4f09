package prune

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// guard refuses ends, each with a reason; it sees everything that one commit would take from a cluster.
// An empty or unreadable tree, a tree without a Cluster and a vanished path never get here: they make no fleet.
type guard func(judgement, []taking) map[object.End]*object.Reason

// taking is what one end would lose, gates included. An unlink that began is not among them: it is
// finished, never judged again.
type taking struct {
	end     object.End
	keys    []object.Key // recorded: what would be deleted, and a Link that would be drained
	mirrors []object.Key // of a drained Link
}

func guards() []guard {
	return []guard{
		policyAllows,
		withinLimits,
		noObjectKept,
	}
}

// judgement is what guards ask: what a cluster's ends hold, and what people decided.
type judgement struct {
	holdings
	Rules
}

func (in Input) judgement() judgement { return judgement{newHoldings(in.Live, in.Ends), in.Rules} }

// Judge returns the ends that may not lose anything now; the first guard that refuses an end names the reason.
func Judge(in Input) map[object.End]*object.Reason { return in.judgement().refused() }

func (j judgement) refused() map[object.End]*object.Reason {
	all := j.takings()
	refused := map[object.End]*object.Reason{}
	for _, g := range guards() {
		for end, why := range g(j, all) {
			if refused[end] == nil {
				refused[end] = why
			}
		}
	}
	return refused
}

// takings are what ends would lose that is still to be judged.
func (j judgement) takings() (all []taking) {
	for _, inv := range j.Recorded {
		want, declared := j.Wanted[inv.End]
		if inv.Leaving && !declared || declared && want.Blocked != nil {
			continue
		}
		if t := j.drainedBy(taking{end: inv.End, keys: j.judged(inv)}, want); len(t.keys) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// judged is what of an end guards judge.
func (j judgement) judged(inv inventory.Inventory) []object.Key {
	return slices.DeleteFunc(j.going(inv), func(k object.Key) bool { return j.Retired[k] && !j.Seen.Record(k).Keep })
}

// policyAllows: only Sync takes anything away.
func policyAllows(j judgement, all []taking) map[object.End]*object.Reason {
	if p := j.Policy.Prune.Policy; p == api.UpsertOnly || p == api.CreateOnly {
		return refuseAll(all, object.Because(reason.PrunePolicy, "prune.policy %s of the SyncPolicy does not allow deletes", p))
	}
	return nil
}

// withinLimits: a revision over a limit takes nothing away, in no cluster. What is declared to leave goes all the same.
func withinLimits(j judgement, all []taking) map[object.End]*object.Reason {
	out := map[object.End]*object.Reason{}
	for _, t := range all {
		if j.Removal == nil || j.leaves(t.end) {
			continue
		}
		_, declared := j.Wanted[t.end]
		if why := j.Removal().Denies(t.end, declared); why != nil {
			out[t.end] = why
		}
	}
	return out
}

// leaves reports whether people declared a cluster of the end to leave, and so asked for its removal.
func (r Rules) leaves(end object.End) bool {
	return r.Leaving[end.Cluster] || r.Leaving[end.Link.Source] || r.Leaving[end.Link.Target]
}

// noObjectKept: one object that people marked to be kept keeps its whole end.
func noObjectKept(j judgement, all []taking) map[object.End]*object.Reason {
	out := map[object.End]*object.Reason{}
	for _, t := range all {
		var kept []string
		for _, k := range t.all() {
			if j.Seen.Record(k).Keep {
				kept = append(kept, k.String())
			}
		}
		if len(kept) > 0 {
			out[t.end] = object.Because(reason.PruneDisabled, "%s has the annotation %s: %s; remove the annotation to let linkwright delete it",
				strings.Join(kept, ", "), object.PruneAnnotation, object.PruneDisabled)
		}
	}
	return out
}

func refuseAll(all []taking, why *object.Reason) map[object.End]*object.Reason {
	out := make(map[object.End]*object.Reason, len(all))
	for _, t := range all {
		out[t.end] = why
	}
	return out
}

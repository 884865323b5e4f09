package prune

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// guard denies ends, each with a reason; it sees everything that one commit would delete from a cluster.
// An empty or unreadable tree, a tree without a Cluster and a vanished path never get here: they make no fleet.
type guard func(evaluation, []endLoss) map[object.End]*object.Reason

// endLoss is what one end would lose, now and behind its gates. An unlink that began is not among them: it is
// finished, and no guard is asked again.
type endLoss struct {
	end     object.End
	keys    []object.Key // recorded: what would be deleted, and a Link that would be drained
	mirrors []object.Key // of a drained Link
}

func guards() []guard {
	return []guard{
		policyAllows,
		withinLimits,
		noProtectedObject,
	}
}

// evaluation is what guards decide by: what a cluster's ends hold, and what people decided.
type evaluation struct {
	holdings
	Rules
}

func (in Input) evaluation() evaluation { return evaluation{newHoldings(in), in.Rules} }

// Denials returns the ends that may not lose anything now; the first guard that denies an end gives the reason.
func Denials(in Input) map[object.End]*object.Reason { return in.evaluation().denials() }

func (j evaluation) denials() map[object.End]*object.Reason {
	all := j.losses()
	denied := map[object.End]*object.Reason{}
	for _, g := range guards() {
		for end, why := range g(j, all) {
			if denied[end] == nil {
				denied[end] = why
			}
		}
	}
	return denied
}

// losses are what the ends would lose whose unlink has not begun.
func (j evaluation) losses() (all []endLoss) {
	for _, inv := range j.Recorded {
		want, declared := j.Desired[inv.End]
		if inv.Leaving && !declared || declared && want.Blocked != nil {
			continue
		}
		if t := j.withDrained(endLoss{end: inv.End, keys: j.guardedKeys(inv)}, want); len(t.keys) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// guardedKeys are the keys of an end that guards decide on.
func (j evaluation) guardedKeys(inv inventory.Inventory) []object.Key {
	return slices.DeleteFunc(j.toDelete(inv), func(k object.Key) bool { return j.Retired[k] && !j.Observation.Record(k).PruneDisabled })
}

// policyAllows denies every delete unless the prune policy is Sync.
func policyAllows(j evaluation, all []endLoss) map[object.End]*object.Reason {
	if p := j.Policy.Prune.Policy; p == api.UpsertOnly || p == api.CreateOnly {
		return denyAll(all, object.Because(reason.PrunePolicy, "prune.policy %s of the SyncPolicy does not allow deletes", p))
	}
	return nil
}

// withinLimits denies every delete of a revision that exceeds a prune limit, in all clusters. It does not count clusters with state Leaving.
func withinLimits(j evaluation, all []endLoss) map[object.End]*object.Reason {
	out := map[object.End]*object.Reason{}
	for _, t := range all {
		if j.Removal == nil || j.declaredLeaving(t.end) {
			continue
		}
		_, declared := j.Desired[t.end]
		if why := j.Removal().Denies(t.end, declared); why != nil {
			out[t.end] = why
		}
	}
	return out
}

// declaredLeaving reports whether one of the end's clusters is declared with state Leaving.
func (r Rules) declaredLeaving(end object.End) bool {
	return r.Leaving[end.Cluster] || r.Leaving[end.Link.Source] || r.Leaving[end.Link.Target]
}

// cause says in a few words why an end loses what it does not need.
func (r Rules) cause(end object.End) string {
	if r.Uninstall {
		return "uninstall"
	}
	for _, name := range []api.ClusterName{end.Cluster, end.Link.Source, end.Link.Target} {
		if r.Leaving[name] {
			return fmt.Sprintf("cluster %s has state: Leaving", name)
		}
	}
	return "no longer declared"
}

// noProtectedObject denies all deletes of an end that holds an object annotated with linkwright.dev/prune: disabled.
func noProtectedObject(j evaluation, all []endLoss) map[object.End]*object.Reason {
	out := map[object.End]*object.Reason{}
	for _, t := range all {
		protected := slices.DeleteFunc(t.all(), func(k object.Key) bool { return !j.Observation.Record(k).PruneDisabled })
		if len(protected) > 0 {
			out[t.end] = object.Because(reason.PruneDisabled, "%s: remove the annotation %s=%s to let linkwright delete what has it",
				some(protected), object.PruneAnnotation, object.PruneDisabled)
		}
	}
	return out
}

// someLength is how long the names of some keys may get before the rest is counted: a condition must hold them.
const someLength = 160

// some names keys, the first in any case, and counts those that it does not name.
func some(keys []object.Key) string {
	text := keys[0].String()
	for i, k := range keys[1:] {
		if len(text)+len(k.String()) > someLength {
			return fmt.Sprintf("%s and %d more", text, len(keys)-1-i)
		}
		text += ", " + k.String()
	}
	return text
}

func denyAll(all []endLoss, why *object.Reason) map[object.End]*object.Reason {
	out := make(map[object.End]*object.Reason, len(all))
	for _, t := range all {
		out[t.end] = why
	}
	return out
}

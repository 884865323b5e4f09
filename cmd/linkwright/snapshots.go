package main

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func sortedNames(w state.Snapshot) []api.ClusterName {
	return slices.Sorted(maps.Keys(w.Clusters))
}

// lastChanges gives the last change of every object, in order of the steps; an object that is created
// and then updated is still a create.
func lastChanges(steps []plan.Step) []object.Change {
	at := map[object.Key]int{}
	var out []object.Change
	for _, s := range steps {
		for _, c := range slices.Concat(s.Ahead, s.Changes, s.After) {
			i, seen := at[c.Key]
			if !seen {
				at[c.Key] = len(out)
				out = append(out, c)
				continue
			}
			if out[i].Action == object.Create && c.Action == object.Update {
				c.Action, c.Was, c.Why = object.Create, object.Record{}, out[i].Why
			}
			out[i] = c
		}
	}
	return out
}

// reasonsOf gives why each object is changed.
func reasonsOf(steps []plan.Step) map[object.Key]object.Reason {
	out := map[object.Key]object.Reason{}
	for _, c := range lastChanges(steps) {
		out[c.Key] = c.Why
	}
	return out
}

// ends adds the status of a cluster and its ends after all steps.
func ends(cd report.ClusterDiff, steps []plan.Step) report.ClusterDiff {
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		cd.Denied, cd.Rows = last.Denied, last.Rows
	}
	return cd
}

// linksDiff is a diff that says what simulated steps do to links as a whole, and which restarts follow. It has no objects yet.
func linksDiff(w state.Snapshot, steps map[api.ClusterName][]plan.Step, r plan.Renderer, policies []plan.Policy) report.Diff {
	return report.Diff{
		Created: plan.NewLinks(w, steps), Unlinks: plan.Unlinks(w, steps, r, policies...), Narrowed: plan.Narrowings(w, steps), Restarts: plan.FollowingRestarts(w, steps),
	}
}

// missingCredentials are stand-ins for what targets have not issued yet.
func missingCredentials(w state.Snapshot) map[api.Pair]linkerd.Credential {
	out, known := cli.StandInCredentials(w.Fleet.Links()), credential.Of(state.Identify(w))
	for l := range w.Fleet.Links() {
		if l.Spec.Credentials.Mode == api.Existing || known.Issued(l) {
			delete(out, l.Pair())
		}
	}
	return out
}

package fleet

import (
	"slices"

	"github.com/linkwright/linkwright/api"
)

// ignoredReplicas warns of replicas that a declaration sets and the SyncPolicy leaves to others: they never reach a cluster.
func ignoredReplicas(x *lintInput) []api.Problem {
	ignores := func(rule api.Ignore) bool {
		return rule.Kind == api.IgnoreDeployment && slices.Contains(rule.Fields, "spec.replicas")
	}
	if !slices.ContainsFunc(x.Policy.Ignore, ignores) {
		return nil
	}
	var out []api.Problem
	for s := range x.specs() {
		if s.Controller.Replicas == nil {
			continue
		}
		at := append(slices.Clone(s.path), "controller", "replicas")
		out = append(out, s.doc.problem(api.Finding{
			Path: at, Message: "has no effect, because the SyncPolicy ignores spec.replicas of Deployments", Hint: "remove it, or that rule",
		}))
	}
	return firstFew(out)
}

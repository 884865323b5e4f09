package plan

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// rounds bounds a simulation; an unlink through all its gates takes about ten.
const rounds = 50

// Simulate does all steps of all clusters in the mind until none has anything left to do, and gives the
// world that leaves, and the steps of each cluster in order. Controllers are thought to be prompt: pods
// go with their Deployment, and mirrors with the selectors that chose them. Credentials must be given as Fresh, since nobody issues any.
func Simulate(w state.Snapshot, r Renderer, policies ...Policy) (state.Snapshot, map[api.ClusterName][]Step) {
	w.Clusters = maps.Clone(w.Clusters)
	steps := map[api.ClusterName][]Step{}
	names := slices.Sorted(maps.Keys(w.Clusters))
	for range rounds {
		moved := false
		for _, name := range names {
			s := Next(w, name, r, policies...)
			if s.Writes() == 0 && len(steps[name]) > 0 && steps[name][len(steps[name])-1].Writes() == 0 {
				steps[name][len(steps[name])-1] = s
				continue
			}
			steps[name] = append(steps[name], s)
			if s.Writes() > 0 {
				moved = true
				w.Clusters[name] = prompt(w.Spec(name).Linkerd, After(w.Clusters[name], s), s)
			}
		}
		if !moved {
			break
		}
	}
	return w, steps
}

// prompt takes away the pods of the controllers that the step deleted, and the mirrors of the links that it drained.
func prompt(l api.Linkerd, side state.Cluster, s Step) state.Cluster {
	seen := side.Seen.Edit()
	for _, c := range s.Changes {
		switch {
		case c.Action == object.Delete && c.Key.Kind == "Deployment":
			for _, pod := range linkerd.MirrorsOf(l, side.Seen)[c.End.Link.Target].Pods {
				seen.Drop(pod)
			}
		case c.Action == object.Drain && c.Why.Code == reason.Draining:
			now := seen.Observation() // another link may have left a Service that they share
			m := linkerd.MirrorsOf(l, now)[c.End.Link.Target]
			for _, k := range slices.Concat(m.Services, m.Endpoints) {
				seen.Drop(k)
			}
			for _, f := range m.Federated {
				do(seen, now, prune.Quit(c.End, f, now))
			}
		}
	}
	side.Seen = seen.Observation()
	return side
}

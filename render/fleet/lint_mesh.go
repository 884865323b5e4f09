package fleet

import (
	"fmt"
	"strconv"

	"github.com/linkwright/linkwright/api"
)

// Clusters with state Leaving count as members in these checks: a mesh that shrinks while one leaves is no mistake.

// smallMesh warns of meshes with fewer than two clusters, unless another check reports their selector.
func smallMesh(x *lintInput) []api.Problem {
	var out []api.Problem
	for _, m := range x.meshRules {
		n := len(m.selected.members)
		if n >= 2 || contradiction(&m.doc.value.Spec.Clusters) != "" {
			continue
		}
		out = append(out, api.Problem{
			Pos:     m.doc.at("spec", "clusters"),
			Message: fmt.Sprintf("%s links nothing: it selects %s", m.from, [...]string{"no cluster", "1 cluster"}[n]),
			Hint:    "check the labels of the clusters",
		})
	}
	return out
}

func noHub(x *lintInput) []api.Problem {
	var out []api.Problem
	for _, m := range x.meshRules {
		if len(m.selected.members) >= 2 && len(m.selected.hubs) == 0 && contradiction(m.doc.value.Spec.Hubs) == "" {
			out = append(out, api.Problem{
				Pos:     m.doc.at("spec", "hubs"),
				Message: fmt.Sprintf("%s links nothing: none of its %d clusters is a hub", m.from, len(m.selected.members)),
				Hint:    "check the labels of the hubs: spec.clusters must select them, too",
			})
		}
	}
	return out
}

func noSpoke(x *lintInput) []api.Problem {
	var out []api.Problem
	for _, m := range x.meshRules {
		n := len(m.selected.members)
		if n >= 2 && m.doc.value.Spec.Topology == api.HubAndSpoke && len(m.selected.hubs) == n {
			out = append(out, api.Problem{
				Pos:     m.doc.at("spec", "hubs"),
				Message: fmt.Sprintf("%s has no spokes: all of its %d clusters are hubs", m.from, n),
				Hint:    "select fewer hubs, or declare topology: Full",
			})
		}
	}
	return out
}

func idleExcepts(x *lintInput) []api.Problem {
	var out []api.Problem
	for _, m := range x.meshRules {
		for _, i := range m.idle {
			pair := m.doc.value.Spec.Except[i].Pair()
			out = append(out, api.Problem{
				Pos:     m.doc.at("spec", "except", strconv.Itoa(i)),
				Message: fmt.Sprintf("%s has no link %s to except: %s", m.from, pair, m.whyNot(x, pair)),
			})
		}
	}
	return out
}

// whyNot returns why a mesh does not link a pair.
func (m *mesh) whyNot(x *lintInput, pair api.Pair) string {
	for _, name := range []api.ClusterName{pair.Source, pair.Target} {
		if i, _ := index(x.names, name); !containsIndex(m.selected.members, i) {
			return fmt.Sprintf("it does not select %s", name)
		}
	}
	return "neither is a hub"
}

// linkOverMesh warns of declared Links that override a Mesh.
func linkOverMesh(x *lintInput) []api.Problem {
	var out []api.Problem
	for _, c := range x.clashes {
		if !c.won.mesh {
			out = append(out, api.Problem{
				Pos: c.won.at, See: c.lost.at,
				Message: fmt.Sprintf("%s replaces the link that %s declares for %s", c.won.from, c.lost.from, c.pair),
			})
		}
	}
	return out
}

// unlinked warns of clusters without a link. It ignores a cluster whose last peer is Leaving, and the clusters of a mesh that links
// nothing, which has its own warning. More than ten clusters probably have one cause.
func unlinked(x *lintInput) []api.Problem {
	if len(x.links)+len(x.meshes) == 0 {
		return nil
	}
	meant := x.unlinkedByLeaving()
	for _, d := range x.links {
		meant[d.value.Spec.Source], meant[d.value.Spec.Target] = true, true
	}
	var out []api.Problem
	for i := range x.names {
		c := &x.names[i]
		if c.leaving() || meant[c.Name] || len(x.Out(c.Name))+len(x.In(c.Name))+len(x.into(c.Name)) > 0 {
			continue
		}
		out = append(out, api.Problem{
			Pos:     x.named(i),
			Message: fmt.Sprintf("no link leads to or from cluster %s", c.Name),
			Hint:    "check that it has the labels that a Mesh selects",
		})
	}
	const most = 10
	if more := len(out) - 1; more >= most {
		out = out[:1]
		out[0].Message = fmt.Sprintf("%s and %d more", out[0].Message, more)
	}
	return out
}

// unlinkedByLeaving returns the clusters that a mesh would link with one that is Leaving, or with others if it had any, or a hub.
func (x *lintInput) unlinkedByLeaving() map[api.ClusterName]bool {
	out := map[api.ClusterName]bool{}
	for _, m := range x.meshRules {
		if m.selected.size() == 0 { // see small and noHub
			for _, i := range m.selected.members {
				out[x.names[i].Name] = true
			}
		}
		hubLeaves := len(m.active.hubs) < len(m.selected.hubs)
		for _, i := range m.active.members {
			if hubLeaves || len(m.active.members) < len(m.selected.members) && containsIndex(m.active.hubs, i) {
				out[x.names[i].Name] = true
			}
		}
	}
	return out
}

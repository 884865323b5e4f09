package fleet

import (
	"fmt"

	"github.com/linkwright/linkwright/api"
)

// expansion turns origins into links. It fills one row of the matrix of clusters at a time, declared links first: so
// links come out sorted, without a sort or a map of a million pairs.
type expansion struct {
	clusters  []Cluster
	linksOf   [][]target // by source
	meshRules []*mesh
	clashes   map[[2]*origin]*clash
}

// target is the target of a declared link.
type target struct {
	index  int
	origin *origin
	doc    document
}

// clash is a pair that two origins declare, and the number of further such pairs.
type clash struct {
	won, lost *origin
	pair      api.Pair
	more      int
}

// expand returns all links, grouped by source and by target.
func (e *expansion) expand() (out, in links) {
	n := len(e.clusters)
	out = links{all: make([]Link, 0, e.bound()), begin: make([]int, 1, n+1)}
	targets := make([]int32, 0, cap(out.all))
	row := make([]*origin, n)
	for source := range n {
		e.fill(row, source)
		for t, o := range row {
			if o != nil {
				out.all = append(out.all, e.link(source, t, o))
				targets = append(targets, int32(t))
			}
		}
		out.begin = append(out.begin, len(out.all))
	}
	return out, byTarget(out.all, targets, n)
}

// bound is the number of links if no two origins declare the same pair.
func (e *expansion) bound() int {
	n := 0
	for _, m := range e.meshRules {
		n += m.size()
	}
	for _, d := range e.linksOf {
		n += len(d)
	}
	return min(n, len(e.clusters)*len(e.clusters))
}

func (e *expansion) link(source, target int, o *origin) Link {
	return Link{Source: &e.clusters[source], Target: &e.clusters[target], Spec: &o.spec, At: &o.at, From: o.from}
}

// fill sets for one source the origin of the link to each target. A declared Link overrides a Mesh.
func (e *expansion) fill(row []*origin, source int) {
	clear(row)
	for _, d := range e.linksOf[source] {
		row[d.index] = d.origin
	}
	if e.clusters[source].Spec.SameAs != "" { // a target only
		return
	}
	for _, m := range e.meshRules {
		for _, t := range m.targets(source) {
			switch {
			case e.clusters[t].Canonical() == e.clusters[source].Name:
			case row[t] != nil:
				e.clash(row[t], m.origin, api.Pair{Source: e.clusters[source].Name, Target: e.clusters[t].Name})
			default:
				row[t] = m.origin
			}
		}
	}
}

func (e *expansion) clash(won, lost *origin, pair api.Pair) {
	key := [2]*origin{won, lost}
	if c := e.clashes[key]; c != nil {
		c.more++
		return
	}
	e.clashes[key] = &clash{won: won, lost: lost, pair: pair}
}

// problems reports each clash of two meshes once, however many pairs it has. A Link that overrides a Mesh is no error: see linkOverMesh.
func (e *expansion) problems() []api.Problem {
	var out []api.Problem
	for _, c := range e.clashes {
		if c.won.mesh {
			out = append(out, api.Problem{
				Pos: c.lost.at, See: c.won.at, Hint: "select other clusters, name the pair in spec.except of one, or declare a Link for it",
				Message: fmt.Sprintf("%s and %s both declare %s", c.lost.from, c.won.from, andMore(c.pair, c.more)),
			})
		}
	}
	return out // Load sorts
}

// byTarget groups links by target, and keeps the order of sources.
func byTarget(all []Link, targets []int32, n int) links {
	in := links{all: make([]Link, len(all)), begin: make([]int, n+1)}
	for _, t := range targets {
		in.begin[t+1]++
	}
	for t := range n {
		in.begin[t+1] += in.begin[t]
	}
	next := append([]int(nil), in.begin...)
	for i, t := range targets {
		in.all[next[t]] = all[i]
		next[t]++
	}
	return in
}

// Package fleet reads the declarations of a commit: clusters, links, meshes and the sync policy.
package fleet

import (
	"io/fs"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// Cluster is a declared cluster, or a second name of one. Its Spec has defaults filled in; a second name has the spec of its
// cluster. At is where its document begins.
type Cluster struct {
	Name    api.ClusterName
	Labels  map[string]string
	Spec    api.Cluster
	At      api.Pos
	Overlay *Overlay // nil: none
	// Shared are the settings of the controller that the links of this source share; nil: no link is Shared.
	Shared *api.Controller
	// Values of Linkerd's installation that ProxyConfigs set there, by path. In a cluster that leaves they are put back.
	Values []Value
	values []rankedValue
	// Rollout says how workloads of the cluster restart that run outdated proxies; nil: linkwright restarts none. A cluster that leaves has none.
	Rollout *Rollout
}

// Canonical is the name of the cluster that has this one's ends: its own, or that of the cluster it is a second name of.
func (c *Cluster) Canonical() api.ClusterName {
	if c.Spec.SameAs != "" {
		return c.Spec.SameAs
	}
	return c.Name
}

// leaving reports whether the cluster no longer takes part in links.
func (c *Cluster) leaving() bool { return c.Spec.State == api.Leaving }

// Overlay is a kustomize Component in the tree that declared its cluster; several clusters may name one directory.
type Overlay struct {
	Tree fs.FS
	Dir  string
	At   api.Pos // of this cluster's spec.overlay
}

// Link is one direction of a link, declared by a Link or a Mesh. Everything it points at belongs to the fleet and is
// shared: all links of one mesh share its Spec (999,000 of them for 1,000 clusters). Nobody may change it.
type Link struct {
	Source, Target *Cluster
	Spec           *api.LinkSpec
	At             *api.Pos // where the declaration begins
	From           string   // "Link west-east" or "Mesh prod"
}

// Pair identifies the link: an ordered pair has at most one.
func (l Link) Pair() api.Pair { return api.Pair{Source: l.Source.Name, Target: l.Target.Name} }

// Fleet is all that one commit declares, complete and free of errors. It is immutable and safe for concurrent use.
//
// A cluster with state Leaving is among the Clusters, so that linkwright still reads it and removes its objects, but it has no link:
// declared Links that name it and meshes that select it are ignored for it.
type Fleet struct {
	Commit   api.Commit
	Clusters []Cluster      // by name, without second names
	Policy   api.SyncPolicy // with its defaults
	names    []Cluster      // by name, with second names
	out, in  links          // by index of names
	to       links          // those of in, by index of Clusters
}

// Out returns the links whose source is c, by target. The slice belongs to the fleet.
func (f *Fleet) Out(c api.ClusterName) []Link { return f.of(f.out, c) }

// In returns the links whose target is c, by whichever name, by source. The slice belongs to the fleet.
func (f *Fleet) In(c api.ClusterName) []Link {
	i, found := index(f.Clusters, c)
	if !found || len(f.to.begin) == 0 {
		return nil
	}
	return f.to.row(i)
}

// Cluster finds a cluster by its name, or by a second one.
func (f *Fleet) Cluster(name api.ClusterName) (*Cluster, bool) {
	if i, found := index(f.Clusters, name); found {
		return &f.Clusters[i], true
	}
	i, found := index(f.names, name)
	if !found {
		return nil, false
	}
	return &f.names[i], true
}

// Names returns the second names of a cluster, in order.
func (f *Fleet) Names(of api.ClusterName) (out []api.ClusterName) {
	for i := range f.names {
		if f.names[i].Spec.SameAs == of {
			out = append(out, f.names[i].Name)
		}
	}
	return out
}

// Link finds the link of an ordered pair.
func (f *Fleet) Link(p api.Pair) (Link, bool) {
	row := f.Out(p.Source)
	i, found := slices.BinarySearchFunc(row, p.Target, func(l Link, name api.ClusterName) int {
		return strings.Compare(string(l.Target.Name), string(name))
	})
	if !found {
		return Link{}, false
	}
	return row[i], true
}

// Links returns all links by pair.
func (f *Fleet) Links() iter.Seq[Link] { return slices.Values(f.out.all) }

// NumLinks is how many Links returns.
func (f *Fleet) NumLinks() int { return len(f.out.all) }

func (f *Fleet) of(l links, c api.ClusterName) []Link {
	i, found := index(f.names, c)
	if !found || len(l.begin) == 0 {
		return nil
	}
	return l.row(i)
}

func index(clusters []Cluster, name api.ClusterName) (int, bool) {
	i := sort.Search(len(clusters), func(i int) bool { return clusters[i].Name >= name }) // by place: a Cluster is big
	return i, i < len(clusters) && clusters[i].Name == name
}

// links are grouped by their source or target: begin has one offset into all for each cluster, and one more.
type links struct {
	all   []Link
	begin []int
}

func (l links) row(i int) []Link { return slices.Clip(l.all[l.begin[i]:l.begin[i+1]]) }

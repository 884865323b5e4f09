package fleet

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
)

// secondNames copies the spec of a cluster to its second names, except the gateway.
func (j *joiner) secondNames(names []Cluster, docs []declared[api.ClusterDoc]) {
	for i := range names {
		c := &names[i]
		if c.Spec.SameAs == "" {
			continue
		}
		at, found := index(names, c.Spec.SameAs)
		switch {
		case !found && (j.incomplete || j.unknownKinds[string(c.Spec.SameAs)]): // it may be in what could not be read
		case !found:
			j.failIn(docs[i].document, api.Path{"spec", "sameAs"}, fmt.Sprintf("cluster %q is not declared", c.Spec.SameAs), api.DidYouMean(string(c.Spec.SameAs), namesOf(names)))
		case docs[at].value.Spec.SameAs != "":
			j.failIn(docs[i].document, api.Path{"spec", "sameAs"}, fmt.Sprintf("%s is itself a second name", c.Spec.SameAs), "name a cluster that declares spec.access")
		default:
			gateway, as := c.Spec.Gateway, c.Spec.SameAs
			c.Spec = names[at].Spec
			c.Spec.Gateway, c.Spec.SameAs = gateway, as
		}
	}
}

// checkSecondNames fails a Link from a second name, and one from a cluster to its own second name.
func (j *joiner) checkSecondNames(d declared[api.LinkDoc], from, to *Cluster) bool {
	switch {
	case from.Spec.SameAs != "":
		j.failIn(d.document, api.Path{"spec", "source"}, fmt.Sprintf("%s is a second name of %s, and a second name can only be a target", from.Name, from.Spec.SameAs),
			"write "+string(from.Spec.SameAs))
	case to.Canonical() == from.Name:
		j.failIn(d.document, api.Path{"spec", "target"}, fmt.Sprintf("%s is a second name of %s, and a cluster cannot be linked with itself", to.Name, from.Name), "")
	default:
		return true
	}
	return false
}

// canonical separates clusters from second names, and groups links by the cluster that their target name stands for.
func (f *Fleet) canonical() {
	second := func(c Cluster) bool { return c.Spec.SameAs != "" }
	if f.Clusters, f.to = f.names, f.in; !slices.ContainsFunc(f.names, second) {
		return
	}
	f.Clusters = slices.DeleteFunc(slices.Clone(f.names), second)
	at, n := make([]int, len(f.names)), len(f.Clusters)
	if f.to = (links{}); n == 0 {
		return
	}
	for i := range f.names {
		at[i], _ = index(f.Clusters, f.names[i].Canonical())
		at[i] = min(at[i], n-1) // of a name that is not declared; then nobody gets the fleet
	}
	targets := make([]int32, len(f.out.all))
	for i, l := range f.out.all {
		t, _ := index(f.names, l.Target.Name)
		targets[i] = int32(at[t])
	}
	f.to = byTarget(f.out.all, targets, n)
}

// into returns the links whose target has just this name, by source.
func (f *Fleet) into(name api.ClusterName) []Link { return f.of(f.in, name) }

func namesOf(clusters []Cluster) []string {
	out := make([]string, len(clusters))
	for i := range clusters {
		out[i] = string(clusters[i].Name)
	}
	return out
}

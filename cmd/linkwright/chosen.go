package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
)

// pairs are the links that arguments name: SOURCE/TARGET, or the name of a Link or a Mesh, which is all links of that. Undeclared
// ones can be named by their clusters, if loose.
func pairs(f *fleet.Fleet, args []string, loose bool) (map[api.Pair]bool, error) {
	out := map[api.Pair]bool{}
	for _, arg := range args {
		source, target, isPair := strings.Cut(arg, "/")
		pair := api.Pair{Source: api.ClusterName(source), Target: api.ClusterName(target)}
		if _, declared := f.Link(pair); isPair && (declared || loose) {
			out[pair] = true
			continue
		}
		found := false
		for l := range f.Links() {
			if _, name, _ := strings.Cut(l.From, " "); !isPair && name == arg {
				out[l.Pair()], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no link %s is declared: name a Link or a Mesh of the repository, or SOURCE/TARGET", arg)
		}
	}
	return out, nil
}

// chosenClusters are those that are named, or all; in order.
func chosenClusters(f *fleet.Fleet, names []string) ([]fleet.Cluster, error) {
	for _, name := range names {
		if _, ok := f.Cluster(api.ClusterName(name)); !ok {
			return nil, usage("--cluster %s: no such cluster is declared", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(f.Clusters), func(c fleet.Cluster) bool {
		return len(names) > 0 && !slices.Contains(names, string(c.Name))
	}), nil
}

// every is all declared links.
func every(f *fleet.Fleet) map[api.Pair]bool {
	out := map[api.Pair]bool{}
	for l := range f.Links() {
		out[l.Pair()] = true
	}
	return out
}

// someOrAll refuses links beside --all, and neither.
func someOrAll(args []string, all bool) error {
	switch {
	case all && len(args) > 0:
		return usage("--all and %s: name one of the two", args[0])
	case !all && len(args) == 0:
		return usage("which links? name them, or give --all")
	}
	return nil
}

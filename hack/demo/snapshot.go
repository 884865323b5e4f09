package main

import (
	"fmt"
	"slices"
	"strings"
)

// clusterState is what one cluster has for its links.
type clusterState struct {
	cluster string
	facts   []fact
}

// snapshot is the state of all clusters, which all have the same facts in the same order.
type snapshot []clusterState

// compare returns an error that names the first fact that is not as expected.
func compare(s clusterState, want []fact) error {
	for i, f := range s.facts {
		if !slices.Equal(f.values, want[i].values) {
			return fmt.Errorf("cluster %s: %s: %v, want %v", s.cluster, f.what, f.values, want[i].values)
		}
	}
	return nil
}

// table shows the links and the mirrored Services of each cluster.
func (s snapshot) table() [][]string {
	rows := [][]string{{"CLUSTER", "LINKS TO", "MIRRORED SERVICES"}}
	for _, c := range s {
		rows = append(rows, []string{c.cluster, c.list(linkTargets), c.list(mirroredServices)})
	}
	return rows
}

func (c clusterState) list(what string) string {
	i := slices.IndexFunc(c.facts, func(f fact) bool { return f.what == what })
	return strings.Join(c.facts[i].values, ", ")
}

// changes has a row for each change, with the clusters in which a fact changed that way.
func (s snapshot) changes(before snapshot) [][]string {
	rows := [][]string{{"CHANGED", "BEFORE", "AFTER", "IN"}}
	for i, c := range s {
		for j, f := range c.facts {
			was, is := without(before[i].facts[j].values, f.values), without(f.values, before[i].facts[j].values)
			if was == is {
				continue
			}
			k := slices.IndexFunc(rows, func(r []string) bool { return r[0] == f.what && r[1] == was && r[2] == is })
			if k < 0 {
				rows = append(rows, []string{f.what, was, is, c.cluster})
				continue
			}
			rows[k][3] += ", " + c.cluster
		}
	}
	return rows
}

// without lists the values that are not among others.
func without(values, others []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) }), ", ")
}

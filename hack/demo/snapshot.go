package main

import (
	"fmt"
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
func compare(h clusterState, want []fact) error {
	for i, f := range h.facts {
		if f != want[i] {
			return fmt.Errorf("cluster %s: %s: [%s], want [%s]", h.cluster, strings.TrimSpace(f.what), f.value, want[i].value)
		}
	}
	return nil
}

// table has a column for each cluster.
func (p snapshot) table() [][]string {
	head := []string{"holds"}
	for _, h := range p {
		head = append(head, h.cluster)
	}
	rows := [][]string{head}
	for i := range p[0].facts {
		row := []string{p[0].facts[i].what}
		for _, h := range p {
			row = append(row, h.facts[i].value)
		}
		rows = append(rows, row)
	}
	return rows
}

// changes has a row for each fact that changed.
func (p snapshot) changes(was snapshot) [][]string {
	rows := [][]string{{"in", "what", "was", "is"}}
	for i, h := range p {
		for j, f := range h.facts {
			if before := was[i].facts[j]; before != f {
				rows = append(rows, []string{h.cluster, strings.TrimSpace(f.what), before.value, f.value})
			}
		}
	}
	return rows
}

package main

import (
	"fmt"
	"strings"
)

// holding is what one cluster holds of its links.
type holding struct {
	cluster string
	facts   []fact
}

// picture is what all hold, in one order of clusters and facts.
type picture []holding

// differs names the first fact that is not as expected.
func differs(h holding, want []fact) error {
	for i, f := range h.facts {
		if f != want[i] {
			return fmt.Errorf("cluster %s: %s: [%s], want [%s]", h.cluster, strings.TrimSpace(f.what), f.value, want[i].value)
		}
	}
	return nil
}

// table has a column for each cluster.
func (p picture) table() [][]string {
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

// changes has a row for each fact that is not what it was.
func (p picture) changes(was picture) [][]string {
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

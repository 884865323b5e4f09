package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/linkwright/linkwright/hack/testbed"
)

// agent is the daemon's user agent in every cluster. Its requests for the Lease have another one.
const agent = "linkwright/linkwright"

// writes returns what the daemon wrote to a cluster, from the API server's audit log.
func (c *cluster) writes() ([]testbed.Request, error) {
	all, err := c.Requests(agent)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r testbed.Request) bool {
		return slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	}), nil
}

// baseline is the state before a step, with the number of writes that each cluster has received.
type baseline struct {
	snapshot snapshot
	writes   map[string]int
}

func (d *demo) readBaseline(ctx context.Context) (baseline, error) {
	now, err := d.readSnapshot(ctx)
	b := baseline{snapshot: now, writes: map[string]int{}}
	if err != nil {
		return b, err
	}
	for _, c := range d.clusters {
		w, err := c.writes()
		if err != nil {
			return b, err
		}
		b.writes[c.Name] = len(w)
	}
	return b, nil
}

// showWrites shows the writes since a baseline: those that the step is about, and those that record the commit in the
// base inventories and in the management cluster. Any other write is an error.
func (d *demo) showWrites(before map[string]int, subject string, about func(*cluster, testbed.Request) bool) error {
	rows := [][]string{{"CLUSTER", "WRITES FOR " + subject, "TO RECORD THE COMMIT"}}
	var others []string
	for _, c := range d.clusters {
		w, err := c.writes()
		if err != nil {
			return err
		}
		subject, records := 0, 0
		for _, r := range w[before[c.Name]:] {
			switch {
			case about(c, r):
				subject++
			case r.Resource == "configmaps" && (r.Name == "linkwright.base" || r.Name == "linkwright-fleet"):
				records++
			default:
				others = append(others, fmt.Sprintf("%s: %s %s %s/%s (%d)", c.Name, r.Verb, r.Resource, r.Namespace, r.Name, r.Code))
			}
		}
		rows = append(rows, []string{c.Name, strconv.Itoa(subject), strconv.Itoa(records)})
	}
	if len(others) > 0 {
		return fmt.Errorf("unexpected writes:\n  %s", strings.Join(others, "\n  "))
	}
	d.screen.result("The API servers' audit logs list these writes by linkwright, and no others.")
	d.screen.table(rows)
	return nil
}

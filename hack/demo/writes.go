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

// writeCounts is how many writes each cluster has received.
type writeCounts map[string]int

// baseline is the state before a step.
type baseline struct {
	snapshot    snapshot
	writeCounts writeCounts
}

func (d *demo) now(ctx context.Context) (b baseline, err error) {
	if b.snapshot, err = d.readSnapshot(ctx); err != nil {
		return b, err
	}
	b.writeCounts = writeCounts{}
	for _, c := range d.clusters {
		w, err := c.writes()
		if err != nil {
			return b, err
		}
		b.writeCounts[c.Name] = len(w)
	}
	return b, nil
}

// showWrites shows the writes since a baseline: those that the step is about, those that record the commit (in a
// cluster's base inventory and in the management cluster), and others, which are an error.
func (d *demo) showWrites(before writeCounts, subject string, about func(*cluster, testbed.Request) bool) error {
	rows := [][]string{{"writes in", "for " + subject, "record of the commit", "anything else"}}
	var others []string
	for _, c := range d.clusters {
		w, err := c.writes()
		if err != nil {
			return err
		}
		mine, base, other := 0, 0, 0
		for _, r := range w[before[c.Name]:] {
			switch {
			case about(c, r):
				mine++
			case r.Resource == "configmaps" && (r.Name == "linkwright.base" || r.Name == "linkwright-fleet"):
				base++
			default:
				other++
				others = append(others, fmt.Sprintf("%s: %s %s %s/%s (%d)", c.Name, r.Verb, r.Resource, r.Namespace, r.Name, r.Code))
			}
		}
		rows = append(rows, []string{c.Name, strconv.Itoa(mine), strconv.Itoa(base), strconv.Itoa(other)})
	}
	d.screen.done("what linkwright wrote, by the API servers' audit logs")
	d.screen.table(rows)
	if len(others) > 0 {
		return fmt.Errorf("unexpected writes:\n  %s", strings.Join(others, "\n  "))
	}
	return nil
}

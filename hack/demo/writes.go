package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/linkwright/linkwright/hack/testbed"
)

// agent is the user agent of the daemon in every cluster; its lease has another.
const agent = "linkwright/linkwright"

// writes gives what the daemon wrote to a cluster, as the API server logged it.
func (c *cluster) writes() ([]testbed.Request, error) {
	all, err := c.Requests(agent)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r testbed.Request) bool {
		return slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	}), nil
}

// ledger is how many writes each cluster had seen at one moment.
type ledger map[string]int

// moment is how things stood before a step.
type moment struct {
	picture picture
	ledger  ledger
}

func (d *demo) now(ctx context.Context) (m moment, err error) {
	if m.picture, err = d.look(ctx); err != nil {
		return m, err
	}
	m.ledger = ledger{}
	for _, c := range d.clusters {
		w, err := c.writes()
		if err != nil {
			return m, err
		}
		m.ledger[c.Name] = len(w)
	}
	return m, nil
}

// told shows what was written since a moment: that which the step is about, the record of the commit in
// a cluster's base inventory and in the management cluster, and others, which are an error.
func (d *demo) told(before ledger, subject string, about func(*cluster, testbed.Request) bool) error {
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
		return fmt.Errorf("writes that nothing asked for:\n  %s", strings.Join(others, "\n  "))
	}
	return nil
}

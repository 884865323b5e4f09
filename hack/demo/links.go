package main

import (
	"context"

	"github.com/linkwright/linkwright/api"
)

// meshLinks are all links of the full mesh.
func (d *demo) meshLinks() []api.Pair {
	var out []api.Pair
	for _, s := range d.clusters {
		for _, t := range d.clusters {
			if s != t {
				out = append(out, api.Pair{Source: api.ClusterName(s.Name), Target: api.ClusterName(t.Name)})
			}
		}
	}
	return out
}

// waitForLinks waits until every cluster has exactly these links.
func (d *demo) waitForLinks(ctx context.Context, links []api.Pair) (now snapshot, err error) {
	err = poll(ctx, func(ctx context.Context) error {
		if now, err = d.readSnapshot(ctx); err != nil {
			return err
		}
		for _, c := range now {
			if err := compare(c, expected(d.targets(c.cluster, links))); err != nil {
				return err
			}
		}
		return nil
	})
	return now, err
}

// readSnapshot reads the state of every cluster.
func (d *demo) readSnapshot(ctx context.Context) (snapshot, error) {
	var out snapshot
	for _, c := range d.clusters {
		facts, err := c.readState(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, clusterState{c.Name, facts})
	}
	return out, nil
}

// targets are the clusters that a source is linked to.
func (d *demo) targets(source string, links []api.Pair) []*cluster {
	var out []*cluster
	for _, l := range links {
		if string(l.Source) == source {
			out = append(out, d.cluster(l.Target))
		}
	}
	return out
}

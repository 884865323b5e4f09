package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
)

// moveGateway changes a fact that only the target knows, and waits until all sources have it.
func (d *demo) moveGateway(ctx context.Context) error {
	before, err := d.readBaseline(ctx)
	if err != nil {
		return err
	}
	target := d.cluster(removedLink().Target)
	if err := testbed.SetGateway(ctx, target.Config, newGateway); err != nil {
		return err
	}
	target.Gateway = newGateway
	now, err := d.waitForLinks(ctx, d.meshLinks())
	if err != nil {
		return err
	}
	d.screen.result("linkwright has changed every link to %s.", target.Name)
	d.screen.table(now.changes(before.snapshot))
	return d.showWrites(before.writes, "LINKS TO "+target.Name, func(_ *cluster, r testbed.Request) bool {
		return r.Resource == "links" && r.Name == target.Name
	})
}

// removeLink removes a link from Git, and waits until nothing of it is left and the other links are as before.
func (d *demo) removeLink(ctx context.Context) error {
	link, ends := removedLink(), d.ends(removedLink())
	for _, e := range ends {
		if err := e.readBefore(ctx); err != nil {
			return err
		}
	}
	before, err := d.readBaseline(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(d.meshLinks(), func(p api.Pair) bool { return p == link })
	if err := d.commitRemoval(ctx, others); err != nil {
		return err
	}
	if err := d.waitForRemoval(ctx, link, ends); err != nil {
		return err
	}
	if _, err := d.waitForLinks(ctx, others); err != nil {
		return err
	}
	if err := d.showStatus(ctx); err != nil {
		return err
	}
	return d.showWrites(before.writes, link.String(), func(c *cluster, r testbed.Request) bool {
		federated := c == ends[0].at && r.Name == exported+"-federated"
		return federated || slices.ContainsFunc(ends, func(e *linkEnd) bool {
			return e.at == c && e.matcher.matchesName(r.Namespace, r.Name)
		})
	})
}

// commitRemoval declares the other links one by one in place of the mesh.
func (d *demo) commitRemoval(ctx context.Context, others []api.Pair) error {
	if err := os.Remove(filepath.Join(d.repo.Clone, "mesh.yaml")); err != nil {
		return fmt.Errorf("replace the mesh: %w", err)
	}
	if err := d.repo.declare(templateData{Links: others}, "links.yaml"); err != nil {
		return err
	}
	commit, err := d.repo.push(ctx, "remove the link "+removedLink().String())
	if err != nil {
		return err
	}
	d.screen.result("Pushed commit %s: links.yaml, with the remaining %s, replaces mesh.yaml.", commit.Short(), count(len(others), "Link"))
	return nil
}

// waitForRemoval waits until both ends are clean, and shows what was removed.
func (d *demo) waitForRemoval(ctx context.Context, link api.Pair, ends []*linkEnd) error {
	kinds := 0
	err := poll(ctx, func(ctx context.Context) (err error) {
		for _, e := range ends {
			if kinds, err = e.gone(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.screen.result("Nothing of %s is left, in any of the %d kinds that the API servers serve.", link, kinds)
	rows := [][]string{{"CLUSTER", "REMOVED"}}
	for _, e := range ends {
		name := e.at.Name
		for _, line := range e.removed(width - len("CLUSTER   ")) {
			rows = append(rows, []string{name, line})
			name = ""
		}
	}
	d.screen.table(rows)
	return nil
}

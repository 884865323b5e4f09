package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
)

// step is one part of the script; it checks what it shows.
type step struct {
	title string
	do    func(context.Context) error
}

// newGateway is the address to which the gateway of the removed link's target moves.
const newGateway = "192.0.2.99"

func removedLink() api.Pair { return api.Pair{Source: "west", Target: "east"} }

func (d *demo) script() []step {
	return []step{
		{"Three clusters that look like Linkerd's", d.startClusters},
		{"A bare Git repository; its first commit declares a full mesh", d.commitMesh},
		{"The daemon begins: six links", d.linkAll},
		{"East's gateway moves to " + newGateway + ", without a commit", d.moveGateway},
		{"A commit names the links one by one, and no longer " + removedLink().String(), d.removeLink},
	}
}

func (d *demo) commitMesh(ctx context.Context) error {
	var err error
	if d.repo, err = newRepository(ctx, d.dir); err != nil {
		return err
	}
	if err := d.repo.declare(templateData{Clusters: d.clusters}, "clusters.yaml", "mesh.yaml", "policy.yaml"); err != nil {
		return err
	}
	commit, err := d.repo.push(ctx, "link all three clusters")
	if err != nil {
		return err
	}
	d.screen.done("%s pushed to %s", commit.Short(), d.repo.Bare)
	d.screen.block("The API servers are declared by loopback addresses, since peers are on this machine, too: linkwright warns of it.\n")
	return nil
}

// repoFlags are the flags of every command of linkwright that reads repository and clusters.
func (d *demo) repoFlags() []string {
	return []string{
		"--repo", d.repo.Bare, "--allow-file-repo",
		"--kubeconfig", d.cluster(management).Kubeconfig, "--namespace", namespace,
	}
}

// start starts the daemon, also again after it ended.
func (d *demo) start() error {
	cmd := exec.Command(d.Linkwright, append([]string{"run", "--listen", "127.0.0.1:0"}, d.repoFlags()...)...)
	started, err := startDaemon(cmd, filepath.Join(d.dir, "daemon.log"))
	if err == nil {
		d.daemon = started
	}
	return err
}

func (d *demo) linkAll(ctx context.Context) error {
	if err := d.start(); err != nil {
		return err
	}
	d.atClose(func() error { return d.daemon.stop() })
	d.screen.block("Its log is " + d.daemon.log + "\n")
	return d.whileDaemonRuns(ctx, d.showMesh) // the caller saw no daemon yet
}

// showMesh waits until all links are there.
func (d *demo) showMesh(ctx context.Context) error {
	now, err := d.waitForLinks(ctx, d.meshLinks())
	if err != nil {
		return err
	}
	d.screen.done("six links are as declared")
	d.screen.table(now.table())
	text, err := d.status(ctx)
	if err != nil {
		return err
	}
	d.screen.done("linkwright status says")
	d.screen.block(text)
	return nil
}

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
		for _, h := range now {
			if err := compare(h, expected(d.targets(h.cluster, links))); err != nil {
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

// status waits until linkwright status reports that nothing is to be done, and returns its output.
func (d *demo) status(ctx context.Context) (text string, err error) {
	args := append([]string{"status"}, d.repoFlags()...)
	err = poll(ctx, func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, d.Linkwright, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("linkwright status: %w:\n%s", err, out)
		}
		text = string(out)
		return nil
	})
	return text, err
}

func (d *demo) moveGateway(ctx context.Context) error {
	was, err := d.now(ctx)
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
	d.screen.done("the Links, their probes and their mirrors point there")
	d.screen.table(now.changes(was.snapshot))
	return d.showWrites(was.writeCounts, "the Link "+target.Name, func(_ *cluster, r testbed.Request) bool {
		return r.Resource == "links" && r.Name == target.Name
	})
}

func (d *demo) removeLink(ctx context.Context) error {
	link, ends := removedLink(), d.ends(removedLink())
	for _, e := range ends {
		if err := e.readBefore(ctx); err != nil {
			return err
		}
	}
	was, err := d.now(ctx)
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(d.meshLinks(), func(p api.Pair) bool { return p == link })
	if err := d.commitRemoval(ctx, rest); err != nil {
		return err
	}
	if err := d.waitForRemoval(ctx, link, ends); err != nil {
		return err
	}
	now, err := d.waitForLinks(ctx, rest)
	if err != nil {
		return err
	}
	d.screen.done("the other five are as declared, as before; what changed in sources")
	d.screen.table(now.changes(was.snapshot))
	if _, err := d.status(ctx); err != nil {
		return err
	}
	d.screen.done("linkwright status: nothing left to do")
	return d.showWrites(was.writeCounts, link.String(), func(c *cluster, r testbed.Request) bool {
		federated := c == ends[0].at && r.Name == exported+"-federated"
		return federated || slices.ContainsFunc(ends, func(e *linkEnd) bool {
			return e.at == c && e.matcher.matchesName(r.Namespace, r.Name)
		})
	})
}

func (d *demo) commitRemoval(ctx context.Context, links []api.Pair) error {
	if err := os.Remove(filepath.Join(d.repo.Clone, "mesh.yaml")); err != nil {
		return fmt.Errorf("replace the mesh: %w", err)
	}
	if err := d.repo.declare(templateData{Links: links}, "links.yaml"); err != nil {
		return err
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	commit, err := d.repo.push(ctx, "unlink "+string(removedLink().Source)+" from "+string(removedLink().Target))
	if err != nil {
		return err
	}
	d.screen.done("%s pushed: %s", commit.Short(), strings.Join(names, ", "))
	return nil
}

// waitForRemoval waits until both ends are clean, and shows what was removed.
func (d *demo) waitForRemoval(ctx context.Context, link api.Pair, ends []*linkEnd) error {
	var rows [][]string
	err := poll(ctx, func(ctx context.Context) error {
		rows = [][]string{{"end", "kind", "before", "left"}}
		for _, e := range ends {
			more, err := e.gone(ctx)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.screen.done("nothing of %s is left on either end; listed in both: every kind served, for its names, labels and memberships", link)
	d.screen.table(rows)
	return nil
}

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

// step is one thing shown, and checked.
type step struct {
	title string
	do    func(context.Context) error
}

// moved is where the gateway of the target of the script goes, and removed the link that it takes out of Git.
const moved = "192.0.2.99"

func removed() api.Pair { return api.Pair{Source: "west", Target: "east"} }

func (d *demo) script() []step {
	return []step{
		{"Three clusters that look like Linkerd's", d.raise},
		{"A bare Git repository; its first commit declares a full mesh", d.declare},
		{"The daemon begins: six links", d.mesh},
		{"East's gateway moves to " + moved + ", without a commit", d.move},
		{"A commit names the links one by one, and no longer " + removed().String(), d.unlink},
	}
}

func (d *demo) declare(ctx context.Context) error {
	var err error
	if d.repo, err = newRepository(ctx, d.dir); err != nil {
		return err
	}
	if err := d.repo.declare(words{Clusters: d.clusters}, "clusters.yaml", "mesh.yaml", "policy.yaml"); err != nil {
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

// common are the flags of every command of linkwright that reads repository and clusters.
func (d *demo) common() []string {
	return []string{
		"--repo", d.repo.Bare, "--allow-file-repo",
		"--kubeconfig", d.cluster(home).Kubeconfig, "--namespace", namespace,
	}
}

// start starts the daemon, also another one after one that ended.
func (d *demo) start() error {
	cmd := exec.Command(d.Linkwright, append([]string{"run", "--listen", "127.0.0.1:0"}, d.common()...)...)
	started, err := startDaemon(cmd, filepath.Join(d.dir, "daemon.log"))
	if err == nil {
		d.daemon = started
	}
	return err
}

func (d *demo) mesh(ctx context.Context) error {
	if err := d.start(); err != nil {
		return err
	}
	d.leaving(func() error { return d.daemon.stop() })
	d.screen.block("Its log is " + d.daemon.log + "\n")
	return d.whileDaemonRuns(ctx, d.showMesh) // the caller saw no daemon yet
}

// showMesh waits until all links are there.
func (d *demo) showMesh(ctx context.Context) error {
	now, err := d.inPlace(ctx, d.full())
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

// full are the links of the mesh, by source and target.
func (d *demo) full() []api.Pair {
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

// inPlace waits until every cluster holds these links and nothing of others.
func (d *demo) inPlace(ctx context.Context, links []api.Pair) (now picture, err error) {
	err = until(ctx, func(ctx context.Context) error {
		if now, err = d.look(ctx); err != nil {
			return err
		}
		for _, h := range now {
			if err := differs(h, expected(d.targets(h.cluster, links))); err != nil {
				return err
			}
		}
		return nil
	})
	return now, err
}

// look reads what every cluster holds.
func (d *demo) look(ctx context.Context) (picture, error) {
	var out picture
	for _, c := range d.clusters {
		facts, err := c.holds(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, holding{c.Name, facts})
	}
	return out, nil
}

// targets are those whose services a source is to mirror.
func (d *demo) targets(source string, links []api.Pair) []*cluster {
	var out []*cluster
	for _, l := range links {
		if string(l.Source) == source {
			out = append(out, d.cluster(l.Target))
		}
	}
	return out
}

// status waits until linkwright itself says that nothing is to be done, and gives what it says.
func (d *demo) status(ctx context.Context) (text string, err error) {
	args := append([]string{"status"}, d.common()...)
	err = until(ctx, func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, d.Linkwright, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("linkwright status: %w:\n%s", err, out)
		}
		text = string(out)
		return nil
	})
	return text, err
}

func (d *demo) move(ctx context.Context) error {
	was, err := d.now(ctx)
	if err != nil {
		return err
	}
	target := d.cluster(removed().Target)
	if err := testbed.SetGateway(ctx, target.Config, moved); err != nil {
		return err
	}
	target.Gateway = moved
	now, err := d.inPlace(ctx, d.full())
	if err != nil {
		return err
	}
	d.screen.done("the Links, their probes and their mirrors point there")
	d.screen.table(now.changes(was.picture))
	return d.told(was.ledger, "the Link "+target.Name, func(_ *cluster, r testbed.Request) bool {
		return r.Resource == "links" && r.Name == target.Name
	})
}

func (d *demo) unlink(ctx context.Context) error {
	link, ends := removed(), d.ends(removed())
	for _, e := range ends {
		if err := e.look(ctx); err != nil {
			return err
		}
	}
	was, err := d.now(ctx)
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(d.full(), func(p api.Pair) bool { return p == link })
	if err := d.replaceMesh(ctx, rest); err != nil {
		return err
	}
	if err := d.nothingLeft(ctx, link, ends); err != nil {
		return err
	}
	now, err := d.inPlace(ctx, rest)
	if err != nil {
		return err
	}
	d.screen.done("the other five are as declared, as before; what changed in sources")
	d.screen.table(now.changes(was.picture))
	if _, err := d.status(ctx); err != nil {
		return err
	}
	d.screen.done("linkwright status: nothing left to do")
	return d.told(was.ledger, link.String(), func(c *cluster, r testbed.Request) bool {
		federated := c == ends[0].at && r.Name == exported+"-federated"
		return federated || slices.ContainsFunc(ends, func(e *traced) bool {
			return e.at == c && e.mark.names(r.Namespace, r.Name)
		})
	})
}

func (d *demo) replaceMesh(ctx context.Context, links []api.Pair) error {
	if err := os.Remove(filepath.Join(d.repo.Clone, "mesh.yaml")); err != nil {
		return fmt.Errorf("replace the mesh: %w", err)
	}
	if err := d.repo.declare(words{Links: links}, "links.yaml"); err != nil {
		return err
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	commit, err := d.repo.push(ctx, "unlink "+string(removed().Source)+" from "+string(removed().Target))
	if err != nil {
		return err
	}
	d.screen.done("%s pushed: %s", commit.Short(), strings.Join(names, ", "))
	return nil
}

// nothingLeft waits until both ends are clean, and shows what was there and is looked for.
func (d *demo) nothingLeft(ctx context.Context, link api.Pair, ends []*traced) error {
	var rows [][]string
	err := until(ctx, func(ctx context.Context) error {
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

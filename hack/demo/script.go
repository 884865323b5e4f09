package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/linkwright/linkwright/api"
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
		{fmt.Sprintf("Start %d Kubernetes control planes, with simulated pods and a simulated Linkerd", d.Clusters), d.startClusters},
		{fmt.Sprintf("Commit %d clusters and a full mesh to a Git repository", d.Clusters), d.commitMesh},
		{"Start linkwright, which links each cluster with every other", d.linkAll},
		{"Move the gateway of " + string(removedLink().Target) + " to " + newGateway + ", without a commit", d.moveGateway},
		{"Commit the removal of the link " + removedLink().String(), d.removeLink},
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
	mesh, err := os.ReadFile(filepath.Join(d.repo.Clone, "mesh.yaml"))
	if err != nil {
		return err
	}
	d.screen.command("cat mesh.yaml", string(mesh))
	commit, err := d.repo.push(ctx, fmt.Sprintf("link all %d clusters", d.Clusters))
	if err != nil {
		return err
	}
	d.screen.result("Pushed commit %s.", commit.Short())
	return nil
}

// start starts the daemon, also again after it ended.
func (d *demo) start() error {
	listen := "127.0.0.1:0"
	if d.daemon != nil { // a browser keeps the address of the former one
		listen = cmp.Or(d.daemon.address(), listen)
	}
	cmd := exec.Command(d.Linkwright, append([]string{"run", "--listen", listen}, d.repoFlags()...)...)
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
	return d.whileDaemonRuns(ctx, d.showMesh) // the caller saw no daemon yet
}

// showMesh waits until all links are there.
func (d *demo) showMesh(ctx context.Context) error {
	links := d.meshLinks()
	now, err := d.waitForLinks(ctx, links)
	if err != nil {
		return err
	}
	d.screen.result("All %s work: each has a running controller, credentials and a probe.", count(len(links), "link"))
	d.screen.table(now.table())
	return d.showStatus(ctx)
}

// repoFlags are the flags of every command of linkwright that reads repository and clusters.
func (d *demo) repoFlags() []string {
	return append([]string{"--repo", d.repo.Bare, "--allow-file-repo"}, d.managementFlags()...)
}

// managementFlags are the flags of every command of linkwright that reads only the clusters.
func (d *demo) managementFlags() []string {
	return []string{"--kubeconfig", d.cluster(management).Kubeconfig, "--namespace", namespace}
}

// showStatus waits until the clusters are as declared, and shows what a user without the repository sees.
func (d *demo) showStatus(ctx context.Context) error {
	if _, err := d.status(ctx, d.repoFlags()); err != nil {
		return err
	}
	text, err := d.status(ctx, d.managementFlags())
	if err != nil {
		return err
	}
	d.screen.result("All is as declared.")
	d.screen.command("linkwright status", text)
	return nil
}

// status waits until linkwright status succeeds, and returns its output.
func (d *demo) status(ctx context.Context, flags []string) (text string, err error) {
	err = poll(ctx, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, d.Linkwright, append([]string{"status"}, flags...)...)
		var stderr strings.Builder // it may also show what it waits for
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("linkwright status: %w:\n%s%s", err, out, &stderr)
		}
		text = strings.TrimRight(string(out), "\n") + "\n"
		return nil
	})
	return text, err
}

package enroll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// prepared is what is to be done, after everything was read and before anything is written.
type prepared struct {
	checkout   checkout
	tree       tree
	management admin
	repository repository
	unpushed   bool // the checkout has commits that the repository has not
}

// prepare reads the checkout, the clusters and the repository.
func (b *bootstrap) prepare(c *cobra.Command, dir string) (prepared, error) {
	ctx := c.Context()
	defer b.notes.Show(ctx, live.Repository)()
	out := prepared{}
	var err error
	if out.checkout, err = b.openCheckout(ctx, dir); err != nil {
		return out, err
	}
	if out.tree, err = b.readTree(c, out.checkout); err != nil {
		return out, err
	}
	names, contexts, err := b.clusters()
	if err != nil {
		return out, err
	}
	cfg, err := b.f.Management.Config()
	if err != nil {
		return out, err
	}
	b.f.Management.Announce(b.notes, nil)
	if out.management, err = openAdmin(cfg, b.f.Management.Timeout); err != nil {
		return out, err
	}
	system, err := out.management.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return out, fmt.Errorf("read the management cluster: %w", explained(err))
	}
	found, err := b.readClusters(ctx, names, contexts, string(system.UID))
	if err != nil {
		return out, err
	}
	missing, err := out.tree.declare(found, b.mesh, b.readable(out.checkout))
	if err != nil {
		return out, err
	}
	for _, note := range missing {
		cli.Say(b.notes, "note: "+note)
	}
	err = b.f.WithTree(c, out.tree.origin, func(w state.Snapshot, _ plan.Renderer) error { return out.tree.check(w.Fleet, found) })
	if err != nil {
		return out, err
	}
	if err := out.checkout.free(ctx, out.tree.files); err != nil {
		return out, err
	}
	b.contexts = nil
	for i, name := range names {
		b.contexts = append(b.contexts, string(name)+"="+contexts[i])
	}
	if out.repository, err = b.readRepository(ctx, out.management, out.checkout.branch); err != nil {
		return out, err
	}
	if out.unpushed, err = out.checkout.follows(ctx, out.repository.revision); err != nil {
		return out, err
	}
	return out, b.checkValues(out.repository.secret())
}

// openCheckout finds out where the declarations are, and in which repository linkwright will find them.
func (b *bootstrap) openCheckout(ctx context.Context, dir string) (checkout, error) {
	at, err := openCheckout(ctx, dir)
	if err != nil {
		return at, err
	}
	o := &b.f.Git.Options
	o.Repo, o.Ref, o.Path = cmp.Or(o.Repo, at.repo), cmp.Or(o.Ref, at.branch), at.path
	if o.Repo == "" {
		return at, cli.Usage("--repo is missing: the checkout has no remote to take the repository's address from")
	}
	uncommitted, err := at.mayCommit(ctx)
	if len(uncommitted) > 0 {
		cli.Say(b.notes, "warning: "+strings.Join(uncommitted, ", ")+": not committed, or changed since; the rights are also for these declarations, so commit them yourself")
	}
	return at, err
}

// checkValues refuses to overwrite a file that somebody may have changed.
func (b *bootstrap) checkValues(secret string) error {
	if b.values == "" {
		return nil
	}
	text, err := b.chartValues(secret).text()
	if err != nil {
		return err
	}
	switch old, err := os.ReadFile(b.values); {
	case err == nil && string(old) != text:
		return fmt.Errorf("--values %s: the file exists with other content: name another file, or remove it", b.values)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--values: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(b.values)); err != nil {
		return fmt.Errorf("--values: %w", err)
	}
	return nil
}

// readClusters reads the clusters of contexts, as import does.
func (b *bootstrap) readClusters(ctx context.Context, names []api.ClusterName, contexts []string, management string) ([]imported, error) {
	if len(names) == 0 {
		return nil, nil
	}
	f := importFlags{kubeconfig: b.login.kubeconfig, contexts: contexts, access: "secret", linkerd: b.linkerd, timeout: b.f.Management.Timeout}
	found, err := f.read(ctx, names, b.notes)
	known := map[string]api.ClusterName{}
	for i := range found {
		if same := known[found[i].facts.UID]; same != "" {
			return nil, cli.Usage("--context: %s and %s are one cluster (its kube-system has uid %s): leave one of them out", same, found[i].name, found[i].facts.UID)
		}
		known[found[i].facts.UID] = found[i].name
		found[i].access = "" // this command gives it
		if found[i].facts.UID == management {
			found[i].spec.Access = api.Access{InCluster: true}
			if server := found[i].facts.API.Server; !linkerd.Loopback(server) {
				found[i].spec.APIServer = server
			}
		}
	}
	return found, cmp.Or(err, b.setAddresses(found))
}

// setAddresses declares the addresses of --api-server.
func (b *bootstrap) setAddresses(found []imported) error {
	for _, a := range b.addresses {
		name, address, ok := strings.Cut(a, "=")
		at := slices.IndexFunc(found, func(c imported) bool { return string(c.name) == name })
		switch {
		case !ok || !strings.HasPrefix(address, "https://"):
			return cli.Usage("--api-server %q: want NAME=https://HOST:PORT", a)
		case at < 0:
			return cli.Usage("--api-server %s: no --context is of cluster %s", a, name)
		}
		c := &found[at]
		c.spec.APIServer = address
		c.facts = linkerd.FactsOf(c.spec, c.facts.API.Server, c.seen)
	}
	return nil
}

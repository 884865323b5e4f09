package enroll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

// bootstrap is what the command was asked for. It gives access as `cluster add --all` does.
type bootstrap struct {
	enrollment
	mesh, image, values string
	named, addresses    []string    // of --context and --api-server
	parsed              *chartImage // --image
}

func bootstrapCommand() *cobra.Command {
	b := bootstrap{enrollment: enrollment{f: &cli.Common{}, all: true, declared: true, done: &results{}}}
	var out cli.Format
	c := &cobra.Command{
		Use:   "bootstrap [DIRECTORY] --context CONTEXT --context CONTEXT",
		Short: "Prepare clusters and a repository for linkwright, in one go",
		Long: `Prepare everything that linkwright needs, with your own logins, and commit what
it is to follow. DIRECTORY is where the declarations are, or will be, in a
checkout of their Git repository; the default is the working directory.

  1. It declares the cluster of each context, and the links that exist between
     them, as "import" does. --mesh declares that all clusters are linked.
  2. It gives linkwright access to all declared clusters, as
     "cluster add --all" does.
  3. It reads the repository with the credentials that --git-… flags name, and
     writes them into the Secret linkwright-git of the management cluster.
  4. It commits the new declarations to the branch that is checked out. You push
     that commit.
  5. It prints the values for the Helm chart, or writes them into --values.

It first checks all of this and shows what it would write. Then it asks, unless
you use --yes. Without --yes and without a terminal it stops there, with exit
code 4. Run it again to add clusters, after links were added, or after it broke
off: it writes only what differs.

Without --context, all declared clusters are meant, by the contexts of their
names. The cluster of the management cluster's context is declared with
access.inCluster.`,
		Example: `  linkwright bootstrap fleet --context west --context east --mesh prod \
      --management-context west --git-credentials-dir git \
      --image registry.example.com/linkwright:v1 --values values.yaml
  linkwright bootstrap fleet --context north --management-context west`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if b.notes, _, err = b.f.Management.Display(c); err != nil {
				return err
			}
			if err = b.check(args); err != nil {
				return err
			}
			prepared, err := b.prepare(c, cmp.Or(append(args, ".")[0], "."))
			if err != nil {
				return cmp.Or(cli.Interrupted(c.Context()), err)
			}
			return b.do(c, prepared, out.Format)
		},
	}
	b.addFlags(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	return c
}

func (b *bootstrap) addFlags(f *pflag.FlagSet) {
	b.f.Management.Prefixed() // --kubeconfig and --context are of the clusters that are added
	b.f.Add(f)
	b.f.Writing.AddAsking(f)
	cli.Group(f, cli.GroupClusters, b.f.Management.AddImages)
	f.StringVar(&b.login.kubeconfig, "kubeconfig", "", "file with the contexts (default: those of KUBECONFIG, merged, or ~/.kube/config)")
	f.StringArrayVar(&b.named, "context", nil, "[NAME=]CONTEXT: a cluster, with a login that may give rights there; it is named as its context if NAME is left out (repeatable)")
	f.StringArrayVar(&b.addresses, "api-server", nil, "NAME=URL: https address of a cluster's API server for other clusters, and for linkwright if that of the context works only on this machine (default: the context's; repeatable)")
	cli.WithoutVariable(f, "kubeconfig", "context", "api-server")
	f.StringVar(&b.linkerd.Namespace, "linkerd-namespace", api.DefaultNamespace, "namespace of Linkerd's control plane in clusters that are not declared yet")
	f.StringVar(&b.linkerd.MulticlusterNamespace, "multicluster-namespace", api.DefaultMulticlusterNamespace, "namespace of the links in clusters that are not declared yet")
	f.StringVar(&b.mesh, "mesh", "", "declare a Mesh of this name, which links all clusters with each other")
	f.StringVar(&b.image, "image", "", "linkwright's image for the values: REPOSITORY:TAG or REPOSITORY@sha256:DIGEST")
	f.StringVar(&b.values, "values", "", "file for the values of the Helm chart (default: standard output)")
	b.addRights(f)
}

// check refuses flags that contradict each other, and takes the others apart.
func (b *bootstrap) check(args []string) (err error) {
	o := b.f.Git.Options
	switch {
	case len(args) > 0 && strings.Contains(args[0], "://"):
		return cli.Usage("%s: name a directory in a checkout of the repository", args[0])
	case o.Path != "":
		return cli.Usage("--path %s: leave it out, and name the directory of the declarations in your checkout", o.Path)
	case b.ttl < shortest:
		return cli.Usage("--ttl %s: want at least %s", b.ttl, shortest)
	}
	if err := b.f.Management.Check(); err != nil {
		return err
	}
	if b.mesh != "" {
		if err := api.CheckClusterName(api.ClusterName(b.mesh)); err != nil {
			return cli.Usage("--mesh: %w", err)
		}
	}
	if b.parsed, err = parseImage(b.image); err != nil {
		return err
	}
	b.f.Management.Kubeconfig = cmp.Or(b.f.Management.Kubeconfig, b.login.kubeconfig)
	b.account = b.f.Management.Namespace + "/" + object.Manager(b.f.Management.Owner)
	return b.checkGrantee()
}

// clusters are those of --context, and their contexts.
func (b *bootstrap) clusters() (names []api.ClusterName, contexts []string, err error) {
	for _, c := range b.named {
		name, context, ok := strings.Cut(c, "=")
		if !ok {
			context = name
		}
		if err := api.CheckClusterName(api.ClusterName(name)); err != nil {
			return nil, nil, cli.Usage("--context %s: %w; name its cluster: --context NAME=%s", c, err, context)
		}
		if slices.Contains(names, api.ClusterName(name)) {
			return nil, nil, cli.Usage("--context %s: two contexts are of cluster %s: name one of the clusters with --context NAME=%s", c, name, context)
		}
		names, contexts = append(names, api.ClusterName(name)), append(contexts, context)
	}
	return names, contexts, nil
}

// do shows what it would write, asks, and writes it.
func (b *bootstrap) do(c *cobra.Command, p prepared, as report.Format) error {
	asked, shown := b.f.Writing, b.notes
	if !asked.Dry() {
		b.f.Writing.Mode = cli.DryRunClient
	}
	if asked.Yes() {
		b.notes = live.New(live.Options{Out: io.Discard})
	}
	if err := b.write(c, p, shown); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	b.notes = shown
	nothing := len(b.done.written)+len(p.tree.files) == 0
	if nothing {
		b.f.Writing = asked
		cli.Say(b.notes, "nothing to write: the clusters, the Secrets and the declarations are as they should be")
	}
	if nothing || asked.Dry() {
		asked.Ended(b.notes)
		return b.answer(c, p, as)
	}
	if !asked.Yes() {
		if err := asked.Confirm(c, "Write all of this?"); err != nil {
			return errors.Join(b.answer(c, p, as), err)
		}
		b.notes.Writes()
	}
	b.f.Writing, b.done.written = asked, nil
	if err := b.write(c, p, shown); err != nil {
		return errors.Join(b.answer(c, p, as), fmt.Errorf("%w\nThe declarations were not committed: run the command again, it goes on with what is missing", err))
	}
	return b.answer(c, p, as)
}

// write does all of it in an order in which nothing is followed before linkwright can read it: the access first, and the commit last. In a dry
// run it only shows it.
func (b *bootstrap) write(c *cobra.Command, p prepared, shown *live.Display) error {
	ctx := c.Context()
	defer shown.Show(ctx, live.Clusters)()
	if err := p.management.grant(ctx, []any{restricted(b.f.Management.Namespace)}, b.granting("")); err != nil {
		return err
	}
	err := b.f.WithTree(c, p.tree.origin, func(w state.Snapshot, r plan.Renderer) error { return b.enrollAll(ctx, w, r) })
	b.done.warnLocal(b.notes)
	if err != nil {
		return err
	}
	if err := b.writeGitSecret(ctx, p.management, p.repository); err != nil {
		return err
	}
	return b.commit(ctx, p)
}

// commit commits the new declarations.
func (b *bootstrap) commit(ctx context.Context, p prepared) error {
	if len(p.tree.files) == 0 {
		cli.Say(b.notes, "nothing to commit, because every cluster of the contexts is declared")
		return nil
	}
	names := slices.Sorted(maps.Keys(p.tree.files))
	if b.f.Writing.Dry() {
		for _, name := range names {
			cli.Say(b.notes, fmt.Sprintf("%s would be committed:\n%s", filepath.Join(p.checkout.dir, name), indented(p.tree.files[name])))
		}
		return nil
	}
	if err := cli.Interrupted(ctx); err != nil {
		return err
	}
	hash, err := p.checkout.commit(ctx, p.tree.files, p.tree.subject())
	if err != nil {
		return err
	}
	b.done.commit = hash
	cli.Say(b.notes, fmt.Sprintf("%s committed as %.7s", strings.Join(names, ", "), hash))
	return nil
}

// indented is a text, four columns to the right.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// answer prints the values, and what to do next.
func (b *bootstrap) answer(c *cobra.Command, p prepared, as report.Format) error {
	values := b.chartValues(p.repository.secret())
	text, err := values.text()
	if err != nil {
		return err
	}
	file := "values.yaml"
	if b.values != "" && !b.f.Writing.Dry() && (b.done.commit != "" || len(p.tree.files) == 0) {
		file = b.values
		if err := os.WriteFile(b.values, []byte(text), 0o644); err != nil { //nolint:gosec // it has no secret
			return fmt.Errorf("--values: %w", err)
		}
		cli.Say(b.notes, "values of the Helm chart written to "+b.values)
		text = ""
	}
	if err := cli.Write(c.OutOrStdout(), as, b.done.bootstrapped(b.f.Writing, p.tree.files, values, text)); err != nil {
		return err
	}
	b.next(p, file)
	return nil
}

// next says what is left to do.
func (b *bootstrap) next(p prepared, values string) {
	if p.tree.linkless {
		cli.Say(b.notes, "note: no link is declared: declare a Link or a Mesh, or run this again with --mesh NAME")
	}
	if b.parsed == nil && b.values != "" {
		cli.Say(b.notes, "note: the values have no image: give --image, or set image.repository")
	}
	push := b.done.commit != "" || p.unpushed
	if b.f.Writing.Dry() || !push && b.values == "" {
		return
	}
	cli.Say(b.notes, "next:")
	if push {
		cli.Say(b.notes, "  "+command("git", "-C", p.checkout.dir, "push", "--set-upstream", p.checkout.remote, p.checkout.branch))
	}
	if b.values == "" {
		return
	}
	words := []string{"helm", "upgrade", "--install", "linkwright", "CHART", "--namespace", b.f.Management.Namespace, "--values", values}
	if file := b.f.Management.Kubeconfig; file != "" {
		words = append(words, "--kubeconfig", file)
	}
	if context := b.f.Management.Context; context != "" {
		words = append(words, "--kube-context", context)
	}
	cli.Say(b.notes, "  "+command(words...))
}

// command is a command as a shell reads it.
func command(words ...string) string {
	for i, w := range words {
		words[i] = cli.Quoted(w)
	}
	return strings.Join(words, " ")
}

// bootstrapped is the answer for programs; as text, it is the values.
func (r results) bootstrapped(w cli.Writing, files map[string]string, values chartValues, text string) report.Answer {
	out := output.Bootstrap{
		TypeMeta: output.Of(output.KindBootstrap), DryRun: w.DryMode(), Values: values, Commit: r.commit, Written: r.written, Files: []output.File{},
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out.Files = append(out.Files, output.File{Name: name, Content: files[name]})
	}
	return report.Plain(out, text)
}

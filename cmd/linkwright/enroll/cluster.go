package enroll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func clusterCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster add NAME --context CONTEXT",
		Short: "Give linkwright access to clusters",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
		Args:  cobra.NoArgs,
	}
	c.AddCommand(clusterAddCommand())
	return c
}

// enrollment is what `cluster add` was asked for.
type enrollment struct {
	f        *cli.Common
	name     api.ClusterName
	all      bool     // every cluster of the repository
	contexts []string // of --context
	declared bool     // in the repository that was named
	login    login    // the operator's own
	account  string
	secret   string
	linkerd  api.Linkerd
	ttl      time.Duration
	force    bool
	grantee  grantee
	notes    *live.Display // what is said beside the declaration, and what is waited for
	done     *results
}

func clusterAddCommand() *cobra.Command {
	e := enrollment{f: &cli.Common{}, done: &results{}}
	var out cli.Format
	c := &cobra.Command{
		Use:   "add (NAME --context CONTEXT|--all) [PATH|REPO@REV]",
		Short: "Give linkwright access to a cluster, or to all",
		Long: `Give linkwright access to a cluster, with your own login. In the cluster of a
context of your kubeconfig it creates an account with the rights it needs there.
In the management cluster it creates a Secret with a kubeconfig of that account,
and the right to renew it. Then it prints the declaration to commit. Nothing
else happens until you commit it.

With PATH or REPO@REV the rights are what its declarations need, as "linkwright
rbac" prints them; they must name the cluster. Without, they are what links
without remote discovery and federation need in both directions. The command
changes rights that it gave before, and leaves those of others unless you use
--force. Admission policies confine the account to what linkwright does;
--confine=false leaves them out.

With --all it adds or renews every declared cluster, by the context of its name
or by --context NAME=CONTEXT. The cluster that linkwright runs in
(access.inCluster) gets its rights through --management-kubeconfig, and needs no
Secret. Use --all when a mesh grows, because all other clusters need a right for
the new cluster's Secret. If it fails in some clusters, it goes on with the
others, says which are done, and exits with 4. Run it again for the rest.

The token expires after --ttl, or sooner if the API server says so. linkwright
renews it after two thirds of that time. If linkwright was down for longer, run
this command again: it changes what differs, and keeps a token that works.`,
		Example: `  linkwright cluster add --all . --management-kubeconfig ../west.yaml
  linkwright cluster add east . --context kind-east \
      --management-kubeconfig ../west.yaml
  linkwright cluster add east --context kind-east \
      --management-kubeconfig ../west.yaml > east.yaml`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if e.notes, _, err = e.f.Management.Display(c); err != nil {
				return err
			}
			path, err := e.check(args)
			if err != nil {
				return err
			}
			err = e.run(c, path)
			e.done.warnLocal(e.notes)
			if err == nil {
				e.f.Writing.Ended(e.notes)
			}
			return e.answer(c, out.Format, err)
		},
	}
	e.addFlags(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	return c
}

// answer prints what is to be committed. A command that failed answers a program with what it wrote before.
func (e *enrollment) answer(c *cobra.Command, as report.Format, failed error) error {
	if failed != nil && len(e.done.written) == 0 {
		return failed
	}
	a, err := e.done.answer(e.f.Writing)
	if err == nil {
		err = cli.Write(c.OutOrStdout(), as, a)
	}
	return errors.Join(failed, err)
}

// run adds what was asked for.
func (e *enrollment) run(c *cobra.Command, path []string) error {
	switch {
	case e.all:
		return e.f.WithoutClusters(c, path, "", func(w state.Snapshot, r plan.Renderer) error { return e.enrollAll(c.Context(), w, r) })
	case e.declared:
		return e.f.WithoutClusters(c, path, "", func(w state.Snapshot, r plan.Renderer) error { return e.enrollOne(c.Context(), w, r) })
	}
	w, r, err := e.ordinaryFleet()
	if err != nil {
		return err
	}
	return e.enrollOne(c.Context(), w, r)
}

// enrollOne adds the one cluster that was named.
func (e *enrollment) enrollOne(ctx context.Context, w state.Snapshot, r plan.Renderer) error {
	defer e.notes.Show(ctx, live.Cluster(e.name))()
	err := e.enroll(ctx, w, r)
	if why := cli.Interrupted(ctx); err != nil && why != nil {
		return fmt.Errorf("%w: cluster %s was not added; run the command again", why, e.name)
	}
	return err
}

func (e *enrollment) addFlags(f *pflag.FlagSet) {
	e.f.Management.Prefixed() // --kubeconfig and --context are of the clusters that are added
	e.f.Add(f)
	e.f.Writing.Add(f)
	cli.Group(f, cli.GroupClusters, e.f.Management.AddImages)
	f.StringVar(&e.login.kubeconfig, "kubeconfig", "", "file with the contexts (default: those of KUBECONFIG, merged, or ~/.kube/config)")
	f.StringArrayVar(&e.contexts, "context", nil, "context of the cluster, with a login that may give rights there; with --all NAME=CONTEXT, repeatable, by default the context of the cluster's name")
	cli.WithoutVariable(f, "kubeconfig", "context")
	f.BoolVar(&e.all, "all", false, "every cluster of PATH or REPO@REV")
	f.StringVar(&e.login.server, "api-server", "", "https address of its API server, as linkwright reaches it (default: the context's)")
	f.StringVar(&e.account, "account", "linkwright/linkwright", "NAMESPACE/NAME of linkwright's account, there and in the management cluster")
	f.StringVar(&e.secret, "secret", "", "name of the Secret in the management cluster (default: NAME)")
	f.StringVar(&e.linkerd.Namespace, "linkerd-namespace", api.DefaultNamespace, "namespace of Linkerd's control plane there; with PATH as declared")
	f.StringVar(&e.linkerd.MulticlusterNamespace, "multicluster-namespace", api.DefaultMulticlusterNamespace, "namespace of the links there; with PATH as declared")
	e.addRights(f)
}

// addRights adds the flags about the token and the rights.
func (e *enrollment) addRights(f *pflag.FlagSet) {
	e.ttl = 90 * 24 * time.Hour
	f.Var(&cli.Span{At: &e.ttl}, "ttl", "lifetime of a token, at least 10m; the API server may grant less")
	f.BoolVar(&e.grantee.wide, "wide", false, wideUsage)
	f.BoolVar(&e.grantee.sweep, "sweep", false, sweepUsage)
	f.BoolVar(&e.grantee.confined, "confine", true, confineUsage)
	f.BoolVar(&e.force, "force", false, "overwrite rights and a Secret of the same names that others made")
}

// shortest is what API servers grant at least (kubernetes pkg/apis/authentication/validation).
const shortest = 10 * time.Minute

// check gives the arguments that name the repository.
func (e *enrollment) check(args []string) (path []string, err error) {
	if err := e.f.Management.Check(); err != nil {
		return nil, err
	}
	if e.all {
		path, err = e.checkAll(args)
	} else {
		path, err = e.checkOne(args)
	}
	switch {
	case err != nil:
		return nil, err
	case e.ttl < shortest:
		return nil, cli.Usage("--ttl %s: want at least %s", e.ttl, shortest)
	case e.login.server != "" && !strings.HasPrefix(e.login.server, "https://"):
		return nil, cli.Usage("--api-server %q: want https://", e.login.server)
	}
	return path, e.checkGrantee()
}

// checkGrantee completes the account that gets the rights.
func (e *enrollment) checkGrantee() (err error) {
	asked := e.grantee
	if e.grantee, err = accountOf(e.account); asked.wide {
		cli.Say(e.notes, "warning: --wide: anybody with linkwright's token can read and change every Secret of the control plane's namespace, also the key of Linkerd's issuer, and so issue identities of the mesh")
	}
	e.grantee.name, e.grantee.wide, e.grantee.confined, e.grantee.sweep = object.Manager(e.f.Management.Owner), asked.wide, asked.confined, asked.sweep
	e.grantee.images, e.grantee.record = e.f.Management.Images, e.f.Management.Namespace
	return err
}

func (e *enrollment) checkOne(args []string) (path []string, err error) {
	if len(args) == 0 {
		return nil, cli.Usage("the cluster is missing: give its name, or --all PATH")
	}
	e.name, e.declared = api.ClusterName(args[0]), len(args) > 1
	if err := api.CheckClusterName(e.name); err != nil {
		return nil, cli.Usage("NAME: %w", err)
	}
	if problems := validation.IsDNS1123Subdomain(e.secret); e.secret != "" && len(problems) > 0 {
		return nil, cli.Usage("--secret %q: %s", e.secret, strings.Join(problems, "; "))
	}
	if len(e.contexts) != 1 || e.contexts[0] == "" {
		return nil, cli.Usage("--context is missing: give a context of your kubeconfig")
	}
	e.login.context = strings.TrimPrefix(e.contexts[0], string(e.name)+"=")
	return args[1:], nil
}

// enroll does it, in the order in which nothing is left half usable: what is asked of both clusters first, then the account
// with its rights, then a token that is tried, and last the Secret by which it counts.
func (e *enrollment) enroll(ctx context.Context, w state.Snapshot, r plan.Renderer) error {
	c, ok := w.Fleet.Cluster(e.name)
	if !ok {
		return fmt.Errorf("cluster %s is not declared there: commit it first, or leave the repository out", e.name)
	}
	if c.Spec.Access.InCluster {
		return e.grantInManagement(ctx, w, *c, r)
	}
	entry, err := e.entry(*c)
	if err != nil {
		return err
	}
	there, err := e.login.open(e.f.Management.Timeout)
	if err != nil {
		return err
	}
	if there.at.IsLocal() && c.Spec.APIServer != "" {
		there.at.Server = c.Spec.APIServer
	}
	uid, err := there.identity(ctx, c.Spec.Linkerd)
	if err != nil {
		return fmt.Errorf("read the cluster of context %s: %w", e.login.context, err)
	}
	store, err := e.openSecretStore(ctx, entry)
	if err != nil {
		return err
	}
	defer store.management.Close(ctx)
	if err := store.checkFree(ctx, e, uid); err != nil {
		return err
	}
	objects, err := e.objects(ctx, there.admin, w, *c, r)
	if err != nil {
		return err
	}
	if !e.declared && !e.grantee.wide {
		cli.Say(e.notes, "note: without PATH this grants nothing for remote discovery and federated services: if links use them, add the path of the declarations")
	}
	if err := there.grant(ctx, append(objects, e.grantee.mayRenew()...), e.granting(e.name)); err != nil {
		return err
	}
	if err := store.admin.grant(ctx, e.grantee.mayWrite(e.f.Management.Namespace, e.secret), e.granting("")); err != nil {
		return err
	}
	if err := store.writeSecret(ctx, e, there, uid); err != nil {
		return err
	}
	e.declare(*c)
	return nil
}

// objects are the account and its rights, with those that links which are not through and a former overlay still need.
func (e *enrollment) objects(ctx context.Context, there admin, w state.Snapshot, c fleet.Cluster, r plan.Renderer) ([]any, error) {
	g, err := e.grantee.supported(ctx, there, e.granting(c.Name))
	if err != nil {
		return nil, err
	}
	objects, err := g.objects(w, c, r)
	if err != nil {
		return nil, err
	}
	recorded, err := there.recorded(ctx, w.Owner, object.End{Cluster: c.Name})
	if err != nil {
		return nil, err
	}
	if kinds := retainKinds(objects, recorded, e.mayHold(c.Spec.Linkerd.MulticlusterNamespace)); len(kinds) > 0 {
		cli.Say(e.notes, fmt.Sprintf("%s: rights on %s stay, because linkwright still has to remove what a former overlay brought in: run this again after the next sync", c.Name, strings.Join(kinds, ", ")))
	}
	if e.grantee.wide {
		return objects, nil
	}
	retained, err := there.retain(ctx, c.Spec.Linkerd.Namespace, objects)
	if len(retained) > 0 {
		cli.Say(e.notes, fmt.Sprintf("%s: rights on %s stay, because these Secrets still exist: run this again once the removed links are gone", c.Name, strings.Join(retained, ", ")))
	}
	return objects, err
}

// mayHold reports whether an overlay may bring in an object: its kind is allowed, and it is in the namespace of links.
func (e *enrollment) mayHold(multicluster string) func(object.Key) bool {
	return func(k object.Key) bool { return k.Namespace == multicluster && e.f.Overlays.MayAdd(k) }
}

func (e *enrollment) granting(where api.ClusterName) granting {
	return granting{cluster: where, force: e.force, writing: e.f.Writing, notes: e.notes, done: e.done}
}

// entry is where the access Secret has its kubeconfig; what is declared already counts.
func (e *enrollment) entry(c fleet.Cluster) (api.SecretKey, error) {
	declared := c.Spec.Access.KubeconfigSecret
	switch {
	case declared == nil:
		return api.SecretKey{}, cli.Usage("cluster %s is declared with another access than kubeconfigSecret: declare spec.access.kubeconfigSecret to use this command", e.name)
	case e.secret == "":
		e.secret = declared.Name
	case e.secret != declared.Name:
		return api.SecretKey{}, cli.Usage("--secret %s: cluster %s is declared with access.kubeconfigSecret.name %s: leave --secret out", e.secret, e.name, declared.Name)
	}
	return *declared, nil
}

// ordinaryFleet is a fleet of the cluster and another one, with what every link needs: tokens of both kinds, and no remote discovery.
func (e *enrollment) ordinaryFleet() (state.Snapshot, plan.Renderer, error) {
	peer := "peer"
	if e.name == "peer" {
		peer = "another"
	}
	text := fmt.Sprintf(`{apiVersion: %[1]s, kind: Cluster, metadata: {name: %[2]s}, spec: {access: {kubeconfigSecret: {name: %[3]q}}, linkerd: {namespace: %[4]q, multiclusterNamespace: %[5]q}}}
---
{apiVersion: %[1]s, kind: Cluster, metadata: {name: %[6]s}, spec: {access: {inCluster: true}, apiServer: "https://peer:6443"}}
---
{apiVersion: %[1]s, kind: Link, metadata: {name: out}, spec: {source: %[2]s, target: %[6]s}}
---
{apiVersion: %[1]s, kind: Link, metadata: {name: in}, spec: {source: %[6]s, target: %[2]s, credentials: {mode: Bound}}}
`, api.GroupVersion, e.name, cmp.Or(e.secret, string(e.name)), e.linkerd.Namespace, e.linkerd.MulticlusterNamespace, peer)
	f, err := loaded(text)
	if err != nil {
		return state.Snapshot{}, nil, err
	}
	o, err := cli.NewOffline(e.f.Management.Owner, "")
	if err != nil {
		return state.Snapshot{}, nil, err
	}
	return o.Snapshot(f), render.New(e.f.Management.Owner), nil
}

// loaded is what one file declares. What is wrong with it came from flags.
func loaded(text string) (*fleet.Fleet, error) {
	dir, err := os.MkdirTemp("", "linkwright-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays in a temporary directory harms nobody
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	f, problems := fleet.Load("", os.DirFS(dir))
	if f == nil {
		return nil, cli.Usage("--secret, --linkerd-namespace or --multicluster-namespace: %s", problems[0].Message)
	}
	return f, nil
}

// printDeclaration prints what is to be committed, where it is not yet.
func (e *enrollment) declare(c fleet.Cluster) {
	if e.all {
		return
	}
	if e.declared {
		cli.Say(e.notes, fmt.Sprintf("%s: nothing to commit, because it is declared", e.name))
		return
	}
	cli.Say(e.notes, fmt.Sprintf("%s: commit the printed declaration", e.name))
	d := &doc{kind: "Cluster", name: string(e.name), spec: map[string]any{
		"access": map[string]any{"kubeconfigSecret": map[string]any{"name": c.Spec.Access.KubeconfigSecret.Name}},
	}}
	d.namespaces(c.Spec.Linkerd)
	e.done.docs = append(e.done.docs, d)
}

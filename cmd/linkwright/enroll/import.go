package enroll

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// importFlags say which clusters are read, and how they are called.
type importFlags struct {
	kubeconfig string
	contexts   []string
	names      []string // CONTEXT=NAME
	access     string
	linkerd    api.Linkerd
	timeout    time.Duration
}

func importCommand() *cobra.Command {
	f := importFlags{timeout: 15 * time.Second}
	var out cli.Format
	c := &cobra.Command{
		Use:   "import --kubeconfig FILE --context A --context B",
		Short: "Print declarations for links that exist",
		Long: `Print declarations for links that exist: a Cluster for each context, and a Link
for each Linkerd Link between them. It leaves out what linkwright reads live,
and declares what differs. Comments say what it could not find out, and what to
do next. Nothing is written anywhere.

Clusters have the names of their contexts, or those of --name. Linkerd Links
name their targets, so use the names that the links use. Put the output into a
repository, read it, and go on with "validate", "diff" and "adopt".`,
		Example: `  linkwright import --kubeconfig ~/.kube/config --context east --context west > fleet.yaml
  linkwright import --kubeconfig config --context kind-a --context kind-b \
      --name kind-a=east --name kind-b=west`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			names, err := f.check()
			if err != nil {
				return err
			}
			show := cli.DisplayOf(c, f.timeout)
			found, err := f.read(c.Context(), names, show)
			if err = cmp.Or(cli.Interrupted(c.Context()), err); err != nil {
				return err
			}
			a, err := declarations(found).answer(cli.Writing{})
			if err != nil {
				return err
			}
			return cli.Write(c.OutOrStdout(), out.Format, a)
		},
	}
	out.Add(c.Flags(), report.DescribeFormats())
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "file with the contexts (default: those of KUBECONFIG, merged, or ~/.kube/config)")
	c.Flags().StringArrayVar(&f.contexts, "context", nil, "read the cluster of this context (repeatable)")
	cli.WithoutVariable(c.Flags(), "kubeconfig", "context")
	c.Flags().StringArrayVar(&f.names, "name", nil, "CONTEXT=NAME: what its cluster is called (default: like the context; repeatable)")
	c.Flags().StringVar(&f.access, "access", "secret", "how linkwright is to reach the clusters: secret (access.kubeconfigSecret) or path (access.kubeconfig)")
	cli.OneOf(c.Flags(), "access", "secret", "path")
	c.Flags().StringVar(&f.linkerd.Namespace, "linkerd-namespace", api.DefaultNamespace, "namespace of the control plane in all of them")
	c.Flags().StringVar(&f.linkerd.MulticlusterNamespace, "multicluster-namespace", api.DefaultMulticlusterNamespace, "namespace of the links in all of them")
	c.Flags().Var(&cli.Span{At: &f.timeout}, "cluster-timeout", cli.TimeoutUsage)
	return c
}

// check gives the names of clusters, in the order of their contexts.
func (f *importFlags) check() ([]api.ClusterName, error) {
	if len(f.contexts) == 0 {
		return nil, cli.Usage("--context is missing: give it once for each cluster")
	}
	if f.access != "secret" && f.access != "path" {
		return nil, cli.Usage("--access %s: want secret or path", f.access)
	}
	called := map[string]string{}
	for _, n := range f.names {
		ctx, name, ok := strings.Cut(n, "=")
		if !ok || !slices.Contains(f.contexts, ctx) {
			return nil, cli.Usage("--name %q: want CONTEXT=NAME, of a --context", n)
		}
		called[ctx] = name
	}
	var out []api.ClusterName
	for _, ctx := range f.contexts {
		name := api.ClusterName(ctx)
		if n, ok := called[ctx]; ok {
			name = api.ClusterName(n)
		}
		if err := api.CheckClusterName(name); err != nil {
			return nil, cli.Usage("context %s: %w; name its cluster with --name %s=NAME", ctx, err, ctx)
		}
		if slices.Contains(out, name) {
			return nil, cli.Usage("two contexts are called %s: give one another --name", name)
		}
		out = append(out, name)
	}
	return out, nil
}

// imported is one cluster as it was read.
type imported struct {
	name   api.ClusterName
	spec   api.Cluster // without what is read live
	access string      // a comment on it
	facts  linkerd.Facts
	seen   object.Observation
}

func (f *importFlags) read(ctx context.Context, names []api.ClusterName, show *live.Display) ([]imported, error) {
	defer show.Show(ctx, live.Cluster(names[0]))()
	file, raw, err := cli.Kubeconfig(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	registry := cluster.New(cluster.Options{Owner: object.DefaultOwner, Timeout: f.timeout})
	out := make([]imported, len(names))
	for i, name := range names {
		show.Nth(names, i)
		cfg, err := cli.Login(file, raw, f.contexts[i])
		if err != nil {
			return nil, err
		}
		if err := registry.Spawn(ctx, name, cfg); err != nil {
			return nil, fmt.Errorf("connect to cluster %s: %w", name, err)
		}
		out[i] = imported{name: name, spec: api.Cluster{Linkerd: f.linkerd}.WithDefaults()}
		f.reach(&out[i], file, f.contexts[i])
		err = registry.WithClient(ctx, name, func(c *cluster.Client) (err error) {
			out[i].seen, err = observeForImport(ctx, c, out[i].spec)
			return err
		})
		_ = registry.Stop(context.WithoutCancel(ctx), name) // nothing is under way
		if err != nil {
			why := cluster.Explain(err)
			return nil, fmt.Errorf("read cluster %s: %s: %s", name, why.Code, why.Message)
		}
		out[i].facts = linkerd.FactsOf(out[i].spec, cfg.Host, out[i].seen)
	}
	return out, nil
}

// observeForImport reads a cluster. If it does not serve the current version of Linkerd Links, it is read once more, with older versions.
func observeForImport(ctx context.Context, c *cluster.Client, spec api.Cluster) (object.Observation, error) {
	watches := watchesForImport(spec)
	seen, err := c.Observe(ctx, watches)
	if older := linkerd.OlderWatches(seen); err == nil && len(older) > 0 {
		return c.Observe(ctx, append(watches, older...))
	}
	return seen, err
}

// fileOf is the one file that holds a context, of a list of them.
func fileOf(files, context string) string {
	for _, file := range filepath.SplitList(files) {
		if config, err := clientcmd.LoadFromFile(file); err == nil && config.Contexts[context] != nil {
			return file
		}
	}
	return files
}

// reach says how linkwright is to reach a cluster.
func (f *importFlags) reach(c *imported, file, context string) {
	if f.access == "path" {
		c.spec.Access = api.Access{Kubeconfig: &api.KubeconfigFile{Path: fileOf(file, context), Context: context}}
		c.access = "needs --allow-kubeconfig-paths"
		return
	}
	c.spec.Access = api.Access{KubeconfigSecret: &api.SecretKey{Name: string(c.name)}}
	c.access = fmt.Sprintf("in the management cluster: kubectl -n linkwright create secret generic %s --from-file=kubeconfig=FILE, a self-contained kubeconfig for context %s", c.name, context)
}

// watchesForImport are facts, and all that shows how a link was made.
func watchesForImport(c api.Cluster) []object.Watch {
	ns := c.Linkerd.MulticlusterNamespace
	return append(linkerd.Watches(c),
		object.Watch{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: ns, Depth: object.Whole},
		object.Watch{Version: "v1", Kind: "Secret", Namespace: ns, Depth: object.Whole},
	)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/mirror/controller"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/lease"
)

// mirrorFlags are those of the service mirror.
type mirrorFlags struct {
	kubeconfig, context, namespace string
	selector                       string
	listen                         string
	headless                       []string
	namespaces, local              bool
	log                            cli.LogFlags
}

func mirrorCommand() *cobra.Command {
	var f mirrorFlags
	c := &cobra.Command{
		Use:   "mirror [LINK ...]",
		Short: "Mirror the services of all links of a cluster",
		Long: `Mirror the services of all links of a cluster, until you stop it.

It does what Linkerd's service mirror controllers do, in one process for all
Links of the cluster, or for those that you name. Mirrors, federated services,
endpoints, the status of Links and metrics have Linkerd's names.

A link has one writer at a time: the process that holds Linkerd's Lease for it.
So you can run several replicas, and Linkerd's own controllers beside them.
A credential that changes takes effect without a restart.

It runs in the cluster that it mirrors into, in a pod with Linkerd's proxy,
because gateways are probed through the proxy. It serves /metrics, /ready and
/ping.`,
		Example: `  linkwright mirror
  linkwright mirror east north --kubeconfig west.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, links []string) error {
			for _, name := range links {
				if err := api.CheckClusterName(api.ClusterName(name)); err != nil {
					return cli.Usage("link %q: %v", name, err)
				}
			}
			selector, err := labels.Parse(f.selector)
			if err != nil {
				return cli.Usage("--selector %q: %v", f.selector, err)
			}
			log, err := f.log.Open(c.ErrOrStderr())
			if err != nil {
				return err
			}
			return f.run(c.Context(), links, selector, log)
		},
	}
	cli.Group(c.Flags(), cli.GroupClusters, f.addCluster)
	f.add(c.Flags())
	f.log.Add(c.Flags())
	return c
}

func (f *mirrorFlags) addCluster(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster to mirror into (default: KUBECONFIG, the cluster this runs in, or ~/.kube/config)")
	flags.StringVar(&f.context, "context", "", "context of the cluster to mirror into (default: the current one)")
	flags.StringVar(&f.namespace, "multicluster-namespace", "linkerd-multicluster", "namespace of the Links")
	cli.WithoutVariable(flags, "kubeconfig", "context") // in the environment they are those of the management cluster
}

func (f *mirrorFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", fmt.Sprintf(":%d", linkerd.AdminPort), "address of the HTTP server")
	flags.StringVarP(&f.selector, "selector", "l", "", "labels of the Links to mirror (default: all)")
	flags.StringSliceVar(&f.headless, "enable-headless-services", nil, `links whose headless services get a service for each named address; "*": all`)
	flags.BoolVar(&f.namespaces, "enable-namespace-creation", false, "create the namespace of an exported service if it is missing")
	flags.BoolVar(&f.local, "local", true, "make this cluster's own services members of federated services, unless Linkerd's local mirror does")
}

// run mirrors until ctx ends.
func (f *mirrorFlags) run(ctx context.Context, links []string, selector labels.Selector, log *slog.Logger) error {
	limitMemory(log)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // caches are most of the memory, and rarely change
	}
	cfg, where, err := cli.FindCluster(f.kubeconfig, f.context)
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	cfg.QPS = -1 // all Leases are taken at once
	log.Info("mirroring into", "server", cfg.Host, "found", where, "namespace", f.namespace)
	client, err := coordination.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	host, err := os.Hostname() // the pod's name, by which `linkerd multicluster check` finds the leader
	if err != nil {
		return fmt.Errorf("find the name of this pod: %w", err)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mirrors, err := controller.New(controller.Options{
		Source: cfg, Namespace: f.namespace, Links: links, Local: f.local, Headless: f.headless, CreateNamespaces: f.namespaces, Log: log, Metrics: metrics,
		Selector: selector,
		Config:   func(raw []byte) (*rest.Config, error) { return cluster.ParseKubeconfig(raw, "", cluster.Trust{}) },
		Lease: func(name string) controller.Lease {
			return lease.Lock{
				Client: client, Namespace: f.namespace, Name: name, Identity: host, Borrowed: true,
				Duration: 30 * time.Second, Renew: 20 * time.Second, Retry: 4 * time.Second, // Linkerd's duration
			}
		},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	log.Info("listening", "address", listener.Addr().String())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, listener, mirrorHandler(mirrors, metrics)) })
	g.Go(func() error {
		if err := mirrors.Run(ctx); err != nil {
			return err
		}
		return errMirrorEnded
	})
	if err := g.Wait(); !errors.Is(err, errMirrorEnded) {
		return err
	}
	log.Info("stopped")
	return nil
}

// errMirrorEnded ends the HTTP server, too.
var errMirrorEnded = errors.New("the mirror ended")

// mirrorHandler serves what Linkerd's controller does.
func mirrorHandler(c *controller.Controller, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { cli.Say(w, "pong") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := c.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		cli.Say(w, "ok")
	})
	return mux
}

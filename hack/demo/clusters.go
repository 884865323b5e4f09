package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
)

const (
	management = "west"       // the management cluster: it has the daemon's Lease, record and access Secrets
	namespace  = "linkwright" // of the daemon in the management cluster
	shop       = "shop"       // the namespace of the exported service
	exported   = "web"
)

// defaultClusters is how many clusters there are if nothing else is asked for.
const defaultClusters = 3

// clusterNames are the names of so many clusters; the first is the management cluster.
func clusterNames(n int) ([]string, error) {
	names := []string{management, "east", "north", "south", "centre"}
	if n < 2 || n > len(names) {
		return nil, fmt.Errorf("CLUSTERS=%d: the demo runs 2 to %d clusters", n, len(names))
	}
	return names[:n], nil
}

// cluster is one of the demo's clusters, with clients to read it.
type cluster struct {
	*testbed.Cluster
	Gateway string // address of its load balancer

	kube     kubernetes.Interface
	links    dynamic.ResourceInterface
	metadata metadata.Interface
}

func newCluster(c *testbed.Cluster, gateway string) (*cluster, error) {
	cfg := c.As("linkwright-demo")
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	links, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	gvr := schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}
	return &cluster{
		Cluster: c, Gateway: gateway,
		kube: kube, links: links.Resource(gvr).Namespace(testbed.Multicluster), metadata: meta,
	}, nil
}

// startClusters starts the clusters, exports a Service of each, and creates what a user of linkwright has before its first run.
func (d *demo) startClusters(ctx context.Context) error {
	if err := d.startBed(ctx); err != nil {
		return err
	}
	var g errgroup.Group
	for _, c := range d.clusters {
		g.Go(func() error { return c.export(ctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := d.cluster(management).createAccess(ctx, d.clusters); err != nil {
		return err
	}
	d.showClusters()
	return nil
}

// startBed starts the clusters, and what linkwright reads of Linkerd in them.
func (d *demo) startBed(ctx context.Context) error {
	names, err := clusterNames(d.Clusters)
	if err != nil {
		return err
	}
	bed, err := testbed.Start(ctx, testbed.Options{Names: names, Dir: filepath.Join(d.dir, "clusters")})
	if err != nil {
		return err
	}
	d.atClose(bed.Close)
	for i, b := range bed.Clusters {
		c, err := newCluster(b, fmt.Sprintf("192.0.2.%d", 11+i))
		if err != nil {
			return fmt.Errorf("connect to cluster %s: %w", b.Name, err)
		}
		d.clusters = append(d.clusters, c)
	}
	var g errgroup.Group
	for _, c := range d.clusters {
		g.Go(func() error { return c.installLinkerd(ctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return d.startMirrors(ctx)
}

func (d *demo) showClusters() {
	rows := [][]string{{"CLUSTER", "GATEWAY", "ROLE"}}
	for _, c := range d.clusters {
		rows = append(rows, []string{c.Name, c.Gateway, ""})
	}
	rows[1][2] = "management cluster, with a kubeconfig of each cluster"
	d.screen.result("%d clusters are ready. Each exports the Service %s/%s.", len(d.clusters), shop, exported)
	d.screen.table(rows)
}

// installLinkerd installs what linkwright reads of Linkerd.
func (c *cluster) installLinkerd(ctx context.Context) error {
	if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{GatewayAddresses: []string{c.Gateway}}); err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	return nil
}

// export exports one Service.
func (c *cluster) export(ctx context.Context) error {
	err := testbed.Export(ctx, c.Config, testbed.Exported{
		Namespace: shop, Name: exported,
		Labels: map[string]string{testbed.ExportedLabel: "true", testbed.FederatedLabel: "member"},
	})
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	return nil
}

// startMirrors runs a service mirror for every controller's pod of every cluster, until the demo ends: no kubelet starts what is in the pods.
func (d *demo) startMirrors(ctx context.Context) error {
	file, err := os.Create(d.mirrorLog())
	if err != nil {
		return fmt.Errorf("run service mirrors: %w", err)
	}
	d.atClose(file.Close)
	log := slog.New(slog.NewTextHandler(file, nil))
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // the daemon stops before them, also at Ctrl-C
	var g errgroup.Group
	for _, c := range d.clusters {
		g.Go(func() error {
			return testbed.RunMirrors(ctx, c.Config, testbed.MirrorOptions{
				Log:    log.With("cluster", c.Name),
				Failed: func(link string, err error) { log.Warn("mirror failed", "cluster", c.Name, "link", link, "error", err) },
			})
		})
	}
	d.atClose(func() error {
		stop()
		return g.Wait()
	})
	return nil
}

func (d *demo) mirrorLog() string { return filepath.Join(d.dir, "mirrors.log") }

// createAccess creates the Secrets from which the daemon reads the kubeconfig of every cluster.
func (c *cluster) createAccess(ctx context.Context, to []*cluster) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	for _, other := range to {
		kubeconfig, err := os.ReadFile(other.Kubeconfig)
		if err != nil {
			return fmt.Errorf("create access to %s: %w", other.Name, err)
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: other.Name},
			Data:       map[string][]byte{api.DefaultKubeconfigKey: kubeconfig},
		}
		if _, err := c.kube.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create access to %s: %w", other.Name, err)
		}
	}
	return nil
}

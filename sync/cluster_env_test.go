package sync_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	gosync "sync"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// clusterEnv is real clusters, dressed as Linkerd's, with a mirror controller's stand-in in each.
type clusterEnv struct {
	*testbed.ControlPlanes
	t      *testing.T
	policy string // a SyncPolicy that all declarations hold; empty: none
}

var names = []string{"east", "north", "west"}

// pool has the control planes of tests that are done.
var pool testbed.Pool

// newClusterEnv is of all names, if none are given.
func newClusterEnv(t *testing.T, of ...string) *clusterEnv {
	t.Helper()
	if len(of) == 0 {
		of = names
	}
	return newSkewedEnv(t, of, nil)
}

// newSkewedEnv returns a bed whose clusters' clocks go ahead of linkwright.
func newSkewedEnv(t *testing.T, of []string, ahead map[string]time.Duration) *clusterEnv {
	t.Helper()
	t.Parallel()
	testbed.Need(t)
	if len(ahead) > 0 {
		testbed.NeedClock(t)
	}
	opts := testbed.Options{Names: of, Ahead: ahead}
	if len(ahead) == 0 {
		opts.Pool = &pool
	}
	b, err := testbed.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.CloseAfter(t) })
	out := &clusterEnv{ControlPlanes: b, t: t}
	for _, c := range b.Clusters {
		out.prepare(c, slices.Index(names, c.Name))
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, len(b.Clusters))
	for _, c := range b.Clusters {
		go func() { done <- testbed.RunMirrors(ctx, c.Config, testbed.MirrorOptions{}) }()
	}
	t.Cleanup(func() {
		stop()
		for range b.Clusters {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	return out
}

func (b *clusterEnv) prepare(c *testbed.Cluster, i int) {
	b.t.Helper()
	ctx := b.t.Context()
	if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}); err != nil {
		b.t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "linkwright"}}
	if _, err := b.client(c.Name).CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.chartAccount(c.Name)
	if err := testbed.Export(ctx, c.Config, testbed.Exported{Namespace: "default", Name: "web-of-" + c.Name}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *clusterEnv) client(name string) *kubernetes.Clientset {
	b.t.Helper()
	c, err := kubernetes.NewForConfig(b.Cluster(name).Config)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// declarations returns the clusters, and whatever links are declared beside them.
func (b *clusterEnv) declarations(links string) string {
	text := ""
	for _, c := range b.Clusters {
		text += fmt.Sprintf(`apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: %s, labels: {mesh: "yes"}}
spec:
  access: {kubeconfig: {path: %s}}
  apiServer: %s
---
`, c.Name, c.Kubeconfig, c.Config.Host)
	}
	return text + links + b.policy
}

const mesh = `apiVersion: linkwright.dev/v1alpha1
kind: Mesh
metadata: {name: all}
spec: {clusters: {matchLabels: {mesh: "yes"}}}
`

func link(source, target string) string {
	return fmt.Sprintf(`apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: %[1]s-%[2]s}
spec: {source: %[1]s, target: %[2]s}
---
`, source, target)
}

// declaredText is a declared fleet that tests change between syncs.
type declaredText struct {
	commit   int
	yaml     string
	interval string           // shorter than may be declared; empty: as declared
	last     sync.Declaration // of commit
}

func (d *declaredText) set(yaml string) {
	d.commit, d.yaml, d.last = d.commit+1, yaml, sync.Declaration{}
}

// Next implements sync.Declared.
func (d *declaredText) Next(context.Context) (sync.Declaration, error) {
	if d.last.Fleet == nil {
		commit := api.Commit(fmt.Sprintf("%040d", d.commit))
		f, problems := fleet.Load(commit, fstest.MapFS{"f.yaml": {Data: []byte(d.yaml)}})
		if f != nil && d.interval != "" {
			f.Policy.Interval = d.interval
		}
		d.last = sync.Declaration{Commit: commit, Fleet: f, Problems: problems}
	}
	return d.last, nil
}

// At implements sync.Declared: texts are not kept.
func (d *declaredText) At(_ context.Context, commit api.Commit) (sync.Declaration, error) {
	return sync.Declaration{}, fmt.Errorf("commit %s is not kept", commit)
}

// Follows implements sync.Declared: texts follow each other.
func (d *declaredText) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error {
	return nil
}

// openClusters connects by the configurations of the bed.
type openClusters struct {
	registry *cluster.Registry
	bed      *testbed.ControlPlanes

	mu     gosync.Mutex // drift is repaired while the next sync begins
	failed map[api.ClusterName]error
}

func (o *openClusters) Follow(ctx context.Context, want []fleet.Cluster) map[api.ClusterName]error {
	failed := map[api.ClusterName]error{}
	for _, c := range want {
		cfg, err := config(c.Spec.Access)
		if err == nil {
			err = o.registry.Replace(ctx, c.Name, cfg)
		}
		if err != nil {
			failed[c.Name] = err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = failed
	return failed
}

// refusal returns why the cluster is not open; nil if it is.
func (o *openClusters) refusal(name api.ClusterName) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed[name]
}

func config(a api.Access) (*rest.Config, error) {
	raw, err := os.ReadFile(a.Kubeconfig.Path)
	if err != nil {
		return nil, err
	}
	return cluster.ParseKubeconfig(raw, "", cluster.Trust{})
}

func (o *openClusters) WithCluster(ctx context.Context, name api.ClusterName, f func(object.Cluster) error) error {
	if err := o.refusal(name); err != nil {
		return err
	}
	return o.registry.WithClient(ctx, name, func(c *cluster.Client) error { return f(c) })
}

func (o *openClusters) Token(ctx context.Context, name api.ClusterName, r object.TokenRequest) (token object.Secret, err error) {
	err = o.registry.WithClient(ctx, name, func(c *cluster.Client) error {
		token, err = c.Token(ctx, r)
		return err
	})
	return token, err
}

// loop returns a daemon's loop whose management cluster is the cluster west.
func (b *clusterEnv) loop(d *declaredText, agent string) *sync.Loop {
	b.t.Helper()
	o := cluster.Options{Timeout: 5 * time.Second, UserAgent: agent}
	registry, home := cluster.New(o), cluster.New(o)
	if err := home.Spawn(b.t.Context(), "home", b.Cluster("west").Config); err != nil {
		b.t.Fatal(err)
	}
	var at *cluster.Client
	if err := home.WithClient(b.t.Context(), "home", func(c *cluster.Client) error { at = c; return nil }); err != nil {
		b.t.Fatal(err)
	}
	return &sync.Loop{
		Options: sync.Options{Owner: "linkwright", Patience: time.Minute}, Declared: d, Clusters: &openClusters{registry: registry, bed: b.ControlPlanes},
		Management: record.ManagementCluster{Cluster: at, Namespace: "linkwright"},
		Renderer:   render.Renderer{Owner: "linkwright"}, Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy},
		Errors: sync.Errors{Explain: cluster.Explain}, Verifier: cluster.Verifier{},
		Log: slog.New(slog.NewTextHandler(b.t.Output(), nil)),
	}
}

func (b *clusterEnv) once(l *sync.Loop) report.Report {
	b.t.Helper()
	r, err := l.Once(b.t.Context(), 1)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// dump returns a report's bad news.
func dump(r report.Report) string {
	out := ""
	for _, c := range r.Clusters {
		if c.Step.Denied != nil {
			out += fmt.Sprintf("%s refused: %s\n", c.Name, c.Step.Denied.Message)
		}
		for _, row := range c.Step.Rows {
			out += fmt.Sprintf("%s: %s", row.End, row.Phase)
			if row.Why != nil {
				out += ": " + row.Why.Message
			}
			out += "\n"
		}
		for _, o := range c.Outcomes {
			if o.Err != nil {
				out += fmt.Sprintf("%v\n", o.Err)
			}
		}
	}
	return out
}

// chartAccount is the account of the controllers that the user's chart runs: it may do everything.
func (b *clusterEnv) chartAccount(name string) {
	b.t.Helper()
	ctx, ns := b.t.Context(), "linkerd-multicluster"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "charts-own"}}
	if _, err := b.client(name).CoreV1().ServiceAccounts(ns).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: account.Name}},
	}
	if _, err := b.client(name).RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

package sync_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	gosync "sync"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
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

// hub is a real cluster, the source of links to clusters in memory, with every request that goes to it.
type hub struct {
	t      *testing.T
	west   *testbed.Cluster
	as     *kubernetes.Clientset // not counted
	others *memcluster.Clusters

	mu       gosync.Mutex
	tally    map[string]int
	declared sync.Declaration
	reports  []report.Report
}

// few links are enough: what is counted is what each costs.
const few = 6

func newHub(t *testing.T) *hub {
	t.Helper()
	t.Parallel()
	testbed.Need(t)
	b, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"west"}, Light: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &hub{t: t, west: b.Clusters[0], as: kubernetes.NewForConfigOrDie(b.Clusters[0].As("somebody")), tally: map[string]int{}}
	if err := testbed.InstallLinkerd(t.Context(), h.west.Config, testbed.Linkerd{}); err != nil {
		t.Fatal(err)
	}
	names := []api.ClusterName{"home"}
	for i := range few {
		names = append(names, target(i))
	}
	h.others = memcluster.New(memcluster.Options{}, names...)
	for _, name := range names {
		ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}
		if err := h.others.Cluster(name).Put("kubectl", ns); err != nil {
			t.Fatal(err)
		}
		if err := h.others.Cluster(name).InstallLinkerd(testbed.Linkerd{}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func target(i int) api.ClusterName { return api.ClusterName(fmt.Sprintf("east-%d", i)) }

// declare commits links from west to all others; the first has something more in its spec.
func (h *hub) declare(commit api.Commit, more string) {
	h.t.Helper()
	doc := clusterDoc("west")
	for i := range few {
		doc += clusterDoc(string(target(i)))
		if i == 0 {
			doc += linkWith("west", string(target(i)), more)
		} else {
			doc += link("west", string(target(i)))
		}
	}
	f, problems := fleet.Load(commit, fstest.MapFS{"f.yaml": {Data: []byte(doc)}})
	if f == nil {
		h.t.Fatal(problems)
	}
	f.Policy.Interval = "300ms" // shorter than may be declared
	h.mu.Lock()
	defer h.mu.Unlock()
	h.declared = sync.Declaration{Commit: commit, Fleet: f}
}

// Next implements sync.Declared.
func (h *hub) Next(context.Context) (sync.Declaration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.declared, nil
}

func (*hub) At(_ context.Context, commit api.Commit) (sync.Declaration, error) {
	return sync.Declaration{}, fmt.Errorf("commit %s is not kept", commit)
}

func (*hub) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error { return nil }

func clusterDoc(name string) string {
	return fmt.Sprintf("apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %[1]s}}, apiServer: 'https://%[1]s.example.com:6443'}\n---\n", name)
}

// process is linkwright as it was just started, and how it is ended.
func (h *hub) process(daemon bool) (*sync.Loop, func()) {
	h.t.Helper()
	p := &half{Clusters: h.others, registry: cluster.New(cluster.Options{Wrap: func(_ api.ClusterName, next http.RoundTripper) http.RoundTripper { return tallied{h, next} }})}
	if err := p.registry.Spawn(h.t.Context(), "west", h.west.Config); err != nil {
		h.t.Fatal(err)
	}
	l := &sync.Loop{
		Options: sync.Options{Owner: "linkwright"}, Declared: h, Clusters: p, Management: record.ManagementCluster{Cluster: h.others.Cluster("home"), Namespace: "linkwright"},
		Renderer: render.New("linkwright"), Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy}, Errors: sync.Errors{Explain: cluster.Explain}, Log: slog.New(slog.DiscardHandler),
	}
	if daemon {
		l.Changes = p.registry
	}
	return l, func() {
		if err := p.registry.Stop(context.WithoutCancel(h.t.Context()), "west"); err != nil {
			h.t.Error(err)
		}
	}
}

// half has one cluster real, and all others in memory.
type half struct {
	*memcluster.Clusters
	registry *cluster.Registry
}

// Follow implements sync.Clusters: all are open.
func (*half) Follow(context.Context, []fleet.Cluster) map[api.ClusterName]error { return nil }

// WithCluster implements sync.Clusters.
func (p *half) WithCluster(ctx context.Context, name api.ClusterName, f func(object.Cluster) error) error {
	if name != "west" {
		return p.Clusters.WithCluster(ctx, name, f)
	}
	return p.registry.WithClient(ctx, name, func(c *cluster.Client) error { return f(c) })
}

type tallied struct {
	*hub
	next http.RoundTripper
}

// RoundTrip notes what is asked for: a verb and a path without its head, and for collections what they are narrowed by.
func (r tallied) RoundTrip(q *http.Request) (*http.Response, error) {
	query, verb := q.URL.Query(), strings.ToLower(q.Method)
	switch {
	case query.Get("watch") != "":
		verb = "watch"
	case query.Get("limit") != "":
		verb = "list"
	}
	asked := verb + " " + strings.TrimPrefix(q.URL.Path, "/")
	for _, narrow := range []string{"labelSelector", "fieldSelector"} {
		if s := query.Get(narrow); s != "" {
			asked += "?" + s
		}
	}
	r.mu.Lock()
	r.tally[asked]++
	r.mu.Unlock()
	return r.next.RoundTrip(q)
}

// taken returns the requests since this was asked last, with how often each was sent.
func (h *hub) taken() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.tally
	h.tally = map[string]int{}
	return out
}

// sync is one of a process that was just started, after which all is in place.
func (h *hub) sync() {
	h.t.Helper()
	l, end := h.process(false)
	defer end()
	r, err := l.Once(h.t.Context(), 1)
	if err != nil {
		h.t.Fatal(err)
	}
	h.ready()
	if c := r.Counts(); c.Failed+c.ClustersUnknown+c.ClustersDenied+c.Blocked > 0 {
		h.t.Fatalf("%+v\n%s", c, dump(r))
	}
}

// ready makes Deployments available, as their controller would: a light control plane has none.
func (h *hub) ready() {
	h.t.Helper()
	deployments := h.as.AppsV1().Deployments(testbed.Multicluster)
	list, err := deployments.List(h.t.Context(), metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, d := range list.Items {
		patch := fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`, d.Generation)
		if _, err := deployments.Patch(h.t.Context(), d.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			h.t.Fatal(err)
		}
	}
}

// crowd puts so many Roles of others beside ours.
func (h *hub) crowd(n int) {
	h.t.Helper()
	g, ctx := errgroup.WithContext(h.t.Context())
	g.SetLimit(16)
	for i := range n {
		g.Go(func() error {
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("other-%04d", i)}}
			_, err := h.as.RbacV1().Roles(testbed.Multicluster).Create(ctx, role, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		h.t.Fatal(err)
	}
}

// daemon runs a process that stays until the returned function is called.
func (h *hub) daemon() (stop func()) {
	h.t.Helper()
	l, end := h.process(true)
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- l.Run(ctx, 1, nil, func(r report.Report) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.reports = append(h.reports, r)
		})
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
		end()
	}
}

// syncs waits for so many syncs of a daemon over a commit, in all of which everything is in place.
func (h *hub) syncs(n int, commit api.Commit) {
	h.t.Helper()
	h.mu.Lock()
	h.reports = nil
	h.mu.Unlock()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		h.mu.Lock()
		reports := slices.Clone(h.reports)
		h.mu.Unlock()
		got := 0
		for _, r := range reports {
			if r.Commit == commit && r.When == report.AtEnd && r.Clean() {
				got++
			}
		}
		if got >= n {
			return
		}
		if len(reports) > 0 && !reports[len(reports)-1].Clean() {
			h.ready()
		}
	}
	h.t.Fatalf("no %d passes over %s after which all is in place", n, commit)
}

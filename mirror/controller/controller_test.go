package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/mirror/controller"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/lease"
)

// planes are a source and its target, which all tests share.
var planes *testbed.ControlPlanes

func TestMain(m *testing.M) { os.Exit(withPlanes(m)) }

func withPlanes(m *testing.M) int {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		return m.Run()
	}
	var err error
	if planes, err = testbed.Start(context.Background(), testbed.Options{Names: []string{"west", "east"}, Light: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, c := range planes.Clusters {
		c.Config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
		err = errors.Join(err, testbed.InstallLinkerd(context.Background(), c.Config, testbed.Linkerd{NoGateway: true}))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, planes.Close()))
		return 1
	}
	code := m.Run()
	if err := planes.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// bed is one link from west to a name of east, which only this test uses.
type bed struct {
	*testing.T

	link       string // the name of the target
	ns         string // exists in both clusters
	agent      string // of the controller in the source
	west, east *kubernetes.Clientset
	gateway    *gateway
}

// gateway answers probes, unless it is dead.
type gateway struct {
	mu   sync.Mutex
	dead bool
}

func (g *gateway) RoundTrip(*http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: http.NoBody}, nil
}

func (g *gateway) isDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

func (g *gateway) set(dead bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = dead
}

func newBed(t *testing.T) *bed {
	t.Helper()
	testbed.Need(t)
	t.Parallel()
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	b := &bed{
		T: t, link: "east-" + name, ns: "ns-" + name, agent: "mirror-" + name, gateway: &gateway{},
		west: kubernetes.NewForConfigOrDie(planes.Cluster("west").Config), east: kubernetes.NewForConfigOrDie(planes.Cluster("east").Config),
	}
	for _, c := range []*kubernetes.Clientset{b.west, b.east} {
		b.ok(c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.ns}}, metav1.CreateOptions{}))
	}
	b.writeSecret(planes.Cluster("east").Kubeconfig)
	b.ok(b.west.CoreV1().Services(testbed.Multicluster).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "probe-" + b.link}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "mc-probe", Port: 4191}}},
	}, metav1.CreateOptions{}))
	return b
}

func (b *bed) ok(_ any, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// writeSecret writes the credential of the link: the content of a file.
func (b *bed) writeSecret(kubeconfig string) {
	b.Helper()
	raw, err := os.ReadFile(kubeconfig)
	b.ok(nil, err)
	b.putSecret(raw)
}

func (b *bed) putSecret(kubeconfig []byte) {
	b.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-credentials-" + b.link}, Type: "mirror.linkerd.io/remote-kubeconfig",
		Data: map[string][]byte{"kubeconfig": kubeconfig},
	}
	_, err := b.west.CoreV1().Secrets(testbed.Multicluster).Create(b.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = b.west.CoreV1().Secrets(testbed.Multicluster).Update(b.Context(), secret, metav1.UpdateOptions{})
	}
	b.ok(nil, err)
}

func (b *bed) links() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(planes.Cluster("west").Config).
		Resource(schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}).Namespace(testbed.Multicluster)
}

func matching(key, value string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{key: value}}
}

// createLink creates the Link. Its selectors select what this test exports.
func (b *bed) createLink(edit func(spec map[string]any)) {
	b.Helper()
	spec := map[string]any{
		"targetClusterName": b.link, "targetClusterDomain": "cluster.local", "targetClusterLinkerdNamespace": "linkerd",
		"clusterCredentialsSecret": "cluster-credentials-" + b.link, "gatewayAddress": "192.0.2.10", "gatewayPort": "4143",
		"gatewayIdentity":          "gateway.id",
		"probeSpec":                map[string]any{"path": "/ready", "port": "4191", "period": "100ms", "failureThreshold": "3"},
		"selector":                 matching(testbed.ExportedLabel, b.link),
		"remoteDiscoverySelector":  matching(testbed.ExportedLabel, "discovery-"+b.link),
		"federatedServiceSelector": matching(testbed.FederatedLabel, b.link),
	}
	if edit != nil {
		edit(spec)
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "multicluster.linkerd.io/v1alpha3", "kind": "Link", "metadata": map[string]any{"name": b.link}, "spec": spec,
	}}
	b.ok(b.links().Create(b.Context(), o, metav1.CreateOptions{}))
}

func (b *bed) editLink(edit func(spec map[string]any)) {
	b.Helper()
	b.eventually(func() error {
		o, err := b.links().Get(b.Context(), b.link, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(o.Object["spec"].(map[string]any))
		_, err = b.links().Update(b.Context(), o, metav1.UpdateOptions{})
		return err
	})
}

// export creates a Service in the target, with Endpoints of one ready address.
func (b *bed) export(name string, labels map[string]string) {
	b.Helper()
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	b.ok(b.east.CoreV1().Services(b.ns).Create(b.Context(), &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}, Selector: map[string]string{"app": name}},
	}, metav1.CreateOptions{}))
	b.ok(b.east.CoreV1().Endpoints(b.ns).Create(b.Context(), ready(meta), metav1.CreateOptions{}))
}

func ready(meta metav1.ObjectMeta) *corev1.Endpoints { //nolint:staticcheck // what Linkerd's clients read
	return &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // what Linkerd's clients read
		Addresses: []corev1.EndpointAddress{{IP: "10.1.2.3"}}, Ports: []corev1.EndpointPort{{Name: "http", Port: 8080}},
	}}}
}

func (b *bed) exported() map[string]string { return map[string]string{testbed.ExportedLabel: b.link} }

func (b *bed) discovered() map[string]string {
	return map[string]string{testbed.ExportedLabel: "discovery-" + b.link}
}

func (b *bed) member() map[string]string { return map[string]string{testbed.FederatedLabel: b.link} }

// options are those of a controller of this link alone.
func (b *bed) options(agent string) controller.Options {
	cfg := rest.CopyConfig(planes.Cluster("west").Config)
	cfg.UserAgent = agent
	client := kubernetes.NewForConfigOrDie(cfg)
	return controller.Options{
		Source: cfg, Namespace: testbed.Multicluster, Links: []string{b.link},
		Lease: func(name string) controller.Lease {
			return lease.Lock{
				Client: client.CoordinationV1(), Namespace: testbed.Multicluster, Name: name, Identity: agent, Borrowed: true,
				Duration: 3 * time.Second, Renew: 2 * time.Second, Retry: 200 * time.Millisecond,
			}
		},
		Config:    func(raw []byte) (*rest.Config, error) { return cluster.ParseKubeconfig(raw, "", cluster.Trust{}) },
		Log:       slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Transport: b.gateway,
	}
}

// run runs a controller until the test ends, or stop is called.
func (b *bed) run(o controller.Options) (stop func()) {
	b.Helper()
	c, err := controller.New(o)
	b.ok(nil, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.Error(err)
			}
		case <-time.After(time.Minute):
			b.Error("the controller has not ended after a minute")
		}
	})
	b.Cleanup(stop)
	return stop
}

// eventually waits until f returns nil.
func (b *bed) eventually(f func() error) {
	b.Helper()
	const limit = 3 * time.Minute // the controller itself waits up to a minute after what failed
	begun := time.Now()
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Since(begun) > limit {
			b.Fatalf("not after %v: %v", limit, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (b *bed) service(name string) (*corev1.Service, error) {
	return b.west.CoreV1().Services(b.ns).Get(b.Context(), name, metav1.GetOptions{})
}

// mirrored waits until a mirror has a ready address, or only one that is not.
func (b *bed) mirrored(name string, ready bool) {
	b.Helper()
	b.eventually(func() error { return b.hasAddress(name, ready) })
}

func (b *bed) hasAddress(name string, ready bool) error {
	if _, err := b.service(name); err != nil {
		return err
	}
	e, err := b.west.CoreV1().Endpoints(b.ns).Get(b.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(e.Subsets) != 1 || (len(e.Subsets[0].Addresses) == 1) != ready || len(e.Subsets[0].Addresses)+len(e.Subsets[0].NotReadyAddresses) != 1 {
		return fmt.Errorf("endpoints %s: %+v", name, e.Subsets)
	}
	return nil
}

// gone waits until the source has no such Service.
func (b *bed) gone(name string) {
	b.Helper()
	b.eventually(func() error {
		_, err := b.service(name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("service %s is there", name), err)
	})
}

// condition waits until the Link's status says how a Service is mirrored.
func (b *bed) condition(list, service, want string) {
	b.Helper()
	b.eventually(func() error {
		o, err := b.links().Get(b.Context(), b.link, metav1.GetOptions{})
		if err != nil {
			return err
		}
		all, _, _ := unstructured.NestedSlice(o.Object, "status", list)
		got := ""
		for _, one := range all {
			name, _, _ := unstructured.NestedString(one.(map[string]any), "remoteRef", "name")
			conditions, _, _ := unstructured.NestedSlice(one.(map[string]any), "conditions")
			if name == service && len(conditions) == 1 {
				c := conditions[0].(map[string]any)
				got = fmt.Sprint(c["status"], " ", c["reason"])
			}
		}
		if got != want {
			return fmt.Errorf("status of %s: got %q, want %q: %v", service, got, want, all)
		}
		return nil
	})
}

// requests are those of an agent in a cluster since then, other than for Leases and Events.
func (b *bed) requests(in, agent string, since time.Time) (out []string) {
	b.Helper()
	all, err := planes.Cluster(in).Requests(agent)
	b.ok(nil, err)
	for _, r := range all {
		if r.Received.After(since) && r.Resource != "leases" {
			out = append(out, r.Verb+" "+r.Resource+" "+r.Name)
		}
	}
	return out
}

// written are the writes of an agent in the source since then.
func (b *bed) written(agent string, since time.Time) []string {
	b.Helper()
	return slices.DeleteFunc(b.requests("west", agent, since), func(r string) bool {
		return strings.HasPrefix(r, "get ") || strings.HasPrefix(r, "list ") || strings.HasPrefix(r, "watch ")
	})
}

package testbed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// MirrorAgent begins the user agent of the mirror of link foo, in the source
// and in the target: "testbed-mirror/foo". The part that looks for Links and
// pods is "testbed-mirror".
const MirrorAgent = "testbed-mirror"

// MirrorOptions change how RunMirrors plays.
type MirrorOptions struct {
	// Namespace of Links and controllers; Multicluster when empty.
	Namespace string
	// LinkVersion of the API; "v1alpha3" when empty.
	LinkVersion string
	// Period between two looks; 250 ms when zero.
	Period time.Duration
	// Unrestricted acts in the source as cfg's user. Without it the mirror acts
	// as the service account of its pod: it may do what the RBAC of the link
	// allows, and no more.
	Unrestricted bool
	// Failed is told what went wrong with a link, or with all of them when link
	// is ""; it may be called from several goroutines at once. Nil ignores it.
	Failed func(link string, err error)
}

// RunMirrors stands in for Linkerd's service mirror controllers of one source
// cluster, until ctx ends. For every Link foo it acts while a Running pod with
// the labels component=controller and mirror.linkerd.io/cluster-name=foo
// exists beside it, whoever made the pod:
//
//	at the start         reads the Secret of the Link, connects to the target with it, takes the Lease
//	selector             mirrors Services with Endpoints that point at the gateway
//	remote discovery     mirrors Services without Endpoints
//	federated            adds svc@foo to svc-federated
//	matches no more      takes the mirror, or the membership, away; so empty selectors drain a link
//	gateway              writes the Endpoints probe-foo
//	always               writes the status of the Link
//	Link's spec changes  begins anew, reads the Secret again
//	pod or Link goes     releases the Lease, stops, removes nothing
//
// A finalizer on the pod makes "no pod" mean "no more writes", as a process
// that ended would. As with Linkerd, a Secret that changes in place is not
// seen, a mirror is rewritten only when the target's Service changed, and an
// unreachable target leaves all as it was.
//
// What it does not do: probe the gateway (it counts as alive), resolve host
// names of gateways, mirror headless Services by pod, create namespaces,
// record events, serve metrics, hold the local half of federated Services,
// choose the oldest Link for their metadata, exit when the target does not
// answer for a minute (it tries again each period).
func RunMirrors(ctx context.Context, cfg *rest.Config, opts MirrorOptions) error {
	m, err := newMirrors(cfg, opts)
	if err != nil {
		return fmt.Errorf("run mirrors: %w", err)
	}
	defer m.stopAll(context.WithoutCancel(ctx))
	tick := time.NewTicker(m.opts.Period)
	defer tick.Stop()
	for {
		m.failed("", m.pass(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// mirrors are the controllers of one cluster. Only RunMirrors's goroutine
// touches running.
type mirrors struct {
	cfg     *rest.Config
	opts    MirrorOptions
	core    kubernetes.Interface
	links   dynamic.ResourceInterface
	running map[string]*term // by Link name
}

func newMirrors(cfg *rest.Config, opts MirrorOptions) (*mirrors, error) {
	opts.Namespace = or(opts.Namespace, Multicluster)
	opts.LinkVersion = or(opts.LinkVersion, "v1alpha3")
	if opts.Period == 0 {
		opts.Period = 250 * time.Millisecond
	}
	cfg = as(cfg, MirrorAgent)
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	links, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &mirrors{
		cfg: cfg, opts: opts, core: core, running: map[string]*term{},
		links: links.Resource(opts.resource()).Namespace(opts.Namespace),
	}, nil
}

func (o MirrorOptions) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: o.LinkVersion, Resource: "links"}
}

func (m *mirrors) failed(link string, err error) {
	if err != nil && m.opts.Failed != nil {
		m.opts.Failed(link, err)
	}
}

// pass starts and stops terms. What cannot be read leaves them as they are.
func (m *mirrors) pass(ctx context.Context) error {
	pods, err := m.core.CoreV1().Pods(m.opts.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "component=controller,mirror.linkerd.io/cluster-name"})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	links, err := m.readLinks(ctx)
	if err != nil {
		return err
	}
	wanted := wantedTerms(links, pods.Items)
	for name, t := range m.running {
		if w, ok := wanted[name]; !ok || w.key() != t.key() {
			t.stop()
			delete(m.running, name)
		}
	}
	m.letGo(ctx, pods.Items)
	for name, w := range wanted {
		if m.running[name] == nil {
			if err := m.begin(ctx, w); err != nil {
				m.failed(name, err)
			}
		}
	}
	return nil
}

func (m *mirrors) readLinks(ctx context.Context) ([]link, error) {
	list, err := m.links.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil // no CRD
	}
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	out := make([]link, 0, len(list.Items))
	for i := range list.Items {
		l, err := newLink(&list.Items[i])
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// wantedTerms pairs every Link with the first pod that runs for it.
func wantedTerms(links []link, pods []corev1.Pod) map[string]*term {
	out := map[string]*term{}
	for _, l := range links {
		for i := range pods {
			pod := &pods[i]
			if pod.Labels["mirror.linkerd.io/cluster-name"] == l.name && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				out[l.name] = &term{link: l, pod: pod}
				break
			}
		}
	}
	return out
}

func (m *mirrors) begin(ctx context.Context, t *term) error {
	if err := m.hold(ctx, t.pod); err != nil {
		return err
	}
	if err := t.connectSource(m); err != nil {
		return err
	}
	m.running[t.link.name] = t
	t.start(ctx, m.opts.Period)
	return nil
}

// stopAll ends all terms and lets their pods go.
func (m *mirrors) stopAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, t := range m.running {
		t.stop()
		m.failed(t.link.name, m.release(ctx, t.pod))
	}
}

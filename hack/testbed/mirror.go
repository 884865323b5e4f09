package testbed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// MirrorAgent begins the user agent of the mirror of link foo, in the source
// and in the target: "testbed-mirror/foo"; that of the local half of federated
// Services is "testbed-mirror/". The part that looks for pods is
// "testbed-mirror".
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

	// Repair is the time between two repairs of Endpoints, for pods whose
	// -endpoint-refresh-period does not say it; Linkerd's minute when zero.
	Repair time.Duration
	// Resync is how long a mirror deleted by hand may be missing; Linkerd's ten
	// minutes when zero.
	Resync time.Duration
	// Retry is the time between two attempts to reach a target; 1 s when zero.
	// Linkerd waits ten.
	Retry time.Duration
	// Probe asks the gateway of a link whether it lives, as often as the Link
	// says. Nil, or a Link without a path, takes it for alive.
	Probe func(ctx context.Context, link string) error
	// Resolve gives the IP addresses of a gateway's host name. Nil resolves
	// none: nothing here asks the network.
	Resolve func(ctx context.Context, host string) ([]string, error)
}

// RunMirrors stands in for Linkerd's service mirror controllers of one source
// cluster, until ctx ends. For every Link foo it acts while a Running pod with
// the labels component=controller and mirror.linkerd.io/cluster-name=foo
// exists beside it, whoever made the pod, and as the pod's arguments say:
//
//	Lease                one pod of a Link writes; another takes over when it is given up or runs out
//	at the start         reads the Secret of the Link, connects to the target with it
//	                     deletes the mirrors of Services that are no more
//	selector             mirrors Services with Endpoints that point at the gateway
//	remote discovery     mirrors Services without Endpoints
//	federated            adds svc@foo to svc-federated; the oldest Link gives labels and ports
//	headless             by pod, with -enable-headless-services
//	namespace            skips a Service whose namespace is missing, or makes it with -enable-namespace-creation
//	matches no more      takes the mirror, or the membership, away; so empty selectors drain a link
//	gateway              writes the Endpoints of the probe Service, and repairs those of mirrors
//	gateway is dead      its addresses in mirrors are not ready
//	always               writes the status of the Link
//	Link's spec changes  begins anew, reads the Secret again
//	Link goes            stops, removes nothing, keeps the Lease
//	pod goes             the same, and releases the Lease
//
// The pods of `linkerd multicluster link` (component=linkerd-service-mirror)
// play the same part under the same Lease; a pod component=local-service-mirror
// is the local half of federated Services.
//
// A finalizer on the pod makes "no pod" mean "no more writes", as a process
// that ended would. As with Linkerd, events drive it, and each is tried four
// times: a Secret that changes in place is not seen, a mirror is rewritten only
// when the target's Service changed, one deleted by hand is missing until the
// next resync, and an unreachable target leaves all as it was.
//
// What it does not do: handle each event of a watch (it lists again when a
// watch says that something changed, so it sees the last of several changes),
// speak to a gateway (see MirrorOptions.Probe), serve
// metrics, exit when the target does not answer for a minute (it tries again).
func RunMirrors(ctx context.Context, cfg *rest.Config, opts MirrorOptions) error {
	m, err := newMirrors(cfg, opts)
	if err != nil {
		return fmt.Errorf("run mirrors: %w", err)
	}
	defer m.stopAll(context.WithoutCancel(ctx))
	defer m.pods.end()
	tick := time.NewTicker(m.opts.Period)
	defer tick.Stop()
	for {
		m.failed("", m.reconcile(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// mirrorControllers are the controllers of one cluster. Only RunMirrors's goroutine
// touches running.
type mirrorControllers struct {
	cfg     *rest.Config
	opts    MirrorOptions
	core    kubernetes.Interface
	pods    *listing[*corev1.PodList]
	running map[types.UID]*replica // by pod
}

func newMirrors(cfg *rest.Config, opts MirrorOptions) (*mirrorControllers, error) {
	opts.Namespace = orDefault(opts.Namespace, Multicluster)
	opts.LinkVersion = orDefault(opts.LinkVersion, "v1alpha3")
	opts.Period = orTime(opts.Period, 250*time.Millisecond)
	opts.Repair = orTime(opts.Repair, time.Minute)
	opts.Resync = orTime(opts.Resync, 10*time.Minute)
	opts.Retry = orTime(opts.Retry, time.Second)
	cfg = as(cfg, MirrorAgent)
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	pods := listingOf(core.CoreV1().Pods(opts.Namespace), metav1.ListOptions{LabelSelector: mirrorPods})
	return &mirrorControllers{cfg: cfg, opts: opts, core: core, pods: pods, running: map[types.UID]*replica{}}, nil
}

func orTime(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

func (o MirrorOptions) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: o.LinkVersion, Resource: "links"}
}

func (m *mirrorControllers) failed(link string, err error) {
	if err != nil && m.opts.Failed != nil {
		m.opts.Failed(link, err)
	}
}

// reconcile starts and stops replicas. Pods that cannot be read leave them as they are.
func (m *mirrorControllers) reconcile(ctx context.Context) error {
	pods, err := m.pods.read(ctx)
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	wanted := map[types.UID]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			wanted[pod.UID] = pod
		}
	}
	for uid, r := range m.running {
		if wanted[uid] == nil {
			r.stop()
			delete(m.running, uid)
		}
	}
	m.releasePods(ctx, pods.Items)
	for uid, pod := range wanted {
		if m.running[uid] == nil {
			m.failed(flagsOf(pod).link, m.startReplica(ctx, pod))
		}
	}
	return nil
}

func (m *mirrorControllers) startReplica(ctx context.Context, pod *corev1.Pod) error {
	if err := m.addFinalizer(ctx, pod); err != nil {
		return err
	}
	r, err := newReplica(m, pod)
	if err != nil {
		return err
	}
	m.running[pod.UID] = r
	r.start(ctx)
	return nil
}

// stopAll ends all replicas and lets their pods go.
func (m *mirrorControllers) stopAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, r := range m.running {
		r.stop()
		m.failed(r.flags.link, m.removeFinalizer(ctx, r.pod))
	}
}

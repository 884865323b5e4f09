package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/mirror/controller"
)

// MirrorAgent begins the user agent of the mirror of link foo, in the source and in the target: "testbed-mirror/foo". That of a controller for several
// links is "testbed-mirror/shared". The part that looks for pods is "testbed-mirror".
const MirrorAgent = "testbed-mirror"

// MirrorOptions change how RunMirrors plays.
type MirrorOptions struct {
	// Period between two looks at pods; 250 ms when zero.
	Period time.Duration
	// Failed is called with what went wrong while pods were looked at. Nil ignores it.
	Failed func(link string, err error)
	// Log of the mirrors; nil: none.
	Log *slog.Logger
}

// clusterLabel is on all objects of Linkerd for a link, and has the target.
const clusterLabel = "mirror.linkerd.io/cluster-name"

// mirrorPods selects the pods that are played: of a chart or linkwright, and of `linkerd multicluster link`.
const mirrorPods = "component in (controller, linkerd-service-mirror)"

// RunMirrors plays the kubelet for the service mirror controllers of one source, until ctx ends. While a pod of Linkerd's controller of a link is
// Running, whoever made it, linkwright's own service mirror runs in this process for that link, as the pod's service account, with the pod's name
// in the Lease, and with the flags among the pod's arguments that it has, too. A pod of linkwright mirror does so for all links that it selects.
// Gateways count as alive: nothing here asks the network.
//
// A finalizer on the pod makes "no pod" mean "no more writes", as a process that ended would.
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

// mirrorControllers are the controllers of one cluster. Only RunMirrors's goroutine touches running.
type mirrorControllers struct {
	cfg     *rest.Config
	opts    MirrorOptions
	core    kubernetes.Interface
	pods    *listing[*corev1.PodList]
	running map[types.UID]*replica // by pod
}

func newMirrors(cfg *rest.Config, opts MirrorOptions) (*mirrorControllers, error) {
	if opts.Period == 0 {
		opts.Period = 250 * time.Millisecond
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	cfg = as(cfg, MirrorAgent)
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	pods := listingOf(core.CoreV1().Pods(Multicluster), metav1.ListOptions{LabelSelector: mirrorPods})
	return &mirrorControllers{cfg: cfg, opts: opts, core: core, pods: pods, running: map[types.UID]*replica{}}, nil
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
	desired := map[types.UID]*corev1.Pod{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			desired[pod.UID] = pod
		}
	}
	for uid, r := range m.running {
		if desired[uid] == nil {
			r.stop()
			delete(m.running, uid)
		}
	}
	m.releasePods(ctx, pods.Items)
	for uid, pod := range desired {
		if m.running[uid] == nil {
			m.failed(flagsOf(pod).name(), m.startReplica(ctx, pod))
		}
	}
	return nil
}

func (m *mirrorControllers) startReplica(ctx context.Context, pod *corev1.Pod) error {
	if err := m.addFinalizer(ctx, pod); err != nil {
		return err
	}
	o, err := m.options(pod)
	if err != nil {
		return err
	}
	r := &replica{pod: pod, ended: make(chan struct{})}
	ctx, r.cancel = context.WithCancel(ctx)
	m.running[pod.UID] = r
	go func() {
		defer close(r.ended)
		r.run(ctx, o)
	}()
	return nil
}

// options are those of the controller of a pod.
func (m *mirrorControllers) options(pod *corev1.Pod) (controller.Options, error) {
	flags := flagsOf(pod)
	cfg := as(m.cfg, MirrorAgent+"/"+flags.name())
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + pod.Namespace + ":" + pod.Spec.ServiceAccountName,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + pod.Namespace, "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return controller.Options{}, err
	}
	o := controller.Options{
		Source: cfg, Namespace: pod.Namespace, CreateNamespaces: flags.namespaces, Transport: alive{}, Log: m.opts.Log.With("link", flags.name()),
		Resolve: func(context.Context, string) ([]string, error) { return nil, errNoNetwork },
		Config: func(raw []byte) (*rest.Config, error) {
			target, err := clientcmd.RESTConfigFromKubeConfig(raw)
			if err == nil {
				target.UserAgent = MirrorAgent + "/" + flags.name()
			}
			return target, err
		},
		Lease: func(name string) controller.Lease { return elected{client, pod.Namespace, name, pod.Name} },
	}
	if flags.selector != "" {
		o.Selector, err = labels.Parse(flags.selector)
		return o, err
	}
	o.Links = []string{flags.link}
	o.ProbeService = func(string) string { return flags.probe }
	if flags.headless {
		o.Headless = []string{flags.link}
	}
	return o, nil
}

// alive answers probes as gateways do.
type alive struct{}

func (alive) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(http.NoBody)}, nil
}

var errNoNetwork = errors.New("test clusters resolve no names")

// replica is the process of one pod.
type replica struct {
	pod    *corev1.Pod
	cancel context.CancelFunc
	ended  chan struct{}
}

// run runs the controller, and starts it again if it ends, as a kubelet would.
func (r *replica) run(ctx context.Context, o controller.Options) {
	for ctx.Err() == nil {
		c, err := controller.New(o)
		if err == nil {
			err = c.Run(ctx)
		}
		if err != nil {
			o.Log.Warn("mirror ended", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// stop returns when the last write is done.
func (r *replica) stop() {
	r.cancel()
	<-r.ended
}

// stopAll ends all replicas and lets their pods go.
func (m *mirrorControllers) stopAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, r := range m.running {
		r.stop()
		m.failed(r.pod.Name, m.removeFinalizer(ctx, r.pod))
	}
}

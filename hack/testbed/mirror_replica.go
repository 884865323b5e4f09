package testbed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// replica is the process of one pod.
type replica struct {
	pod   *corev1.Pod
	flags flags
	opts  MirrorOptions

	source kubernetes.Interface
	links  dynamic.ResourceInterface
	lease  lease
	failed func(link string, err error)

	watcher *watcher  // of the Link; nil until its target answered
	linkKey string    // which Link the last attempt was for
	retry   time.Time // not before

	cancel context.CancelFunc
	ended  chan struct{}
}

// newReplica makes the clients by which a mirror acts in its own cluster.
func newReplica(m *mirrorControllers, pod *corev1.Pod) (*replica, error) {
	r := &replica{pod: pod, flags: flagsOf(pod), opts: m.opts, failed: m.failed}
	cfg := as(m.cfg, MirrorAgent+"/"+r.flags.link)
	if !m.opts.Unrestricted {
		ns := pod.Namespace
		cfg.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + ns + ":" + pod.Spec.ServiceAccountName,
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
		}
	}
	var err error
	if r.source, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	links, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	r.links = links.Resource(m.opts.resource()).Namespace(pod.Namespace)
	r.lease = lease{client: r.source, ns: pod.Namespace, name: r.flags.lease(), identity: pod.Name}
	return r, nil
}

func (r *replica) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.ended = make(chan struct{})
	go func() {
		defer close(r.ended)
		r.run(ctx)
	}()
}

// stop returns when the last write is done.
func (r *replica) stop() {
	r.cancel()
	<-r.ended
}

func (r *replica) run(ctx context.Context) {
	defer r.lease.release(context.WithoutCancel(ctx))
	defer r.stopWatching("")
	tick := time.NewTicker(r.opts.Period)
	defer tick.Stop()
	for {
		err := r.reconcile(ctx)
		if ctx.Err() != nil {
			return
		}
		r.failed(r.flags.link, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reconcile does what is due. Who loses the Lease forgets what it watched.
func (r *replica) reconcile(ctx context.Context) error {
	leads, err := r.lease.take(ctx)
	if !leads {
		r.stopWatching("")
		return err
	}
	r.failed(r.flags.link, err)
	l, found, err := r.readLink(ctx)
	if err != nil {
		return err
	}
	if !found {
		r.stopWatching("")
		return nil
	}
	if err := r.watchLink(ctx, l); err != nil || r.watcher == nil {
		return err
	}
	return r.watcher.reconcile(ctx)
}

func (r *replica) readLink(ctx context.Context) (link, bool, error) {
	if r.flags.local {
		return r.flags.localLink(), true, nil
	}
	u, err := r.links.Get(ctx, r.flags.link, metav1.GetOptions{})
	if apierrors.IsNotFound(err) { // or no CRD
		return link{}, false, nil
	}
	if err != nil {
		return link{}, false, wrap("read link", err)
	}
	l, err := newLink(u)
	l.labelled = r.opts.LinkVersion == "v1alpha3"
	return l, err == nil, err
}

// watchLink begins anew when the Link is another, or has another spec, than the
// one watched; a target that did not answer is tried again after a while.
func (r *replica) watchLink(ctx context.Context, l link) error {
	key := fmt.Sprint(l.uid, l.text)
	if r.linkKey != key {
		r.stopWatching(key)
		r.retry = time.Time{}
	}
	if r.watcher != nil || time.Now().Before(r.retry) {
		return nil
	}
	r.retry = time.Now().Add(r.opts.Retry)
	prober, err := newProber(l)
	if err != nil {
		return err
	}
	target, err := r.connect(ctx, l)
	if err != nil {
		return err
	}
	r.watcher = newWatcher(r, l, target, prober)
	return nil
}

// stopWatching ends what is watched. The next attempt is for another Link, or none.
func (r *replica) stopWatching(linkKey string) {
	if r.watcher != nil {
		r.watcher.end()
	}
	r.watcher, r.linkKey = nil, linkKey
}

// connect reads the Secret that the Link names.
func (r *replica) connect(ctx context.Context, l link) (kubernetes.Interface, error) {
	if r.flags.local {
		return r.source, nil
	}
	secret, err := r.source.CoreV1().Secrets(r.pod.Namespace).Get(ctx, l.spec.ClusterCredentialsSecret, metav1.GetOptions{})
	if err != nil {
		return nil, wrap("read credentials", err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return nil, wrap("read credentials", err)
	}
	cfg = as(cfg, MirrorAgent+"/"+l.name)
	cfg.Timeout = 5 * time.Second // of watches, too: then it lists again, and sees that a target is gone
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return client, wrap("reach target", client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error())
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

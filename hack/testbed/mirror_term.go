package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The Lease of a mirror, with Linkerd's times.
const (
	leaseSeconds = 30
	leaseRenew   = 10 * time.Second
)

// term is one mirror from the sight of its Link and pod to the end of either.
type term struct {
	link link
	pod  *corev1.Pod

	source kubernetes.Interface
	links  dynamic.ResourceInterface
	failed func(link string, err error)

	cancel     context.CancelFunc
	ended      chan struct{}
	lastStatus string // as last written
}

// key changes when a mirror has to begin anew.
func (t *term) key() string { return fmt.Sprint(t.link.uid, t.pod.UID, t.link.text) }

// connectSource makes the clients by which the mirror acts in its own cluster.
func (t *term) connectSource(m *mirrors) error {
	cfg := as(m.cfg, MirrorAgent+"/"+t.link.name)
	if !m.opts.Unrestricted {
		ns := t.pod.Namespace
		cfg.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + ns + ":" + t.pod.Spec.ServiceAccountName,
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
		}
	}
	var err error
	if t.source, err = kubernetes.NewForConfig(cfg); err != nil {
		return err
	}
	links, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	t.links = links.Resource(m.opts.resource()).Namespace(t.pod.Namespace)
	t.failed = m.failed
	return nil
}

func (t *term) start(ctx context.Context, period time.Duration) {
	ctx, t.cancel = context.WithCancel(ctx)
	t.ended = make(chan struct{})
	go func() {
		defer close(t.ended)
		t.run(ctx, period)
	}()
}

// stop returns when the last write is done.
func (t *term) stop() {
	t.cancel()
	<-t.ended
}

func (t *term) run(ctx context.Context, period time.Duration) {
	defer t.resign(context.WithoutCancel(ctx))
	tick := time.NewTicker(period)
	defer tick.Stop()
	var target kubernetes.Interface
	for {
		var err error
		if target == nil {
			target, err = t.connectTarget(ctx)
		}
		if err == nil {
			err = t.act(ctx, target)
		}
		if ctx.Err() != nil {
			return
		}
		t.failed(t.link.name, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *term) act(ctx context.Context, target kubernetes.Interface) error {
	if err := t.lead(ctx); err != nil {
		return err
	}
	return t.sync(ctx, target)
}

// connectTarget reads the Secret that the Link names, once in a term.
func (t *term) connectTarget(ctx context.Context) (kubernetes.Interface, error) {
	secret, err := t.source.CoreV1().Secrets(t.pod.Namespace).Get(ctx, t.link.spec.ClusterCredentialsSecret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	cfg = as(cfg, MirrorAgent+"/"+t.link.name)
	cfg.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return nil, fmt.Errorf("reach target: %w", err)
	}
	return client, nil
}

func (t *term) leaseName() string { return "service-mirror-write-" + t.link.name }

// lead takes or renews the Lease; it fails while somebody else holds it.
func (t *term) lead(ctx context.Context) error {
	leases := t.source.CoordinationV1().Leases(t.pod.Namespace)
	lease, err := leases.Get(ctx, t.leaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: t.leaseName()}}
		t.hold(lease)
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return wrap("take lease", err)
	}
	if err != nil {
		return wrap("read lease", err)
	}
	holder, age := holding(lease)
	if holder == t.pod.Name && age < leaseRenew {
		return nil
	}
	if holder != "" && holder != t.pod.Name && age < leaseSeconds*time.Second {
		return errors.New("lease is held by " + holder)
	}
	t.hold(lease)
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return wrap("take lease", err)
}

func (t *term) hold(lease *coordinationv1.Lease) {
	seconds := int32(leaseSeconds)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &t.pod.Name, &seconds
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
}

// holding tells who holds a Lease, "" for nobody, and since when not renewed.
func holding(lease *coordinationv1.Lease) (string, time.Duration) {
	if lease.Spec.HolderIdentity == nil || lease.Spec.RenewTime == nil {
		return "", 0
	}
	return *lease.Spec.HolderIdentity, time.Since(lease.Spec.RenewTime.Time)
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// resign gives the Lease up if it is there and ours. Rights may be gone
// already: then it runs out.
func (t *term) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	leases := t.source.CoordinationV1().Leases(t.pod.Namespace)
	lease, err := leases.Get(ctx, t.leaseName(), metav1.GetOptions{})
	if err != nil {
		return
	}
	if holder, _ := holding(lease); holder != t.pod.Name {
		return
	}
	lease.Spec.HolderIdentity = nil
	_, _ = leases.Update(ctx, lease, metav1.UpdateOptions{})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/linkwright/linkwright/hack/bound"
	"github.com/linkwright/linkwright/hack/testbed"
)

// takeIdle returns what a daemon takes at rest that holds a full mesh of real light clusters, and how long a restart takes until all links are
// ready. Linkerd's controllers are played as far as a link's readiness and their load at rest need them: see playControllers.
func takeIdle(ctx context.Context, opts options) (err error) {
	if err := checkMemory(opts.clusters * need); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "linkwright-idle-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	names := make([]string, opts.clusters)
	for i := range names {
		names[i] = bound.Name(i)
	}
	bed, err := testbed.Start(ctx, testbed.Options{Names: names, Light: true, AtOnce: 4})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := dressIdle(ctx, bed); err != nil {
		return err
	}
	hosts := make([]string, opts.clusters)
	for i, c := range bed.Clusters {
		hosts[i] = c.Config.Host
	}
	management, err := os.ReadFile(bed.Clusters[0].Kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var playing sync.WaitGroup
	defer func() { stop(); playing.Wait() }()
	var renewing atomic.Bool
	for _, c := range bed.Clusters {
		playing.Go(func() { playControllers(ctx, c.As("linkerd"), &renewing) })
	}
	d := bound.Daemon{Dir: dir, Program: opts.program, Links: opts.clusters * (opts.clusters - 1), Settle: 4 * time.Second, Rest: time.Minute, Log: logf}
	if err := d.Prepare(ctx, hosts, management); err != nil {
		return err
	}
	for _, what := range []string{"first sync", "restart", "restart, and all Leases are renewed every 2 s"} {
		renewing.Store(strings.HasSuffix(what, "2 s"))
		took, err := d.Measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		fmt.Printf("%s: %s\n", what, took)
	}
	return nil
}

// playControllers makes the Deployment of every link available, and takes its Lease as Linkerd's controller does. While renewing is set, it renews
// all of them every two seconds, as client-go's leader election does.
func playControllers(ctx context.Context, config *rest.Config, renewing *atomic.Bool) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	all := dynamic.NewForConfigOrDie(config)
	for tick := time.NewTicker(2 * time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		names, err := makeAvailable(ctx, all)
		for _, name := range names {
			err = errors.Join(err, takeLease(ctx, client.CoordinationV1().Leases(testbed.Multicluster), strings.TrimPrefix(name, "controller-"), renewing.Load()))
		}
		if err != nil && ctx.Err() == nil {
			logf("controllers of %s: %v", config.Host, err)
		}
	}
}

// takeLease takes the Lease of a link's controller, and renews one that is there if that is asked for.
func takeLease(ctx context.Context, leases coordinationclient.LeaseInterface, link string, renew bool) error {
	const holder, seconds = "controller-1", int32(30)
	name, now := "service-mirror-write-"+link, metav1.NowMicro()
	live, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
		live.Spec = coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To(seconds), AcquireTime: &now, RenewTime: &now}
		_, err = leases.Create(ctx, live, metav1.CreateOptions{})
		return err
	}
	if err != nil || !renew {
		return err
	}
	live.Spec.RenewTime = &now
	_, err = leases.Update(ctx, live, metav1.UpdateOptions{})
	return err
}

// dressIdle installs Linkerd in all clusters, and puts their access Secrets into the first one.
func dressIdle(ctx context.Context, bed *testbed.ControlPlanes) error {
	client, err := kubernetes.NewForConfig(bed.Clusters[0].Config)
	if err != nil {
		return err
	}
	const namespace = "linkwright"
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i, c := range bed.Clusters {
		if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}); err != nil {
			return err
		}
		kubeconfig, err := os.ReadFile(c.Kubeconfig)
		if err != nil {
			return err
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
		if _, err := client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

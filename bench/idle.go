package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/bound"
	"github.com/linkwright/linkwright/hack/testbed"
)

// takeIdle returns what a daemon takes at rest that holds a full mesh of real light clusters, and how long a restart takes until it
// knows all links. No Deployment becomes available in light clusters, so links do not become ready.
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
	d := bound.Daemon{Dir: dir, Program: opts.program, Links: opts.clusters * (opts.clusters - 1), Settle: 4 * time.Second, Rest: time.Minute, Log: logf}
	if err := d.Prepare(ctx, hosts, management); err != nil {
		return err
	}
	first, err := d.Measure(ctx)
	if err != nil {
		return err
	}
	again, err := d.Measure(ctx)
	fmt.Printf("first sync: %s\nrestart:    %s\n", first, again)
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

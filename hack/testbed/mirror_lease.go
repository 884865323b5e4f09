package testbed

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// elected holds a Lease by client-go's leader election, as Linkerd's controllers do.
type elected struct {
	client                    kubernetes.Interface
	namespace, name, identity string
}

// Hold calls f whenever the Lease is held, until ctx ends. It is released once f has returned.
func (l elected) Hold(ctx context.Context, f func(ctx context.Context, leadership int64) error) error {
	for ctx.Err() == nil {
		if err := l.lead(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// lead waits for the Lease, and calls f once.
func (l elected) lead(ctx context.Context, f func(ctx context.Context, leadership int64) error) error {
	electing, release := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer release()
	var leads atomic.Bool
	ended := make(chan error, 1)
	started := func(leading context.Context) {
		leads.Store(true)
		inner, cancel := context.WithCancel(leading)
		defer context.AfterFunc(ctx, cancel)()
		defer release()
		ended <- f(inner, 0)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}, Client: l.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity},
		},
		LeaseDuration: 30 * time.Second, RenewDeadline: 20 * time.Second, RetryPeriod: time.Second, // Linkerd's, but for the last, which is 2 s there
		ReleaseOnCancel: true, Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: started, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		if !leads.Load() {
			release()
		}
	})()
	elector.Run(electing)
	if leads.Load() {
		return <-ended
	}
	return nil
}

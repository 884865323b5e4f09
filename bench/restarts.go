package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/restart"
)

// rest is how long requests are counted while there is nothing to do.
const restFor = 20 * time.Second

// takeRestarts measures a rollout to all of these workloads, what is sent once it is complete, and what watching them takes.
func takeRestarts(ctx context.Context, client kubernetes.Interface, cfg *rest.Config) error {
	if err := keepBase(ctx, client); err != nil {
		return err
	}
	requests := &countedRequests{}
	counted := requests.counting(cfg)
	runner := restart.New(restart.Options{
		Owner: object.DefaultOwner, Config: func(api.ClusterName) (*rest.Config, error) { return counted, nil }, Settle: time.Millisecond,
		Explain: func(err error) object.Reason { return object.Reason{Message: err.Error()} }, Log: slog.New(slog.DiscardHandler),
	})
	heap := liveHeap()
	ctx, end := context.WithCancel(ctx)
	defer end()
	go runner.Run(ctx)
	policy := api.Rollout{MaxUnavailableWorkloads: new(50), PerNamespace: new(10)}.WithDefaults()
	began := time.Now()
	runner.Set([]restart.Target{{Cluster: "east", Rollout: "bench", Policy: policy, Linkerd: testbed.ControlPlane, Inputs: "last round"}})
	done, err := untilComplete(ctx, client)
	if err != nil {
		return err
	}
	took, sent := time.Since(began), requests.n.Load()
	time.Sleep(5 * time.Second) // what was written last is watched
	before := requests.n.Load()
	time.Sleep(restFor)
	atRest := requests.n.Load() - before
	perWorkload := float64(liveHeap()-heap) / float64(done.Total) / 1024
	fmt.Printf("\nA rollout to all of them, 50 at the same time, and then %s of rest. The heap is of watches and the last survey.\n\n", restFor)
	table([]any{"workloads", "current", "took", "requests", "requests at rest", "heap for each"}, [][]any{
		{done.Total, done.Current, took, sent, atRest, fmt.Sprintf("%.1f KiB", perWorkload)},
	})
	return nil
}

// liveHeap is what is in use after a collection.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // a heap is smaller
}

// keepBase makes the inventory in which the progress is kept.
func keepBase(ctx context.Context, client kubernetes.Interface) error {
	if err := testbed.MakeNamespace(ctx, client, object.AccessNamespace); err != nil {
		return err
	}
	key := inventory.Key(object.DefaultOwner, object.End{})
	_, err := client.CoreV1().ConfigMaps(key.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}, metav1.CreateOptions{})
	return err
}

func untilComplete(ctx context.Context, client kubernetes.Interface) (p rollout.Progress, err error) {
	key := inventory.Key(object.DefaultOwner, object.End{})
	err = wait.PollUntilContextTimeout(ctx, time.Second, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		cm, err := client.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		p, _ = rollout.Decode([]byte(cm.Data[inventory.RolloutKey]))
		return p.Total > 0 && p.Complete(), nil
	})
	return p, err
}

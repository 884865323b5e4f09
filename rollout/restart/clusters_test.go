package restart_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/restart"
)

// fleet are two real clusters of one rollout: west waits for east.
type fleet struct {
	east, west *bed
	settle     time.Duration
	runner     *restart.Runner
	stop       func()
}

// TestClusters follows one rollout in two clusters: waves, a failure in the first, another leader while the injector gets its time, and a slow injector.
func TestClusters(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.lead()
	f.east.complete()
	f.west.complete()

	f.set("proxy.logLevel", `"debug"`)
	east := f.east.complete()
	f.west.complete()
	if west := f.west.restarted(); west.At.Before(east.At) {
		t.Errorf("east was complete at %s, and west, which waits for it, restarted at %s", east.At, west.At)
	}
	f.failing()
	f.settling()
	f.slow()
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	planes, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"east", "west"}, Pool: &pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { planes.CloseAfter(t) })
	f := &fleet{east: bedOf(t, planes.Cluster("east")), west: bedOf(t, planes.Cluster("west")), settle: time.Millisecond, stop: func() {}}
	for _, b := range []*bed{f.east, f.west} {
		b.inputs = "first"
		b.namespaces(object.AccessNamespace, "shop")
		web := testbed.MeshedDeployment("web", map[string]string{rollout.Reconcile: rollout.Auto})
		web.Spec.ProgressDeadlineSeconds = new(int32(3))
		_, err := b.client.AppsV1().Deployments("shop").Create(t.Context(), web, metav1.CreateOptions{})
		b.must(err)
		b.deployed()
	}
	t.Cleanup(func() { f.stop() })
	return f
}

// lead begins a period of leadership, and ends the one before.
func (f *fleet) lead() {
	f.stop()
	configs := map[api.ClusterName]*rest.Config{"east": f.east.config, "west": f.west.config}
	f.runner = restart.New(restart.Options{
		Owner: "linkwright", Config: func(name api.ClusterName) (*rest.Config, error) { return configs[name], nil }, Settle: f.settle,
		Explain: func(err error) object.Reason { return object.Reason{Code: reason.Unknown, Message: err.Error()} }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, end := context.WithCancel(f.east.Context())
	done, runner := make(chan struct{}), f.runner
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	f.stop = func() {
		end()
		<-done
	}
	f.target()
}

// target tells the runner how the clusters are declared: west is in a later wave.
func (f *fleet) target() {
	var targets []restart.Target
	for wave, b := range []*bed{f.east, f.west} {
		targets = append(targets, restart.Target{
			Cluster: api.ClusterName(b.cluster.Name), Rollout: "ProxyConfig all", Wave: wave, Policy: api.Rollout{}.WithDefaults(), Linkerd: testbed.ControlPlane, Inputs: b.inputs,
		})
	}
	f.runner.Set(targets)
}

// set changes a value in both clusters, east first, and tells the runner once.
func (f *fleet) set(path, value string) {
	for _, b := range []*bed{f.east, f.west} {
		b.must(testbed.SetValue(b.Context(), b.client, path, value))
		b.inputs = path + "=" + value
	}
	f.target()
}

// failing has no node room for the new proxy: west does not begin until east is repaired.
func (f *fleet) failing() {
	before := f.west.restarted()
	f.set("proxy.resources.cpu.request", `"100k"`)
	f.east.waits(reason.RestartFailed)
	if p := f.west.waits(reason.RolloutHalted); p.Restarting > 0 || f.west.restarted() != before {
		f.west.Errorf("west restarts although east failed: %s", p.Encode())
	}
	f.set("proxy.resources.cpu.request", `"20m"`)
	f.east.complete()
	f.west.complete()
}

// settling has another process lead while the injector gets its time: the time goes on, and does not begin again.
func (f *fleet) settling() {
	f.settle = 6 * time.Second
	f.lead()
	f.east.complete()
	f.set("proxy.logLevel", `"warn"`)
	began := f.east.waits(reason.WaitingForInjector).Began
	time.Sleep(time.Until(began.Add(4 * time.Second)))
	f.lead()
	f.east.complete()
	if took := f.east.restarted().At.Sub(began); took < f.settle || took >= f.settle+4*time.Second {
		f.east.Errorf("restarted %s after the change, want %s", took, f.settle)
	}
	f.west.complete()
	f.settle = time.Millisecond
	f.lead()
}

// slow has an injector answer too late: API servers go on without it, so nobody knows which proxy a pod would get, and nothing restarts until it answers.
func (f *fleet) slow() {
	before := f.east.restarted()
	f.east.must(f.east.injector.Ignore(f.east.Context()))
	f.east.injector.Delay(1500 * time.Millisecond)
	f.set("proxy.logLevel", `"error"`)
	if p := f.east.waits(reason.WorkloadsNotRead); p.Unknown != 1 || !strings.Contains(p.Why.Message, "got no proxy") || f.east.restarted() != before {
		f.east.Errorf("a slow injector: got %s", p.Encode())
	}
	f.west.waits(reason.WaitingForWave)
	f.east.injector.Delay(200 * time.Millisecond)
	f.east.complete()
	f.west.complete()
}

// restarted returns what the template of the Deployment says of its last restart.
func (b *bed) restarted() rollout.Restarted {
	b.Helper()
	d, err := b.client.AppsV1().Deployments("shop").Get(b.Context(), "web", metav1.GetOptions{})
	b.must(err)
	return rollout.RestartedBy(d.Spec.Template.Annotations)
}

package restart_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/restart"
)

// bed is a real control plane with an injector, workloads, and what restarts them.
type bed struct {
	*testing.T
	cluster  *testbed.Cluster
	injector *testbed.Injector
	client   kubernetes.Interface
	config   *rest.Config
	requests atomic.Int64
	inputs   string
	argo     bool // Rollouts of Argo are declared
	runner   *restart.Runner
	stop     func()
}

// pool has the control planes of tests that are done.
var pool testbed.Pool

func newBed(t *testing.T) *bed {
	t.Helper()
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	planes, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"east"}, Pool: &pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { planes.CloseAfter(t) })
	return bedOf(t, planes.Clusters[0])
}

// bedOf installs Linkerd and an injector in a cluster.
func bedOf(t *testing.T, c *testbed.Cluster) *bed {
	t.Helper()
	b := &bed{T: t, stop: func() {}, cluster: c}
	cfg := b.cluster.Config
	b.must(testbed.InstallLinkerd(t.Context(), cfg, testbed.Linkerd{}))
	var err error
	b.injector, err = testbed.StartInjector(t.Context(), cfg)
	b.must(err)
	b.client, err = kubernetes.NewForConfig(cfg)
	b.must(err)
	b.config = rest.CopyConfig(cfg)
	b.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &b.requests} })
	t.Cleanup(func() { b.stop() })
	return b
}

type counted struct {
	next http.RoundTripper
	n    *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(r)
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// lead begins a period of leadership, and ends the one before.
func (b *bed) lead() {
	b.Helper()
	b.stop()
	b.runner = b.newRunner()
	ctx, end := context.WithCancel(b.Context())
	done := make(chan struct{})
	runner := b.runner
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	b.stop = func() {
		end()
		<-done
	}
	b.target(nil)
}

// leadAndLook begins a period of leadership, and waits until its process has compared all workloads.
func (b *bed) leadAndLook() {
	b.Helper()
	before := b.injector.Calls()
	b.lead()
	err := wait.PollUntilContextTimeout(b.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return b.injector.Calls()-before >= 4, nil
	})
	b.must(err)
	time.Sleep(300 * time.Millisecond) // for what it decides then
}

func (b *bed) newRunner() *restart.Runner {
	return restart.New(restart.Options{
		Owner: "linkwright", Config: func(api.ClusterName) (*rest.Config, error) { return b.config, nil }, Settle: time.Millisecond,
		Explain: func(err error) object.Reason { return object.Reason{Code: reason.Unknown, Message: err.Error()} }, Log: slog.New(slog.DiscardHandler),
	})
}

// target tells the runner how the cluster is declared.
func (b *bed) target(hold *object.Reason) { b.runner.Set(b.targets(hold)) }

func (b *bed) targets(hold *object.Reason) []restart.Target {
	p := api.Rollout{MaxUnavailableWorkloads: new(2), PerNamespace: new(2), ArgoRollouts: b.argo}.WithDefaults()
	return []restart.Target{{Cluster: "east", Rollout: "ProxyConfig all", Policy: p, Linkerd: testbed.ControlPlane, Inputs: b.inputs, Hold: hold}}
}

// set changes one value of Linkerd's installation, and tells the runner.
func (b *bed) set(path, value string) {
	b.Helper()
	b.must(testbed.SetValue(b.Context(), b.client, path, value))
	b.inputs = path + "=" + value
	b.target(nil)
}

// progress waits until the cluster keeps a progress of the current values that is as wanted.
func (b *bed) progress(what string, is func(rollout.Progress) bool) rollout.Progress {
	b.Helper()
	key := inventory.Key("linkwright", object.End{})
	var last rollout.Progress
	err := wait.PollUntilContextTimeout(b.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		cm, err := b.client.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last, _ = rollout.Decode([]byte(cm.Data[inventory.RolloutKey]))
		return last.Inputs == b.inputs && is(last), nil
	})
	if err != nil {
		b.Fatalf("%s: %v, last %s %v", what, err, last.Encode(), last.Why)
	}
	return last
}

func (b *bed) complete() rollout.Progress {
	b.Helper()
	return b.progress("complete", func(p rollout.Progress) bool { return p.Complete() && p.Total > 0 })
}

// waits waits until nothing restarts for this reason.
func (b *bed) waits(code reason.Code) rollout.Progress {
	b.Helper()
	return b.progress(string(code), func(p rollout.Progress) bool { return p.Why != nil && p.Why.Code == code })
}

// generations returns how often each workload's spec was written.
func (b *bed) generations() map[string]int64 {
	b.Helper()
	out := map[string]int64{}
	deployments, err := b.client.AppsV1().Deployments("").List(b.Context(), metav1.ListOptions{})
	b.must(err)
	for _, d := range deployments.Items {
		if d.Namespace == "shop" || d.Namespace == "bank" {
			out[d.Name] = d.Generation
		}
	}
	sets, err := b.client.AppsV1().StatefulSets("").List(b.Context(), metav1.ListOptions{})
	b.must(err)
	for _, s := range sets.Items {
		out[s.Name] = s.Generation
	}
	daemons, err := b.client.AppsV1().DaemonSets("").List(b.Context(), metav1.ListOptions{})
	b.must(err)
	for _, d := range daemons.Items {
		out[d.Name] = d.Generation
	}
	return out
}

// grew fails unless exactly these workloads were written once since.
func (b *bed) grew(what string, since map[string]int64, names ...string) map[string]int64 {
	b.Helper()
	want := maps.Clone(since)
	for _, name := range names {
		want[name]++
	}
	got := b.generations()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s: generations: -want +got\n%s", what, diff)
	}
	return got
}

// namespaces makes some namespaces, and the inventory of the base.
func (b *bed) namespaces(names ...string) {
	b.Helper()
	for _, ns := range names {
		b.must(testbed.MakeNamespace(b.Context(), b.client, ns))
	}
	key := inventory.Key("linkwright", object.End{})
	_, err := b.client.CoreV1().ConfigMaps(key.Namespace).Create(b.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}, metav1.CreateOptions{})
	b.must(err)
}

// workloads makes some of each kind, and waits until they run.
func (b *bed) workloads() {
	b.Helper()
	ctx, apps := b.Context(), b.client.AppsV1()
	b.namespaces(object.AccessNamespace, "shop", "bank")
	auto := map[string]string{rollout.Reconcile: rollout.Auto}
	web := testbed.MeshedDeployment("web", auto)
	web.Spec.Replicas, web.Spec.ProgressDeadlineSeconds = new(int32(2)), new(int32(3))
	fixed := testbed.MeshedDeployment("fixed", auto)
	for _, d := range []*appsv1.Deployment{web, fixed, testbed.MeshedDeployment("asks-for-nothing", nil)} {
		_, err := apps.Deployments("shop").Create(ctx, d, metav1.CreateOptions{})
		b.must(err)
	}
	_, err := apps.Deployments("bank").Create(ctx, testbed.MeshedDeployment("ledger", nil), metav1.CreateOptions{})
	b.must(err)
	select1 := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	_, err = apps.StatefulSets("shop").Create(ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Selector: select1("db"), Template: testbed.MeshedTemplate("db", auto),
	}}, metav1.CreateOptions{})
	b.must(err)
	_, err = apps.DaemonSets("shop").Create(ctx, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: appsv1.DaemonSetSpec{
		Selector: select1("agent"), Template: testbed.MeshedTemplate("agent", auto),
	}}, metav1.CreateOptions{})
	b.must(err)
	b.settled()
}

// settled waits until all workloads are available with their current templates.
func (b *bed) settled() {
	b.Helper()
	b.deployed()
	err := wait.PollUntilContextTimeout(b.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := b.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "app in (db, agent)"})
		return err == nil && len(pods.Items) == 2 && pods.Items[0].Status.Phase == corev1.PodRunning && pods.Items[1].Status.Phase == corev1.PodRunning, err
	})
	b.must(err)
}

// deployed waits until all Deployments are.
func (b *bed) deployed() {
	b.Helper()
	err := wait.PollUntilContextTimeout(b.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		deployments, err := b.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range deployments.Items {
			if rollout.OfDeployment(&deployments.Items[i]).State != rollout.Settled {
				return false, nil
			}
		}
		return true, nil
	})
	b.must(err)
}

// TestRun follows one rollout after the other on a real control plane, with real controllers of Deployments, StatefulSets, DaemonSets and disruption
// budgets, and a real webhook.
func TestRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.workloads()
	b.inputs = "first"
	b.lead()
	b.complete()
	was := b.grew("nothing is outdated", b.generations())

	b.set("proxy.logLevel", `"debug"`)
	if p := b.complete(); p.Total != 4 || p.Current != 4 {
		t.Errorf("complete: got %s", p.Encode())
	}
	was = b.grew("a value changed", was, "agent", "db", "fixed", "web")
	b.events("web")
	b.restful()

	b.leadAndLook()
	was = b.grew("another process leads", was)

	b.paused(&was)
	b.protected(&was)
	b.opened(&was)
	b.once(&was)
	b.failing(&was)
	b.argoRollouts()
}

// once has no process watch: each call restarts what may restart then, and waits for nothing.
func (b *bed) once(was *map[string]int64) {
	b.Helper()
	b.stop()
	b.must(testbed.SetValue(b.Context(), b.client, "proxy.logLevel", `"warn"`))
	b.inputs = "once"
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		runner := b.newRunner()
		p := runner.Once(ctx, b.targets(nil))["east"]
		if p.Restarting > 2 {
			b.Errorf("%d restart at the same time, want 2", p.Restarting)
		}
		return p.Complete() && p.Inputs == b.inputs, nil
	})
	b.must(err)
	*was = b.grew("one call after the other", *was, "agent", "db", "fixed", "web", "ledger")
	b.lead()
	b.complete()
}

// events waits for the Event of a workload that restarted.
func (b *bed) events(name string) {
	b.Helper()
	all, err := b.client.CoreV1().Events("shop").List(b.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + string(reason.ProxyRestart)})
	b.must(err)
	config, err := b.client.CoreV1().Events(testbed.ControlPlane).List(b.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=linkerd-config,reason=" + string(reason.ConfigUpdated)})
	b.must(err)
	if len(config.Items) != 1 {
		b.Errorf("Events of linkerd-config: %+v", config.Items)
	}
	if len(all.Items) != 1 || !strings.Contains(all.Items[0].Message, "LINKERD2_PROXY_LOG") {
		b.Errorf("Events of %s: %+v", name, all.Items)
	}
}

// restful fails if anything is sent while there is nothing to do.
func (b *bed) restful() {
	b.Helper()
	time.Sleep(time.Second) // until what was written is watched
	before := b.requests.Load()
	b.target(object.Because(reason.RolloutPaused, "paused")) // it looks, and finds nothing to do or to say
	time.Sleep(time.Second)
	if n := b.requests.Load() - before; n > 0 {
		b.Errorf("%d requests while there is nothing to do", n)
	}
	b.target(nil)
}

func (b *bed) paused(was *map[string]int64) {
	b.Helper()
	hold := object.Because(reason.RolloutPaused, "paused")
	b.target(hold)
	b.must(testbed.SetValue(b.Context(), b.client, "proxy.logLevel", `"info"`))
	b.inputs = "paused"
	b.target(hold)
	b.waits(reason.RolloutPaused)
	*was = b.grew("paused", *was)
	b.target(nil)
	b.complete()
	*was = b.grew("resumed", *was, "agent", "db", "fixed", "web")
}

// protected has a disruption budget hold back a workload.
func (b *bed) protected(was *map[string]int64) {
	b.Helper()
	two, budgets := intstr.FromInt32(2), b.client.PolicyV1().PodDisruptionBudgets("shop")
	_, err := budgets.Create(b.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}, metav1.CreateOptions{})
	b.must(err)
	b.set("proxy.logLevel", `"trace"`)
	if p := b.waits(reason.WaitingForWorkloads); p.Outdated != 1 || !strings.Contains(p.Why.Message, "PodDisruptionBudget web") {
		b.Errorf("a budget allows nothing: got %s", p.Encode())
	}
	*was = b.grew("a budget allows nothing", *was, "agent", "db", "fixed")
	one := intstr.FromInt32(1)
	p, err := budgets.Get(b.Context(), "web", metav1.GetOptions{})
	b.must(err)
	p.Spec.MinAvailable = &one
	_, err = budgets.Update(b.Context(), p, metav1.UpdateOptions{})
	b.must(err)
	b.complete()
	*was = b.grew("the budget allows one", *was, "web")
}

// opened has a namespace opt in.
func (b *bed) opened(was *map[string]int64) {
	b.Helper()
	ns, err := b.client.CoreV1().Namespaces().Get(b.Context(), "bank", metav1.GetOptions{})
	b.must(err)
	ns.Annotations = map[string]string{rollout.Reconcile: rollout.Auto}
	_, err = b.client.CoreV1().Namespaces().Update(b.Context(), ns, metav1.UpdateOptions{})
	b.must(err)
	b.progress("the namespace opts in", func(p rollout.Progress) bool { return p.Complete() && p.Total == 5 })
	*was = b.grew("the namespace opts in", *was, "ledger")
}

// failing has proxies that no node has room for: the first workload that fails halts all others, until it is repaired.
func (b *bed) failing(was *map[string]int64) {
	b.Helper()
	_, err := b.client.AppsV1().Deployments("bank").Get(b.Context(), "ledger", metav1.GetOptions{})
	b.must(err)
	ns, err := b.client.CoreV1().Namespaces().Get(b.Context(), "bank", metav1.GetOptions{})
	b.must(err)
	ns.Annotations = nil
	_, err = b.client.CoreV1().Namespaces().Update(b.Context(), ns, metav1.UpdateOptions{})
	b.must(err)
	for _, name := range []string{"fixed"} { // it fails as soon as web
		d, err := b.client.AppsV1().Deployments("shop").Get(b.Context(), name, metav1.GetOptions{})
		b.must(err)
		d.Spec.ProgressDeadlineSeconds = new(int32(3))
		_, err = b.client.AppsV1().Deployments("shop").Update(b.Context(), d, metav1.UpdateOptions{})
		b.must(err)
	}
	b.settled()
	*was = b.generations()
	b.set("proxy.resources.cpu.request", `"100k"`)
	p := b.waits(reason.RestartFailed)
	if len(p.Failed) == 0 {
		b.Errorf("a restart failed: got %s", p.Encode())
	}
	halted := b.generations()
	time.Sleep(500 * time.Millisecond)
	if diff := cmp.Diff(halted, b.generations()); diff != "" {
		b.Errorf("halted: -want +got\n%s", diff)
	}
	b.undone()
	b.set("proxy.resources.cpu.request", `"20m"`)
	b.complete()
}

// undone pauses restarts, takes those back that failed, and lets them go on.
func (b *bed) undone() {
	b.Helper()
	hand, err := restart.NewByHand(b.config, "linkwright")
	b.must(err)
	all, _, err := hand.Unfinished(b.Context())
	b.must(err)
	if len(all) == 0 {
		b.Fatal("nothing is unfinished")
	}
	b.must(hand.Pause(b.Context(), true)) // which counts before the target says so
	for _, u := range all {
		b.must(hand.Undo(b.Context(), u))
		if err := hand.Undo(b.Context(), u); !apierrors.IsConflict(err) {
			b.Errorf("undo %s, which changed since: %v", u.Ref, err)
		}
	}
	b.waits(reason.RolloutPaused)
	left, _, err := hand.Unfinished(b.Context())
	b.must(err)
	for _, u := range left {
		if u.Kind == "Deployment" {
			b.Errorf("%s has still its new template", u.Ref)
		}
	}
	b.must(hand.Pause(b.Context(), false))
}

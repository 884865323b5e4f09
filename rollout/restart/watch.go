package restart

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/rollout"
)

// watches keep what a rollout needs of the workloads, namespaces and disruption budgets of a cluster. Nothing else of these objects is kept.
type watches struct {
	workloads  []cache.Store // of *kept[rollout.Workload]
	namespaces cache.Store   // of *kept[namespace]
	budgets    cache.Store   // of *kept[rollout.Budget]
	synced     []cache.InformerSynced
	hasArgo    bool // Argo Rollouts are watched, too
	running    sync.WaitGroup
	end        context.CancelFunc
}

// kept is what is kept of an object: its name and version, and a value.
type kept[T any] struct {
	namespace, name, version string
	Value                    T
}

// keep returns what is kept of an object.
func keep[T any](o metav1.Object, value T) *kept[T] {
	return &kept[T]{o.GetNamespace(), o.GetName(), o.GetResourceVersion(), value}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor: stores name objects by it. The metadata itself would be more than all that is kept.
func (k *kept[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: k.namespace, Name: k.name, ResourceVersion: k.version}
}

func (k *kept[T]) value() any { return k.Value }

// same reports whether two versions of an object have the same value.
func same(was, now any) bool {
	a, ok := was.(interface{ value() any })
	b, also := now.(interface{ value() any })
	return ok && also && reflect.DeepEqual(a.value(), b.value())
}

// informer says how one kind is listed and watched, and what is kept of an object.
type informer struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	of    runtime.Object
	keep  func(any) any
}

// follow watches a cluster until stop is called, with Argo Rollouts if hasArgo. moved is called for each change of what is kept.
func follow(ctx context.Context, c clients, hasArgo bool, moved func()) *watches {
	ctx, end := context.WithCancel(ctx)
	w := &watches{end: end, hasArgo: hasArgo}
	kinds := []informer{deployments(c), statefulSets(c), daemonSets(c)}
	if hasArgo {
		kinds = append(kinds, argoRollouts(c))
	}
	for _, i := range kinds {
		w.workloads = append(w.workloads, w.start(ctx, i, moved))
	}
	w.namespaces = w.start(ctx, namespaces(c), moved)
	w.budgets = w.start(ctx, disruptionBudgets(c), moved)
	return w
}

func (w *watches) start(ctx context.Context, i informer, moved func()) cache.Store {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{ListWithContextFunc: i.list, WatchFuncWithContext: i.watch}, ObjectType: i.of,
		Transform: func(o any) (any, error) { return i.keep(o), nil },
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { moved() }, DeleteFunc: func(any) { moved() },
			UpdateFunc: func(was, now any) {
				if !same(was, now) {
					moved()
				}
			},
		},
	})
	w.synced = append(w.synced, controller.HasSynced)
	w.running.Go(func() { controller.RunWithContext(ctx) })
	return store
}

// stop ends all watches.
func (w *watches) stop() {
	w.end()
	w.running.Wait()
}

// live returns the workloads as they are known, by name.
func (w *watches) live() map[rollout.Ref]rollout.Workload {
	out := map[rollout.Ref]rollout.Workload{}
	for _, store := range w.workloads {
		for _, o := range store.List() {
			if k, ok := o.(*kept[rollout.Workload]); ok && k.Value.Kind != "" {
				value := k.Value
				value.ResourceVersion = k.version
				out[value.Ref] = value
			}
		}
	}
	return out
}

// namespace is what is kept of a namespace.
type namespace struct {
	Says     string // of restarts
	Settings string // of proxies, in one text
}

// namespaceOf keeps its annotations that Linkerd's injector reads.
func namespaceOf(ns *corev1.Namespace) namespace {
	out := namespace{Says: ns.Annotations[rollout.Reconcile]}
	for _, name := range slices.Sorted(maps.Keys(ns.Annotations)) {
		if domain, _, _ := strings.Cut(name, "/"); name != rollout.Reconcile && slices.Contains([]string{"config.linkerd.io", "config.alpha.linkerd.io", "config.beta.linkerd.io", "linkerd.io"}, domain) {
			out.Settings += name + "=" + ns.Annotations[name] + "\n"
		}
	}
	return out
}

// namespacesNow returns all namespaces by name.
func (w *watches) namespacesNow() map[string]namespace {
	out := map[string]namespace{}
	for _, o := range w.namespaces.List() {
		if k, ok := o.(*kept[namespace]); ok {
			out[k.name] = k.Value
		}
	}
	return out
}

func (w *watches) allBudgets() (out []rollout.Budget) {
	for _, o := range w.budgets.List() {
		if k, ok := o.(*kept[rollout.Budget]); ok {
			out = append(out, k.Value)
		}
	}
	return out
}

// withoutVersion leaves the version to what is kept of each object, so that another version alone is no change.
func withoutVersion(w rollout.Workload) rollout.Workload {
	w.ResourceVersion = ""
	return w
}

// kindClient is client-go's typed client of one kind.
type kindClient[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// informerOf returns the informer of a kind, whose objects are like of, and of each of which a value is kept.
func informerOf[O metav1.Object, L runtime.Object, T any](kind kindClient[L], of runtime.Object, value func(O) T) informer {
	return informer{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return kind.List(ctx, o) },
		watch: kind.Watch, of: of,
		keep: func(o any) any {
			if one, ok := o.(O); ok {
				return keep(one, value(one))
			}
			return o
		},
	}
}

func deployments(c clients) informer {
	return informerOf(c.Apps.Deployments(""), &appsv1.Deployment{}, func(d *appsv1.Deployment) rollout.Workload { return withoutVersion(rollout.OfDeployment(d)) })
}

func statefulSets(c clients) informer {
	return informerOf(c.Apps.StatefulSets(""), &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) rollout.Workload { return withoutVersion(rollout.OfStatefulSet(s)) })
}

func daemonSets(c clients) informer {
	return informerOf(c.Apps.DaemonSets(""), &appsv1.DaemonSet{}, func(d *appsv1.DaemonSet) rollout.Workload { return withoutVersion(rollout.OfDaemonSet(d)) })
}

// argoRollouts keeps nothing of an Argo Rollout that has no template of its own.
func argoRollouts(c clients) informer {
	return informerOf(c.Dynamic.Resource(rollout.ArgoRollouts()), &unstructured.Unstructured{}, func(o *unstructured.Unstructured) rollout.Workload {
		a, _ := rollout.OfArgoRollout(o)
		return withoutVersion(a.Workload)
	})
}

func namespaces(c clients) informer {
	return informerOf(c.Core.Namespaces(), &corev1.Namespace{}, namespaceOf)
}

func disruptionBudgets(c clients) informer {
	return informerOf(c.policy.PodDisruptionBudgets(""), &policyv1.PodDisruptionBudget{}, rollout.OfBudget)
}

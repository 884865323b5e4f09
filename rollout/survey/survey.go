// Package survey reads which workloads of a cluster run other proxies than they would get now. It writes nothing: the pods that it creates are dry
// runs.
package survey

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/rollout"
)

// inFlight is how many dry runs are sent to a cluster at once, and page how many objects a list returns at once.
const inFlight, page = 16, 500

// ErrNoProxy means that a dry run got no proxy, although pods of the workload have one. An injector that is down is ignored by default, so that says
// nothing about the next pod.
var ErrNoProxy = errors.New("the dry run got no proxy")

// Workload is a Deployment, StatefulSet, DaemonSet or Argo Rollout with meshed pods.
type Workload struct {
	Kind, Namespace, Name string
	OptsIn                bool             // its owner lets a controller restart it
	Pods, Outdated        int              // its meshed pods, and those that a restart would change
	Differences           []string         // what a restart would change of the first outdated pod
	Err                   error            // why that is not known; nil: it is
	Live                  rollout.Workload // as it was listed
}

// Options say what is read.
type Options struct {
	Namespace string // only its workloads; empty: all
	// OptedIn reads only workloads whose owners let a controller restart them.
	OptedIn bool
	// Only reads one workload; zero: all.
	Only rollout.Ref
	// Linkerd is the control plane's namespace, in which the current version and trust anchors are read. Pods are compared by these where a dry run is
	// forbidden; empty: they are not.
	Linkerd string
	// NoDryRun compares all pods like that.
	NoDryRun bool
	// ArgoRollouts reads Argo Rollouts, too, if the cluster has that kind.
	ArgoRollouts bool
}

// has reports whether a workload is asked for.
func (o Options) has(w *workload, optsIn bool) bool {
	return len(w.pods) > 0 && (!o.OptedIn || optsIn) && (o.Only == rollout.Ref{} || o.Only == w.live.Ref)
}

// Cluster is what a survey of a cluster found.
type Cluster struct {
	Workloads []Workload // by namespace, kind and name
	Others    []Pod      // meshed pods of nothing else: bare pods, those of Jobs, of former templates of Argo Rollouts, or of what was not read
	// ArgoRollouts says that Argo Rollouts were read, and ArgoErr why they were not although they were asked for; nil: the cluster has none.
	ArgoRollouts bool
	ArgoErr      error
}

// Pod is a pod that is only reported, with the kind of its controller; empty: it has none.
type Pod struct{ Namespace, Name, Controller string }

// Client reads what a survey needs. It is not a kubernetes.Interface: an interface on all clients together adds 8 MB to the program.
type Client struct {
	Core    typedv1.CoreV1Interface
	Apps    typedappsv1.AppsV1Interface
	Dynamic dynamic.Interface // for Argo Rollouts
}

// NewClient returns a client for a cluster. An error is one of the configuration.
func NewClient(cfg *rest.Config) (Client, error) {
	core, err := typedv1.NewForConfig(cfg)
	if err != nil {
		return Client{}, err
	}
	apps, err := typedappsv1.NewForConfig(cfg)
	if err != nil {
		return Client{}, err
	}
	others, err := dynamic.NewForConfig(cfg)
	return Client{core, apps, others}, err
}

// Read surveys a cluster. It sends four lists, one more for namespaces, two requests for Argo Rollouts if these are asked for, and one dry run for each workload
// with meshed pods.
func Read(ctx context.Context, client Client, o Options) (Cluster, error) {
	if o.Only != (rollout.Ref{}) {
		o.Namespace = o.Only.Namespace
	}
	r := reader{Options: o, client: client, annotations: map[string]map[string]string{}}
	if err := r.list(ctx); err != nil {
		return Cluster{}, err
	}
	r.current = sync.OnceValues(func() (rollout.Current, error) { return r.readCurrent(ctx) })
	others := r.assign()
	meshed := slices.DeleteFunc(r.workloads, func(w *workload) bool { return !o.has(w, r.optsIn(w)) })
	out := Cluster{Workloads: make([]Workload, len(meshed)), Others: others, ArgoRollouts: r.readArgo, ArgoErr: r.argoErr}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(inFlight)
	for i, w := range meshed {
		g.Go(func() error {
			out.Workloads[i] = r.compare(inner, w)
			return inner.Err()
		})
	}
	return out, g.Wait()
}

// Owned is a workload with its meshed pods.
type Owned struct {
	Live rollout.Workload
	Pods []*corev1.Pod
}

// Workloads lists the workloads of a cluster that have meshed pods, by namespace, kind and name. It compares nothing. argo says why Argo Rollouts are not
// among them; nil: they are, or the cluster has none.
func Workloads(ctx context.Context, client Client) (out []Owned, argo, err error) {
	r := reader{Options: Options{ArgoRollouts: true}, client: client, annotations: map[string]map[string]string{}}
	if err := r.list(ctx); err != nil {
		return nil, nil, err
	}
	r.assign()
	for _, w := range r.workloads {
		if len(w.pods) > 0 {
			out = append(out, Owned{w.live, w.pods})
		}
	}
	return out, r.argoErr, nil
}

// workload is a workload with its pods.
type workload struct {
	kind, namespace, name string
	live                  rollout.Workload
	template              corev1.PodTemplateSpec
	claims                []corev1.PersistentVolumeClaim
	hashes                []string // of templates of an Argo Rollout whose pods count
	pods                  []*corev1.Pod
}

func (w *workload) compareTo(o *workload) int {
	return cmp.Or(cmp.Compare(w.namespace, o.namespace), cmp.Compare(w.kind, o.kind), cmp.Compare(w.name, o.name))
}

// reader surveys one cluster.
type reader struct {
	Options
	client      Client
	annotations map[string]map[string]string // of namespaces
	pods        []*corev1.Pod
	workloads   []*workload
	readArgo    bool                            // Argo Rollouts were read
	argoErr     error                           // why they were not
	current     func() (rollout.Current, error) // what the injector would write into annotations now
}

func (r *reader) optsIn(w *workload) bool {
	return w.live.OptIn.With(r.annotations[w.namespace][rollout.Reconcile])
}

// list reads meshed pods, workloads and namespaces.
func (r *reader) list(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	var deployments, statefulSets, daemonSets, rollouts []*workload
	g.Go(func() (err error) {
		r.pods, err = r.meshedPods(ctx)
		return err
	})
	g.Go(func() error {
		return pagesOf(ctx, r, "Deployment", r.client.Apps.Deployments(r.Namespace).List, func(l *appsv1.DeploymentList) {
			for _, d := range l.Items {
				deployments = append(deployments, &workload{kind: "Deployment", namespace: d.Namespace, name: d.Name, live: rollout.OfDeployment(&d), template: d.Spec.Template})
			}
		})
	})
	g.Go(func() error {
		return pagesOf(ctx, r, "StatefulSet", r.client.Apps.StatefulSets(r.Namespace).List, func(l *appsv1.StatefulSetList) {
			for _, s := range l.Items {
				statefulSets = append(statefulSets, &workload{kind: "StatefulSet", namespace: s.Namespace, name: s.Name, live: rollout.OfStatefulSet(&s), template: s.Spec.Template, claims: s.Spec.VolumeClaimTemplates})
			}
		})
	})
	g.Go(func() error {
		return pagesOf(ctx, r, "DaemonSet", r.client.Apps.DaemonSets(r.Namespace).List, func(l *appsv1.DaemonSetList) {
			for _, d := range l.Items {
				daemonSets = append(daemonSets, &workload{kind: "DaemonSet", namespace: d.Namespace, name: d.Name, live: rollout.OfDaemonSet(&d), template: d.Spec.Template})
			}
		})
	})
	g.Go(func() error {
		rollouts, r.readArgo, r.argoErr = r.argoRollouts(ctx)
		return ctx.Err()
	})
	g.Go(func() error {
		if r.Namespace != "" {
			ns, err := r.client.Core.Namespaces().Get(ctx, r.Namespace, metav1.GetOptions{})
			if err == nil {
				r.annotations[ns.Name] = ns.Annotations
			}
			return err
		}
		return pages(ctx, r.client.Core.Namespaces().List, func(l *corev1.NamespaceList) {
			for _, ns := range l.Items {
				r.annotations[ns.Name] = ns.Annotations
			}
		})
	})
	err := g.Wait()
	r.workloads = slices.Concat(deployments, statefulSets, daemonSets, rollouts)
	slices.SortFunc(r.workloads, (*workload).compareTo)
	return err
}

// meshedPods returns the pods with a proxy that run, or start.
func (r *reader) meshedPods(ctx context.Context) (out []*corev1.Pod, err error) {
	list := func(ctx context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
		opts.LabelSelector = rollout.Meshed
		return r.client.Core.Pods(r.Namespace).List(ctx, opts)
	}
	err = pages(ctx, list, func(l *corev1.PodList) {
		for i := range l.Items {
			pod := &l.Items[i]
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if pod.DeletionTimestamp == nil && !ended && rollout.HasProxy(pod) {
				out = append(out, pod)
			}
		}
	})
	return out, err
}

// pagesOf reads all workloads of a kind, or the only one that is asked for.
func pagesOf[List metav1.ListInterface](ctx context.Context, r *reader, kind string, list func(context.Context, metav1.ListOptions) (List, error), add func(List)) error {
	switch r.Only.Kind {
	case "":
		return pages(ctx, list, add)
	case kind:
		return pages(ctx, func(ctx context.Context, o metav1.ListOptions) (List, error) {
			o.FieldSelector = "metadata.name=" + r.Only.Name
			return list(ctx, o)
		}, add)
	}
	return nil
}

// pages reads all pages of a list.
func pages[List metav1.ListInterface](ctx context.Context, list func(context.Context, metav1.ListOptions) (List, error), add func(List)) error {
	opts := metav1.ListOptions{Limit: page}
	for {
		l, err := list(ctx, opts)
		if err != nil {
			return err
		}
		add(l)
		if opts.Continue = l.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}

// assign gives each pod to its workload, and returns the others.
func (r *reader) assign() (others []Pod) {
	near := map[string][]*workload{} // by namespace
	for _, w := range r.workloads {
		near[w.namespace] = append(near[w.namespace], w)
	}
	for _, pod := range r.pods {
		all := near[pod.Namespace]
		if at := slices.IndexFunc(all, func(w *workload) bool { return w.owns(pod) }); at >= 0 {
			all[at].pods = append(all[at].pods, pod)
			continue
		}
		kind := ""
		if owner := metav1.GetControllerOf(pod); owner != nil {
			kind = owner.Kind
		}
		others = append(others, Pod{pod.Namespace, pod.Name, kind})
	}
	slices.SortFunc(others, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return others
}

// owns reports whether a pod is the workload's. A Deployment or Argo Rollout owns those of its ReplicaSets, which it names by the hash of
// their template.
func (w *workload) owns(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	switch w.kind {
	case "Deployment":
		return owner.Kind == "ReplicaSet" && owner.Name == w.name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	case rollout.ArgoRollout:
		hash := pod.Labels[rollout.ArgoTemplateHash]
		return owner.Kind == "ReplicaSet" && owner.Name == w.name+"-"+hash && slices.Contains(w.hashes, hash)
	}
	return owner.Kind == w.kind && owner.Name == w.name
}

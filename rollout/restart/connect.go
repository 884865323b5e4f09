package restart

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

// syncTimeout is how long watches may take to begin.
const syncTimeout = 30 * time.Second

// errNotWatched means that workloads were listed, and cannot be watched.
var errNotWatched = errors.New("workloads, namespaces or disruption budgets cannot be watched: grant list and watch")

// clients are what a worker needs to reach a cluster.
type clients struct {
	survey.Client
	policy typedpolicyv1.PolicyV1Interface
}

// connection is the connection to a cluster, with its watches.
type connection struct {
	cfg      *rest.Config
	clients  clients
	watches  *watches // nil: they have not begun
	withArgo bool     // Argo Rollouts are asked for
	moved    func()
}

// connect connects to a cluster, again if the way to it changed. Nothing is sent.
func (c *connection) connect(name api.ClusterName, config func(api.ClusterName) (*rest.Config, error), moved func()) error {
	cfg, err := config(name)
	if err != nil {
		return err
	}
	if c.cfg != nil && sameLogin(c.cfg, cfg) {
		return nil
	}
	c.unfollow()
	client, err := survey.NewClient(cfg)
	if err != nil {
		return err
	}
	policy, err := typedpolicyv1.NewForConfig(cfg)
	if err != nil {
		return err
	}
	c.cfg, c.clients, c.moved = cfg, clients{client, policy}, moved
	return nil
}

// sameLogin reports whether two configurations lead to the same server with the same credentials.
func sameLogin(a, b *rest.Config) bool {
	return a.Host == b.Host && a.BearerToken == b.BearerToken && a.BearerTokenFile == b.BearerTokenFile && a.Username == b.Username &&
		reflect.DeepEqual(a.TLSClientConfig, b.TLSClientConfig)
}

// follow begins the watches, unless they run, and waits until they are complete. withArgo asks for Argo Rollouts, too.
func (c *connection) follow(ctx context.Context, withArgo bool) error {
	if c.withArgo != withArgo {
		c.unfollow()
	}
	if c.watches == nil {
		if _, err := c.clients.policy.PodDisruptionBudgets("").List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
		hasArgo, err := c.hasArgo(ctx, withArgo)
		if err != nil {
			return err
		}
		c.withArgo, c.watches = withArgo, follow(context.WithoutCancel(ctx), c.clients, hasArgo, c.moved)
	}
	ctx, end := context.WithTimeout(ctx, syncTimeout)
	defer end()
	if !cache.WaitForCacheSync(ctx.Done(), c.watches.synced...) {
		return errNotWatched
	}
	return nil
}

// refollow begins the watches anew if Argo Rollouts came or went.
func (c *connection) refollow(ctx context.Context, hasArgo bool) error {
	if c.watches.hasArgo == hasArgo {
		return nil
	}
	c.unfollow()
	return c.follow(ctx, c.withArgo)
}

// hasArgo reports whether the cluster has Argo Rollouts, if they are asked for. An error says that linkwright may not list them.
func (c *connection) hasArgo(ctx context.Context, asked bool) (bool, error) {
	if !asked {
		return false, nil
	}
	has, err := c.clients.HasArgoRollouts(ctx)
	if has {
		_, err = c.clients.Dynamic.Resource(rollout.ArgoRollouts()).List(ctx, metav1.ListOptions{Limit: 1})
	}
	return has, err
}

// unfollow ends the watches.
func (c *connection) unfollow() {
	if c.watches != nil {
		c.watches.stop()
		c.watches = nil
	}
}

// progressKey is the key of a base's inventory with the progress of the cluster's rollout.
const progressKey = inventory.RolloutKey

// lastProgress reads what the cluster keeps; zero: nothing.
func (c *connection) lastProgress(ctx context.Context, owner string) (rollout.Progress, error) {
	cm, err := c.base(ctx, owner)
	if apierrors.IsNotFound(err) {
		return rollout.Progress{}, nil
	}
	if err != nil {
		return rollout.Progress{}, err
	}
	p, _ := rollout.Decode([]byte(cm.Data[progressKey]))
	return p, nil
}

// paused reports whether somebody paused restarts, as the cluster has it now.
func (c *connection) paused(ctx context.Context, owner string) (bool, error) {
	cm, err := c.base(ctx, owner)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && cm.Annotations[object.RolloutAnnotation] == object.RolloutPaused, err
}

// base reads the inventory of the base.
func (c *connection) base(ctx context.Context, owner string) (*corev1.ConfigMap, error) {
	key := inventory.Key(owner, object.End{})
	return c.clients.Core.ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

// keepProgress writes the progress into the inventory of the base, beside what linkwright's other writes own.
func (c *connection) keepProgress(ctx context.Context, owner string, p rollout.Progress) error {
	return c.patchProgress(ctx, owner, string(p.Encode()))
}

// removeProgress removes it again.
func (c *connection) removeProgress(ctx context.Context, owner string) error {
	return c.patchProgress(ctx, owner, nil)
}

func (c *connection) patchProgress(ctx context.Context, owner string, value any) error {
	if c.cfg == nil {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]any{progressKey: value}})
	if err != nil {
		return err
	}
	key := inventory.Key(owner, object.End{})
	_, err = c.clients.Core.ConfigMaps(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager(owner)})
	if apierrors.IsNotFound(err) && value == nil {
		return nil
	}
	return err
}

// manager is the field manager of restarts.
func manager(owner string) string { return object.Manager(owner) + "-rollout" }

// patch writes the restart of a workload into its template, if the workload is still what was read. It returns the generation of the workload then.
func (w *worker) patch(ctx context.Context, r rollout.Restart, now time.Time) (int64, error) {
	patch, err := restartPatch(r.Workload, rollout.Restarted{For: r.For, At: now})
	if err != nil {
		return 0, err
	}
	return w.conn.clients.patch(ctx, r.Ref, patch, manager(w.runner.Owner))
}

// restartPatch returns a merge patch of the annotations of a restart, for the very version of the workload that was read. The zero value removes them.
func restartPatch(w rollout.Workload, r rollout.Restarted) ([]byte, error) {
	annotations := map[string]any{rollout.RestartedFor: nil, rollout.RestartedAt: nil}
	if r.For != "" {
		annotations = map[string]any{rollout.RestartedFor: r.For, rollout.RestartedAt: r.Stamp()}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": w.ResourceVersion, "uid": w.UID},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}},
	})
}

// patch sends a merge patch of a workload, and returns its generation then.
func (c clients) patch(ctx context.Context, r rollout.Ref, patch []byte, manager string) (int64, error) {
	o, merge := metav1.PatchOptions{FieldManager: manager}, types.MergePatchType
	switch r.Kind {
	case "Deployment":
		return generation(c.Apps.Deployments(r.Namespace).Patch(ctx, r.Name, merge, patch, o))
	case "StatefulSet":
		return generation(c.Apps.StatefulSets(r.Namespace).Patch(ctx, r.Name, merge, patch, o))
	case "DaemonSet":
		return generation(c.Apps.DaemonSets(r.Namespace).Patch(ctx, r.Name, merge, patch, o))
	}
	return generation(c.Dynamic.Resource(rollout.ArgoRollouts()).Namespace(r.Namespace).Patch(ctx, r.Name, merge, patch, o))
}

func generation[O metav1.Object](o O, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return o.GetGeneration(), nil
}

// restartEvent is an Event about a workload that restarts, without a message.
func restartEvent(r rollout.Restart) *corev1.Event {
	version := "apps/v1"
	if r.Kind == rollout.ArgoRollout {
		version = rollout.ArgoRollouts().GroupVersion().String()
	}
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: r.Name + ".", Namespace: r.Namespace}, Reason: string(reason.ProxyRestart),
		InvolvedObject: corev1.ObjectReference{APIVersion: version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: types.UID(r.UID)},
	}
}

// configEvent is an Event about Linkerd's configuration in a namespace, without a message.
func configEvent(namespace string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: linkerdConfig + ".", Namespace: namespace}, Reason: string(reason.ConfigUpdated),
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: linkerdConfig},
	}
}

// linkerdConfig is the ConfigMap that Linkerd's injector reads.
const linkerdConfig = "linkerd-config"

// event writes an Event. One that cannot be written is not worth a failed restart.
func (w *worker) event(ctx context.Context, e *corev1.Event, message string) {
	now := metav1.Now()
	e.Type, e.Message, e.Source = corev1.EventTypeNormal, message, corev1.EventSource{Component: object.Manager(w.runner.Owner)}
	e.FirstTimestamp, e.LastTimestamp, e.Count = now, now, 1
	if _, err := w.conn.clients.Core.Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{}); err != nil {
		w.runner.Log.Debug("no Event is written", "cluster", string(w.name), "object", e.InvolvedObject.Kind+" "+e.Namespace+"/"+e.InvolvedObject.Name, "error", err.Error())
	}
}

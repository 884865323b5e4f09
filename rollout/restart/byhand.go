package restart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

// ErrNoBase means that linkwright's inventory of a cluster is not there.
var ErrNoBase = errors.New("linkwright has not written to this cluster yet: check --context and --owner")

// ByHand changes what linkwright's restarts do in a cluster, with a person's login.
type ByHand struct {
	clients clients
	owner   string
}

// NewByHand returns a client for one cluster and one installation. Nothing is sent.
func NewByHand(cfg *rest.Config, owner string) (ByHand, error) {
	var c connection
	err := c.connect("", func(api.ClusterName) (*rest.Config, error) { return cfg, nil }, nil)
	return ByHand{c.clients, owner}, err
}

// Pause stops restarts in the cluster, or, with false, lets them go on. It fails with ErrNoBase if linkwright never wrote there.
func (b ByHand) Pause(ctx context.Context, paused bool) error {
	var value any
	if paused {
		value = object.RolloutPaused
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{object.RolloutAnnotation: value}}})
	if err != nil {
		return err
	}
	key := inventory.Key(b.owner, object.End{})
	_, err = b.clients.Core.ConfigMaps(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager(b.owner)})
	if apierrors.IsNotFound(err) {
		return ErrNoBase
	}
	return err
}

// Unfinished is a workload that linkwright restarted, and that is not ready. Before is what its former pods were restarted for.
type Unfinished struct {
	rollout.Workload
	Before rollout.Restarted
}

// Unfinished lists them by name. A workload without pods of its former template is not listed: there is nothing to go back to. argo says why Argo Rollouts
// are not listed; nil: they are.
func (b ByHand) Unfinished(ctx context.Context) (out []Unfinished, argo, err error) {
	all, argo, err := survey.Workloads(ctx, b.clients.Client)
	for _, w := range all {
		waits := w.Live.State == rollout.Paused && w.Live.Kind == rollout.ArgoRollout // for its promotion
		if w.Live.Restarted.For == "" || w.Live.State != rollout.Progressing && w.Live.State != rollout.Failed && !waits {
			continue
		}
		if before, ok := formerRestart(w.Live.Restarted, w.Pods); ok {
			out = append(out, Unfinished{w.Live, before})
		}
	}
	return out, argo, err
}

// formerRestart returns what pods of a former template say of restarts; false: there are none.
func formerRestart(now rollout.Restarted, pods []*corev1.Pod) (rollout.Restarted, bool) {
	at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Annotations[rollout.RestartedFor] != now.For })
	if at < 0 {
		return rollout.Restarted{}, false
	}
	return rollout.RestartedBy(pods[at].Annotations), true
}

// Undo gives a workload the annotations of its former pods again, so that its controller keeps those, and removes the new ones. It fails with a conflict
// if the workload changed since it was listed.
func (b ByHand) Undo(ctx context.Context, u Unfinished) error {
	patch, err := restartPatch(u.Workload, u.Before)
	if err != nil {
		return err
	}
	if _, err := b.clients.patch(ctx, u.Ref, patch, manager(b.owner)); err != nil {
		return fmt.Errorf("undo the restart of %s: %w", u.Ref, err)
	}
	return nil
}

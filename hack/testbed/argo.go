package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/rollout"
)

// argoBinary is the environment variable with the path of a controller of Argo Rollouts (github.com/argoproj/argo-rollouts/cmd/rollouts-controller), which
// then runs instead of the stand-in.
const argoBinary = "LINKWRIGHT_ARGO_ROLLOUTS"

// InstallArgoRollouts installs the kinds of Argo Rollouts in a cluster, without their schemas, and waits until Rollouts can be listed.
func InstallArgoRollouts(ctx context.Context, cfg *rest.Config) error {
	client, err := dynamic.NewForConfig(as(cfg, manager))
	if err != nil {
		return err
	}
	for _, kind := range []string{"Rollout", "AnalysisRun", "AnalysisTemplate", "ClusterAnalysisTemplate", "Experiment"} {
		if err := apply(ctx, client, argoKind(kind)); err != nil {
			return err
		}
	}
	return poll(ctx, func() error {
		_, err := client.Resource(rollout.ArgoRollouts()).List(ctx, metav1.ListOptions{})
		return err
	})
}

// StartArgoRollouts installs the kinds of Argo Rollouts in a cluster, and runs its controller until the function that it returns is called: the real one,
// if LINKWRIGHT_ARGO_ROLLOUTS has its path, or a stand-in. The stand-in makes a ReplicaSet for each template, deletes the former one once the new one is
// available, and sets the status. It knows no strategies, and waits for ever for pods that are not available.
func StartArgoRollouts(ctx context.Context, c *Cluster) (stop func() error, err error) {
	if err := InstallArgoRollouts(ctx, c.Config); err != nil {
		return nil, err
	}
	if path := os.Getenv(argoBinary); path != "" {
		return startArgo(ctx, c, path)
	}
	client, err := dynamic.NewForConfig(as(c.Config, manager))
	if err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfig(as(c.Config, manager))
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	a, done := argo{client.Resource(rollout.ArgoRollouts()), typed}, make(chan struct{})
	go func() {
		defer close(done)
		a.run(ctx)
	}()
	return func() error { end(); <-done; return nil }, nil
}

// RealArgoRollouts reports whether StartArgoRollouts runs the real controller, which knows strategies.
func RealArgoRollouts() bool { return os.Getenv(argoBinary) != "" }

// argoKind is a CustomResourceDefinition without a schema.
func argoKind(kind string) *unstructured.Unstructured {
	plural, scope := strings.ToLower(kind)+"s", "Namespaced"
	if strings.HasPrefix(kind, "Cluster") {
		scope = "Cluster"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + rollout.ArgoRollouts().Group},
		"spec": map[string]any{
			"group": rollout.ArgoRollouts().Group, "scope": scope, "names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{
				"name": rollout.ArgoRollouts().Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// startArgo runs the real controller, with its log in the cluster's directory.
func startArgo(ctx context.Context, c *Cluster, path string) (stop func() error, err error) {
	log, err := os.Create(c.Dir + "/argo-rollouts.log")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, "--kubeconfig", c.Kubeconfig, "--leader-elect=false", "--metricsport", "0", "--healthzPort", "0")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return func() error {
		err := cmd.Process.Signal(syscall.SIGKILL)
		return errors.Join(err, ignoreExit(cmd.Wait()), log.Close())
	}, nil
}

func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// argo is the stand-in.
type argo struct {
	rollouts dynamic.NamespaceableResourceInterface
	client   kubernetes.Interface
}

func (a argo) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all, err := a.rollouts.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range all.Items {
			_ = a.reconcile(ctx, &all.Items[i]) // the next look tries again
		}
	}
}

// reconcile makes the pods of a Rollout of its newest template, and sets the status.
func (a argo) reconcile(ctx context.Context, o *unstructured.Unstructured) error {
	w, ok := rollout.OfArgoRollout(o)
	if !ok {
		return nil
	}
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	text, err := json.Marshal(w.Pods)
	if err != nil {
		return err
	}
	hash := strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 16)
	set, err := a.replicaSet(ctx, o, w.Pods, hash, int32(replicas)) //nolint:gosec // a few
	if err != nil {
		return err
	}
	stable, _, _ := unstructured.NestedString(o.Object, "status", "stableRS")
	s := set.Status
	ready := s.AvailableReplicas == int32(replicas) && s.ObservedGeneration == set.Generation //nolint:gosec // a few
	status := map[string]any{
		"observedGeneration": strconv.FormatInt(o.GetGeneration(), 10), "phase": "Progressing", "currentPodHash": hash, "stableRS": stable,
		"replicas": int64(s.Replicas), "updatedReplicas": int64(s.Replicas), "readyReplicas": int64(s.ReadyReplicas), "availableReplicas": int64(s.AvailableReplicas),
	}
	if ready {
		if err := a.deleteOthers(ctx, o, set); err != nil {
			return err
		}
		status["phase"], status["stableRS"] = "Healthy", hash
	}
	o.Object["status"] = status
	_, err = a.rollouts.Namespace(o.GetNamespace()).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// deleteOthers deletes the ReplicaSets of other templates.
func (a argo) deleteOthers(ctx context.Context, o *unstructured.Unstructured, keep *appsv1.ReplicaSet) error {
	sets := a.client.AppsV1().ReplicaSets(o.GetNamespace())
	all, err := sets.List(ctx, metav1.ListOptions{LabelSelector: rollout.ArgoTemplateHash})
	if err != nil {
		return err
	}
	for _, s := range all.Items {
		if s.UID != keep.UID && metav1.IsControlledBy(&s, o) {
			err = errors.Join(err, sets.Delete(ctx, s.Name, metav1.DeleteOptions{}))
		}
	}
	return err
}

// replicaSet returns the ReplicaSet of a template, and makes it if it is not there.
func (a argo) replicaSet(ctx context.Context, o *unstructured.Unstructured, t corev1.PodTemplateSpec, hash string, replicas int32) (*appsv1.ReplicaSet, error) {
	sets := a.client.AppsV1().ReplicaSets(o.GetNamespace())
	set, err := sets.Get(ctx, o.GetName()+"-"+hash, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return set, err
	}
	t.Labels[rollout.ArgoTemplateHash] = hash
	return sets.Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: o.GetName() + "-" + hash, Labels: t.Labels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, o.GroupVersionKind())}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Template: t, Selector: &metav1.LabelSelector{MatchLabels: t.Labels}},
	}, metav1.CreateOptions{})
}

// NewArgoRollout returns a Rollout of meshed pods with a plain canary strategy, and more annotations of its template.
func NewArgoRollout(name string, replicas int64, more map[string]string) (*unstructured.Unstructured, error) {
	t := MeshedTemplate(name, more)
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&t)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": rollout.ArgoRollouts().GroupVersion().String(), "kind": rollout.ArgoRollout, "spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": template,
			"strategy": map[string]any{"canary": map[string]any{}},
		},
	}}
	o.SetName(name)
	return o, nil
}

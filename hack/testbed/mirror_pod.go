package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// finalizer keeps a pod in the API until its mirror has stopped.
const finalizer = "testbed.linkwright.dev/mirror"

// addFinalizer puts the finalizer on a pod.
func (m *mirrorControllers) addFinalizer(ctx context.Context, pod *corev1.Pod) error {
	if slices.Contains(pod.Finalizers, finalizer) {
		return nil
	}
	return m.setFinalizers(ctx, pod, append(slices.Clone(pod.Finalizers), finalizer))
}

// removeFinalizer takes the finalizer off again.
func (m *mirrorControllers) removeFinalizer(ctx context.Context, pod *corev1.Pod) error {
	live, err := m.core.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !slices.Contains(live.Finalizers, finalizer) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release pod %s: %w", pod.Name, err)
	}
	rest := slices.DeleteFunc(slices.Clone(live.Finalizers), func(f string) bool { return f == finalizer })
	return m.setFinalizers(ctx, live, rest)
}

// setFinalizers changes nothing of a pod that changed since it was read: the
// next pass sees it anew.
func (m *mirrorControllers) setFinalizers(ctx context.Context, pod *corev1.Pod, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return err
	}
	_, err = m.core.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("set finalizers of pod %s: %w", pod.Name, err)
	}
	return nil
}

// releasePods releases the pods that are to go; their terms have stopped already.
func (m *mirrorControllers) releasePods(ctx context.Context, pods []corev1.Pod) {
	for i := range pods {
		if pods[i].DeletionTimestamp != nil && slices.Contains(pods[i].Finalizers, finalizer) {
			m.failed(pods[i].Labels["mirror.linkerd.io/cluster-name"], m.removeFinalizer(ctx, &pods[i]))
		}
	}
}

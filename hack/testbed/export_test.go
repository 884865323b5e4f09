package testbed

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestDeploymentRunsAndIsCollected(t *testing.T) {
	Need(t)
	t.Parallel()
	client := kubernetes.NewForConfigOrDie(sharedClusters.Cluster("east").Config)
	ns := namespace(t, client)
	if err := Export(t.Context(), sharedClusters.Cluster("east").Config, Exported{Namespace: ns, Name: "web"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		deployment, err := client.AppsV1().Deployments(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return available(deployment)
	})
	if err := client.AppsV1().Deployments(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(pods.Items) > 0 {
			return errors.New("the Deployment's pods are not collected")
		}
		return err
	})
	if err := client.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the namespace is not gone"), err)
	})
}

func available(d *appsv1.Deployment) error {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("the Deployment is not available")
}

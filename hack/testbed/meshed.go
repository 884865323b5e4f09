package testbed

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/linkwright/linkwright/render/values"
)

// MeshedTemplate is a template of pods that are to be meshed, with the label app
// and more annotations.
func MeshedTemplate(name string, more map[string]string) corev1.PodTemplateSpec {
	annotations := map[string]string{"linkerd.io/inject": "enabled"}
	maps.Copy(annotations, more)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}}},
	}
}

// MeshedDeployment is a Deployment of such pods.
func MeshedDeployment(name string, more map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: MeshedTemplate(name, more),
	}}
}

// MakeNamespace makes a namespace, and waits until pods can run in it.
func MakeNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	return poll(ctx, func() error {
		_, err := client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// SetValue changes one value of Linkerd's installation, as JSON, as an editor would.
func SetValue(ctx context.Context, client kubernetes.Interface, path, value string) error {
	configs := client.CoreV1().ConfigMaps(ControlPlane)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cm, err := configs.Get(ctx, "linkerd-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		doc, err := values.Parse(cm.Data["values"])
		if err != nil {
			return fmt.Errorf("read the values: %w", err)
		}
		if doc, err = doc.Set(path, value); err != nil {
			return err
		}
		cm.Data["values"] = doc.String()
		_, err = configs.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	})
}

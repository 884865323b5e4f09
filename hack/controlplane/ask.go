package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// nodeName is the one node of a cluster; kwok plays its kubelet.
const nodeName = "node"

func client(f files) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.internal)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// readyz is nil once the API server says that it is ready.
func readyz(ctx context.Context, f files) error {
	c, err := client(f)
	if err != nil {
		return err
	}
	return c.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// register creates the node, with room for more pods than any test has.
func register(ctx context.Context, f files) error {
	c, err := client(f)
	if err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1k"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("10k"),
	}
	_, err = c.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/hostname": nodeName}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// size tells what a cluster has.
type size bool

const (
	light size = false // an API server and service account tokens
	full  size = true  // and default accounts, a scheduler, a node
)

// usable is nil once a test can begin: the namespace holds what its
// controllers put into it, and the node is ready.
func usable(ctx context.Context, f files, s size) error {
	c, err := client(f)
	if err != nil {
		return err
	}
	if _, err := c.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil || s == light {
		return err
	}
	if _, err := c.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	node, err := c.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return untainted(node)
		}
	}
	return fmt.Errorf("node %s is not ready", node.Name)
}

func untainted(node *corev1.Node) error {
	for _, taint := range node.Spec.Taints {
		return fmt.Errorf("node %s has taint %s", node.Name, taint.Key)
	}
	return nil
}

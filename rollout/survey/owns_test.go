package survey

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/rollout"
)

// A pod of web-api is not one of web, although the name of its ReplicaSet begins with web-.
func TestOwns(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels:          map[string]string{"pod-template-hash": "5d7f"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-api-5d7f", Controller: new(true)}},
	}}
	for name, want := range map[string]bool{"web": false, "web-api": true, "api": false} {
		if got := (&workload{kind: "Deployment", name: name}).owns(pod); got != want {
			t.Errorf("%s owns it: %v, want %v", name, got, want)
		}
	}
}

// An Argo Rollout owns pods of its current template and of its stable one. One of a former template, which a blue-green Rollout keeps for a while, is not
// compared.
func TestArgoOwns(t *testing.T) {
	for hash, want := range map[string]bool{"new": true, "stable": true, "former": false} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{rollout.ArgoTemplateHash: hash},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "pay-" + hash, Controller: new(true)}},
		}}
		if got := (&workload{kind: rollout.ArgoRollout, name: "pay", hashes: []string{"new", "stable"}}).owns(pod); got != want {
			t.Errorf("it owns a pod of template %s: %v, want %v", hash, got, want)
		}
	}
}

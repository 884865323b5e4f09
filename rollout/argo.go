package rollout

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ArgoRollout is the kind of the workloads of Argo Rollouts.
const ArgoRollout = "Rollout"

// ArgoRollouts returns their API.
func ArgoRollouts() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
}

// ArgoTemplateHash is the label by which Argo Rollouts tells pods of one template from others (argo-rollouts pkg/apis/rollouts/v1alpha1).
const ArgoTemplateHash = "rollouts-pod-template-hash"

// argoRollout are the fields of a Rollout that are read.
type argoRollout struct {
	Spec struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration string `json:"observedGeneration"`
		Phase              string `json:"phase"`
		Replicas           int32  `json:"replicas"`
		UpdatedReplicas    int32  `json:"updatedReplicas"`
		ReadyReplicas      int32  `json:"readyReplicas"`
		AvailableReplicas  int32  `json:"availableReplicas"`
	} `json:"status"`
}

// OfArgoRollout returns what a rollout needs of a Rollout, and its pod template. False: the template is that of another object (workloadRef), or cannot
// be read.
func OfArgoRollout(o *unstructured.Unstructured) (Workload, corev1.PodTemplateSpec, bool) {
	var r argoRollout
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r) != nil || len(r.Spec.Template.Spec.Containers) == 0 {
		return Workload{}, corev1.PodTemplateSpec{}, false
	}
	t, s := r.Spec.Template, r.Status
	w := Workload{
		Ref: Ref{ArgoRollout, o.GetNamespace(), o.GetName()}, UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(), Template: TemplateDigest(&t),
		Labels: t.Labels, OptIn: OptInOf(&t), Restarted: RestartedBy(o.GetAnnotations()),
		Status: statusOf(s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas), Done: int(s.UpdatedReplicas + s.AvailableReplicas),
		State: argoState(cmp.Or(s.ObservedGeneration, "0") == strconv.FormatInt(o.GetGeneration(), 10), s.Phase),
	}
	return w, t, true
}

// argoState returns the state that Argo Rollouts sums up in a phase (argo-rollouts utils/rollout).
func argoState(observed bool, phase string) State {
	switch {
	case !observed:
		return Progressing
	case phase == "Healthy":
		return Settled
	case phase == "Paused":
		return Paused
	case phase == "Degraded":
		return Failed
	}
	return Progressing
}

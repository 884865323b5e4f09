package rollout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ArgoRollout is the kind Rollout of Argo Rollouts.
const ArgoRollout = "Rollout"

// ArgoRollouts returns the API of that kind.
func ArgoRollouts() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
}

// ArgoTemplateHash is the label by which Argo Rollouts tells pods of one template from others (argo-rollouts pkg/apis/rollouts/v1alpha1).
const ArgoTemplateHash = "rollouts-pod-template-hash"

// argoRollout are the fields of an Argo Rollout that are read.
type argoRollout struct {
	Spec struct {
		Template    corev1.PodTemplateSpec `json:"template"`
		WorkloadRef map[string]any         `json:"workloadRef"`
	} `json:"spec"`
	Status struct {
		Abort              bool   `json:"abort"`
		Message            string `json:"message"`
		ObservedGeneration string `json:"observedGeneration"`
		Phase              string `json:"phase"`
		CurrentPodHash     string `json:"currentPodHash"`
		StableRS           string `json:"stableRS"`
		Replicas           int32  `json:"replicas"`
		UpdatedReplicas    int32  `json:"updatedReplicas"`
		ReadyReplicas      int32  `json:"readyReplicas"`
		AvailableReplicas  int32  `json:"availableReplicas"`
	} `json:"status"`
}

// ArgoWorkload is an Argo Rollout.
type ArgoWorkload struct {
	Workload
	Pods corev1.PodTemplateSpec
	// Hashes are those of its current template and of its stable one. A blue-green Rollout keeps pods of a former template for a while: those do not
	// count, because a restart would not be for them.
	Hashes []string
}

// OfArgoRollout returns what a rollout needs of an Argo Rollout. False: its template is that of another object (workloadRef), or cannot be read.
func OfArgoRollout(o *unstructured.Unstructured) (ArgoWorkload, bool) {
	var r argoRollout
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r) != nil || r.Spec.WorkloadRef != nil || len(r.Spec.Template.Spec.Containers) == 0 {
		return ArgoWorkload{}, false
	}
	s := r.Status
	w := workloadOf(ArgoRollout, &metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration()}, &r.Spec.Template)
	w.Status, w.Done = statusOf(s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas), int(s.UpdatedReplicas+s.AvailableReplicas)
	observed := s.ObservedGeneration == strconv.FormatInt(o.GetGeneration(), 10)
	w.State = argoState(observed, s.Phase)
	if w.State == Failed && !s.Abort && strings.HasPrefix(s.Message, "RolloutAborted") { // of the template before: its controller clears that next
		w.State = Progressing
	}
	hashes := slices.DeleteFunc([]string{s.CurrentPodHash, s.StableRS}, func(h string) bool { return h == "" })
	return ArgoWorkload{w.seen(observed), r.Spec.Template, hashes}, true
}

// argoState returns the state that Argo Rollouts sums up in a phase (argo-rollouts utils/rollout).
func argoState(observed bool, phase string) State {
	states := map[string]State{"Healthy": Settled, "Paused": Paused, "Degraded": Failed}
	if !observed {
		return Progressing
	}
	return cmp.Or(states[phase], Progressing)
}

package output

import "github.com/linkwright/linkwright/object"

// Workload is a Deployment, StatefulSet, DaemonSet or Argo Rollout whose pods have proxies, or a pod of something else.
type Workload struct {
	TypeMeta
	// Cluster is the cluster in which it runs.
	Cluster string `json:"cluster"`
	// Namespace is its namespace.
	Namespace string `json:"namespace"`
	// WorkloadKind is Deployment, StatefulSet, DaemonSet, Rollout or Pod.
	WorkloadKind string `json:"workloadKind"`
	// Name is its name.
	Name string `json:"name"`
	// Status is Current if a restart would change no proxy, Outdated if it would, and Unknown otherwise.
	Status string `json:"status" jsonschema:"enum=Current,enum=Outdated,enum=Unknown"`
	// Reconcile says that its owner lets a controller restart it: config.linkerd.io/reconcile is auto.
	Reconcile bool `json:"reconcile"`
	// Pods is how many of its pods have a proxy.
	Pods int `json:"pods"`
	// OutdatedPods is how many of them a restart would change.
	OutdatedPods int `json:"outdatedPods"`
	// Differences are what a restart would change of its first outdated pod. Of an environment variable it is the name.
	Differences []string `json:"differences,omitempty"`
	// Reason says why the status is Unknown.
	Reason *object.Reason `json:"reason,omitempty"`
}

// Ref is workload/CLUSTER/NAMESPACE/KIND/NAME.
func (w Workload) Ref() string {
	return "workload/" + w.Cluster + "/" + w.Namespace + "/" + w.WorkloadKind + "/" + w.Name
}

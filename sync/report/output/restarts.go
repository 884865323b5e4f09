package output

import "github.com/linkwright/linkwright/object"

// Restarts says whether linkwright restarts workloads in a cluster, after a person decided on it.
type Restarts struct {
	TypeMeta
	// Cluster is the cluster.
	Cluster string `json:"cluster"`
	// Status is Paused or Resumed.
	Status string `json:"status" jsonschema:"enum=Paused,enum=Resumed"`
	// Undone are the workloads whose restart was taken back.
	Undone []object.Key `json:"undone,omitempty"`
}

// Ref is restarts/CLUSTER.
func (r Restarts) Ref() string { return "restarts/" + r.Cluster }

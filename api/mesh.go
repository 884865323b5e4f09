package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MeshDoc is one document of kind Mesh.
type MeshDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta `json:"metadata"`
	Spec     Mesh `json:"spec"`
}

// Topology says which ordered pairs of a mesh's clusters are linked.
type Topology string

// Full links every ordered pair of distinct clusters. It is the default.
const Full Topology = "Full"

// Mesh is a rule that expands to links over clusters chosen by label.
type Mesh struct {
	Clusters metav1.LabelSelector `json:"clusters"`
	Topology Topology             `json:"topology,omitempty"`
	Template LinkSpec             `json:"template,omitempty"`
}

package api

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	// Clusters chooses the members by their labels; {} is every cluster, as everywhere in Kubernetes.
	Clusters metav1.LabelSelector `json:"clusters"`
	Topology Topology             `json:"topology,omitempty"`
	Template LinkSpec             `json:"template,omitzero"`
}

// Check gives what is wrong with the values of the declaration. Whom it selects is a question to the fleet.
func (d MeshDoc) Check() []Finding {
	return slices.Concat(
		under("metadata", d.Metadata.check()),
		under("spec", slices.Concat(
			under("clusters", checkSelector(&d.Spec.Clusters)),
			under("topology", oneOf(d.Spec.Topology, Full)),
			under("template", d.Spec.Template.check()),
		)),
	)
}

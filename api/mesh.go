package api

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MeshDoc declares many links at once: a rule over clusters chosen by their labels, so that a cluster joins by being
// declared. Two meshes may not give the same pair.
type MeshDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta `json:"metadata"`
	Spec     Mesh `json:"spec"`
}

// Topology sets which ordered pairs of a mesh's clusters are linked.
type Topology string

const (
	// Full links every ordered pair of distinct clusters. It is the default.
	Full Topology = "Full"
	// HubAndSpoke links, in both directions, every hub with every other member; spokes are not linked with each other.
	HubAndSpoke Topology = "HubAndSpoke"
)

// Mesh is a rule that expands to links over clusters chosen by label.
type Mesh struct {
	// Clusters chooses the members by their labels; {} is every cluster, as everywhere in Kubernetes.
	Clusters metav1.LabelSelector `json:"clusters"`
	// Topology sets which pairs of the members are linked.
	Topology Topology `json:"topology,omitempty"`
	// Hubs chooses the hubs among the members, by their labels; only for topology HubAndSpoke, which needs it.
	Hubs *metav1.LabelSelector `json:"hubs,omitempty"`
	// Except leaves out single links, one direction each.
	Except []Except `json:"except,omitempty"`
	// Template is what all links of the mesh have in common: a Link's spec without source and target.
	Template LinkSpec `json:"template,omitzero"`
}

// Except is one link that a mesh does not have.
type Except struct {
	// Source of the link.
	Source ClusterName `json:"source"`
	// Target of the link.
	Target ClusterName `json:"target"`
}

// Pair names the link.
func (e Except) Pair() Pair { return Pair(e) }

// Check returns what is wrong with the values of the declaration. Whom it selects is a question to the fleet.
func (d MeshDoc) Check() []Finding {
	return slices.Concat(
		prefixed("metadata", d.Metadata.check()),
		prefixed("spec", slices.Concat(
			prefixed("clusters", checkSelector(&d.Spec.Clusters)),
			prefixed("topology", checkWord(d.Spec.Topology)),
			prefixed("hubs", d.Spec.checkHubs()),
			prefixed("except", d.Spec.checkExcept()),
			prefixed("template", d.Spec.Template.check()),
			prefixed("template", d.Spec.Template.checkShared()),
		)),
	)
}

func (m Mesh) checkHubs() []Finding {
	switch {
	case m.Topology == HubAndSpoke && m.Hubs == nil:
		return findingWithHint("choose the hubs by their labels", "topology HubAndSpoke needs hubs")
	case m.Topology != HubAndSpoke && m.Hubs != nil:
		return findingWithHint("add topology: HubAndSpoke, or remove hubs", "only topology HubAndSpoke has hubs")
	}
	return checkSelector(m.Hubs)
}

func (m Mesh) checkExcept() []Finding {
	var found []Finding
	first := map[Except]int{}
	for i, e := range m.Except {
		before, twice := first[e]
		switch {
		case e.Source == e.Target && e.Source != "":
			found = append(found, prefixed(strconv.Itoa(i), finding("a mesh never links cluster %q to itself", e.Source))...)
		case twice:
			found = append(found, prefixed(strconv.Itoa(i), findingWithHint("remove one", "%s is declared twice, first in except[%d]", e.Pair(), before))...)
		default:
			first[e] = i
		}
	}
	return found
}

// checkShared: what names one Secret cannot be shared by links to many targets.
func (s LinkSpec) checkShared() []Finding {
	if s.Credentials.SecretRef == nil {
		return nil
	}
	return prefixed("credentials", prefixed("secretRef", findingWithHint("remove secretRef, so that each link uses the Secret cluster-credentials-<target>; or declare a Link",
		"the links of a mesh cannot share one Secret")))
}

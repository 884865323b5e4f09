package linkerd

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

// Helm's own marks: without all three Helm refuses to install over an existing object
// (helm pkg/action/validate.go). See object.HelmPolicy, too.
const (
	HelmManagedBy = "app.kubernetes.io/managed-by" // a label; its value is HelmManager
	HelmManager   = "Helm"
	HelmName      = "meta.helm.sh/release-name"
	HelmNamespace = "meta.helm.sh/release-namespace"
)

// Helm is a Helm release; zero: none.
type Helm struct{ Name, Namespace string }

// IsZero reports whether there is none.
func (h Helm) IsZero() bool { return h == Helm{} }

// HelmOf is the release that installed the multicluster extension, by the marks of the ClusterRole that all controllers of a
// source share; zero if Helm did not.
func HelmOf(observed object.Observation) Helm {
	body, _ := observed.Body(object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: LocalAccessRole})
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if body.IsZero() || json.Unmarshal(body.Bytes(), &o) != nil || o.Metadata.Labels[HelmManagedBy] != HelmManager {
		return Helm{}
	}
	h := Helm{o.Metadata.Annotations[HelmName], o.Metadata.Annotations[HelmNamespace]}
	if h.Name == "" || h.Namespace == "" {
		return Helm{}
	}
	return h
}

package testbed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reference names a Service in a Link's status.
type reference struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type condition struct {
	Type               string     `json:"type"`
	Status             string     `json:"status"`
	Reason             string     `json:"reason"`
	Message            string     `json:"message"`
	LastTransitionTime string     `json:"lastTransitionTime"`
	LocalRef           *reference `json:"localRef,omitempty"`
}

type serviceStatus struct {
	ControllerName string      `json:"controllerName"`
	RemoteRef      reference   `json:"remoteRef"`
	Conditions     []condition `json:"conditions"`
}

// report writes the status of the Link when it is another than last time. All
// its conditions then carry the time of the writing.
func (t *term) report(ctx context.Context, remote, local state) error {
	status, err := t.statusAt("1970-01-01T00:00:00Z", remote, local)
	if err != nil || string(status) == t.lastStatus {
		return err
	}
	now, err := t.statusAt(time.Now().UTC().Format(time.RFC3339), remote, local)
	if err != nil {
		return err
	}
	_, err = t.links.Patch(ctx, t.link.name, types.MergePatchType, now, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) { // v1alpha1 has no status, or the Link is gone
		err = nil
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	t.lastStatus = string(status)
	return nil
}

func (t *term) statusAt(at string, remote, local state) ([]byte, error) {
	mirrors, federated := []serviceStatus{}, []serviceStatus{}
	for _, service := range remote.services {
		exists := local.namespaces[service.Namespace]
		if t.link.mode(service) != unmatched {
			mirrors = append(mirrors, newStatus(service, outcome{at, exists, service.Name + "-" + t.link.name}))
		}
		if t.link.federated(service) {
			federated = append(federated, newStatus(service, outcome{at, exists, service.Name + "-federated"}))
		}
	}
	for _, list := range [][]serviceStatus{mirrors, federated} {
		slices.SortFunc(list, func(a, b serviceStatus) int {
			return cmp.Or(cmp.Compare(a.RemoteRef.Namespace, b.RemoteRef.Namespace), cmp.Compare(a.RemoteRef.Name, b.RemoteRef.Name))
		})
	}
	return json.Marshal(map[string]any{"status": map[string]any{"mirrorServices": mirrors, "federatedServices": federated}})
}

// outcome is what became of one Service.
type outcome struct {
	at        string
	namespace bool   // exists in the source
	local     string // name of the mirror
}

func newStatus(service *corev1.Service, o outcome) serviceStatus {
	c := condition{Type: "Mirrored", Status: "False", Reason: "MissingNamespace", LastTransitionTime: o.at}
	if o.namespace {
		c.Status, c.Reason = "True", "Mirrored"
		c.LocalRef = &reference{Group: "core", Kind: "Service", Namespace: service.Namespace, Name: o.local}
	}
	return serviceStatus{
		ControllerName: "linkerd.io/service-mirror",
		RemoteRef:      reference{Group: "core", Kind: "Service", Namespace: service.Namespace, Name: service.Name},
		Conditions:     []condition{c},
	}
}

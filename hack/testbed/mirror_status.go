package testbed

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The lists of a Link's status.
const (
	mirrorServices    = "mirrorServices"
	federatedServices = "federatedServices"
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

// status is that of a Link. It begins with what is live, so that what nobody
// took out before the controller began stays in.
type status struct {
	lists   map[string][]serviceStatus
	changed bool
}

func (w *watcher) readStatus(ctx context.Context) (*status, error) {
	out := &status{lists: map[string][]serviceStatus{mirrorServices: {}, federatedServices: {}}}
	if w.flags.local {
		return out, nil
	}
	live, err := w.links.Get(ctx, w.link.name, metav1.GetOptions{})
	if err != nil {
		return nil, wrap("read status", err)
	}
	text, err := json.Marshal(live.Object["status"])
	if err != nil {
		return nil, wrap("read status", err)
	}
	var read map[string][]serviceStatus
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, wrap("read status", err)
	}
	for list := range out.lists {
		out.lists[list] = append(out.lists[list], read[list]...)
	}
	return out, nil
}

// report writes the status of the Link when something changed in it.
func (w *watcher) report(ctx context.Context) error {
	if w.flags.local || !w.status.changed {
		return nil
	}
	for _, list := range w.status.lists {
		slices.SortFunc(list, func(a, b serviceStatus) int {
			return cmp.Or(cmp.Compare(a.RemoteRef.Namespace, b.RemoteRef.Namespace), cmp.Compare(a.RemoteRef.Name, b.RemoteRef.Name))
		})
	}
	patch, err := json.Marshal(map[string]any{"status": w.status.lists})
	if err != nil {
		return wrap("write status", err)
	}
	_, err = w.links.Patch(ctx, w.link.name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) { // v1alpha1 has no status, or the Link is gone
		return wrap("write status", err)
	}
	w.status.changed = false
	return nil
}

// outcome notes what became of a Service, and gives the error back.
func (w *watcher) outcome(list string, service, local *corev1.Service, err error) error {
	c := condition{Status: "True", Reason: "Mirrored"}
	switch {
	case err != nil:
		c = condition{Status: "False", Reason: "Error", Message: err.Error()}
	case local == nil:
		return nil // more is to come
	default:
		c.LocalRef = &reference{Group: "core", Kind: "Service", Namespace: local.Namespace, Name: local.Name}
	}
	w.status.set(list, service, c)
	return err
}

func invalid(message string) condition {
	return condition{Status: "False", Reason: "InvalidService", Message: message}
}

func (s *status) find(list string, service *corev1.Service) int {
	return slices.IndexFunc(s.lists[list], func(have serviceStatus) bool {
		return have.RemoteRef.Namespace == service.Namespace && have.RemoteRef.Name == service.Name
	})
}

// set gives a Service its one condition.
func (s *status) set(list string, service *corev1.Service, c condition) {
	c.Type, c.LastTransitionTime = "Mirrored", time.Now().UTC().Format(time.RFC3339)
	i := s.find(list, service)
	if i < 0 {
		s.lists[list] = append(s.lists[list], serviceStatus{
			ControllerName: "linkerd.io/service-mirror",
			RemoteRef:      reference{Group: "core", Kind: "Service", Namespace: service.Namespace, Name: service.Name},
		})
		i = len(s.lists[list]) - 1
	}
	if old := s.lists[list][i].Conditions; len(old) == 1 && old[0].Status == c.Status && old[0].Reason == c.Reason && old[0].Message == c.Message {
		return
	}
	s.lists[list][i].Conditions, s.changed = []condition{c}, true
}

func (s *status) drop(list string, service *corev1.Service) {
	if i := s.find(list, service); i >= 0 {
		s.lists[list], s.changed = slices.Delete(s.lists[list], i, i+1), true
	}
}

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/linkwright/linkwright/mirror"
)

// A change of a Link's status waits for others: while Services are mirrored, for a time. The status has all Services of the link, so many small
// writes of it would keep the API server busy with little else.
const (
	statusDelay    = 500 * time.Millisecond
	statusPatience = 5 * time.Second
)

// linkStatus is the status of a Link (linkerd2 controller/gen/apis/link/v1alpha3/types.go).
type linkStatus struct {
	MirrorServices    []serviceStatus `json:"mirrorServices"`
	FederatedServices []serviceStatus `json:"federatedServices"`
}

type serviceStatus struct {
	ControllerName string      `json:"controllerName"`
	RemoteRef      reference   `json:"remoteRef"`
	Conditions     []condition `json:"conditions"`
}

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

// services are the exported Services that a status lists.
func (s linkStatus) services() (out []types.NamespacedName) {
	for _, one := range slices.Concat(s.MirrorServices, s.FederatedServices) {
		out = append(out, one.key())
	}
	return out
}

// lists reports whether a status has something of an exported Service.
func (s linkStatus) lists(key types.NamespacedName) bool {
	is := func(one serviceStatus) bool { return one.key() == key }
	return slices.ContainsFunc(s.MirrorServices, is) || slices.ContainsFunc(s.FederatedServices, is)
}

func (s serviceStatus) key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.RemoteRef.Namespace, Name: s.RemoteRef.Name}
}

// next returns a status that has what is known by now. What is not known yet stays.
func (s linkStatus) next(known map[types.NamespacedName][]mirror.Status, now time.Time) linkStatus {
	return linkStatus{nextList(s.MirrorServices, known, false, now), nextList(s.FederatedServices, known, true, now)}
}

func nextList(was []serviceStatus, known map[types.NamespacedName][]mirror.Status, federated bool, now time.Time) []serviceStatus {
	out := []serviceStatus{} // null would mean that nothing changes
	before := map[types.NamespacedName]serviceStatus{}
	for _, one := range was {
		before[one.key()] = one
		if _, ok := known[one.key()]; !ok {
			out = append(out, one)
		}
	}
	for key, all := range known {
		for _, one := range all {
			if one.Federated == federated {
				out = append(out, statusOf(key, one, before[key], now))
			}
		}
	}
	slices.SortFunc(out, func(a, b serviceStatus) int {
		return cmp.Or(cmp.Compare(a.RemoteRef.Namespace, b.RemoteRef.Namespace), cmp.Compare(a.RemoteRef.Name, b.RemoteRef.Name))
	})
	return out
}

// statusOf is how a Service is mirrored. The time is that of the last change.
func statusOf(key types.NamespacedName, s mirror.Status, was serviceStatus, now time.Time) serviceStatus {
	c := condition{Type: "Mirrored", Status: "True", Reason: string(s.Reason), Message: s.Message, LastTransitionTime: now.UTC().Format(time.RFC3339)}
	if s.Reason != mirror.Mirrored {
		c.Status = "False"
	}
	if s.Local != "" {
		c.LocalRef = service(key.Namespace, s.Local)
	}
	if len(was.Conditions) == 1 {
		old := was.Conditions[0]
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return serviceStatus{ControllerName: "linkerd.io/service-mirror", RemoteRef: *service(key.Namespace, key.Name), Conditions: []condition{c}}
}

func service(namespace, name string) *reference {
	return &reference{Group: "core", Kind: "Service", Namespace: namespace, Name: name}
}

// isNews reports whether a status differs from what is listed of the Service.
func (s linkStatus) isNews(key types.NamespacedName, one mirror.Status) bool {
	list := s.MirrorServices
	if one.Federated {
		list = s.FederatedServices
	}
	return !slices.ContainsFunc(list, func(was serviceStatus) bool {
		return was.key() == key && len(was.Conditions) == 1 && was.Conditions[0].Reason == string(one.Reason) && was.Conditions[0].Message == one.Message
	})
}

// writeOwn writes what is the link's own, if this process leads it: the status of its Link, and the Endpoints of its probe Service.
func (t *target) writeOwn(ctx context.Context) error {
	t.leading.RLock()
	defer t.leading.RUnlock()
	if !t.leads(t.name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := t.writeProbe(ctx); err != nil {
		return err
	}
	return t.writeStatus(ctx)
}

func (t *target) writeStatus(ctx context.Context) error {
	t.mu.Lock()
	live, since := t.link.Status, t.unwritten
	if t.Controller.services.Len() > 0 && time.Since(since) < statusPatience {
		t.mu.Unlock()
		t.linkKeys.AddAfter(t.name, statusDelay)
		return nil
	}
	next := live.next(t.results, time.Now())
	t.mu.Unlock()
	if slices.EqualFunc(live.MirrorServices, next.MirrorServices, same) && slices.EqualFunc(live.FederatedServices, next.FederatedServices, same) {
		t.mu.Lock()
		t.unwritten = time.Time{}
		t.mu.Unlock()
		return nil
	}
	patch, err := json.Marshal(map[string]linkStatus{"status": next})
	if err != nil {
		return fmt.Errorf("write the status of Link %s: %w", t.name, err)
	}
	written, err := t.links.resource().Patch(ctx, t.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if err == nil {
		t.mu.Lock()
		t.link.Status, t.link.Metadata.ResourceVersion, t.unwritten = next, written.GetResourceVersion(), time.Time{}
		t.mu.Unlock()
		return nil
	}
	if err = notIf(apierrors.IsNotFound, err); err != nil { // v1alpha1 has no status
		t.options.Log.Warn("status of the Link cannot be written", "link", t.name, "error", err)
	}
	return err
}

func same(a, b serviceStatus) bool { return reflect.DeepEqual(a, b) }

// recordEvents begins to record Events in the target, as Linkerd's controller does.
func (c *connection) recordEvents(ctx context.Context, link string) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: c.core.Events("")})
	c.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "linkerd-service-mirror-" + link})
}

// announce records an Event for a Service that is not mirrored, unless the Link's status says so already.
func (c *connection) announce(s *corev1.Service, statuses []mirror.Status, listed linkStatus) {
	for _, one := range statuses {
		if c.events != nil && one.Skipped && listed.isNews(name(s), one) {
			about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}
			c.events.Event(about, corev1.EventTypeNormal, "ServiceMirroringSkipped", one.Message)
		}
	}
}

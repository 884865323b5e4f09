package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errHeadless is what a headless Service gets that asks to be a member.
var errHeadless = errors.New("headless service cannot join federated service")

// member is how a federated Service lists one of the target.
func (l link) member(service *corev1.Service) string { return service.Name + "@" + l.cluster() }

// joinTo adds a member to a federated Service.
func (l link) joinTo(federated, service *corev1.Service) {
	if l.cluster() == "" {
		federated.Annotations[localDiscoveryKey] = service.Name
		return
	}
	if list := members(federated); !slices.Contains(list, l.member(service)) {
		federated.Annotations[discoveryKey] = strings.Join(append(list, l.member(service)), ",")
	}
}

// members of a federated Service in other clusters, in its own order.
func members(service *corev1.Service) []string {
	return strings.FieldsFunc(service.Annotations[discoveryKey], func(r rune) bool { return r == ',' })
}

// join makes a Service a member; it takes whatever has the federated Service's
// name for one. The member with the oldest Link gives labels and ports.
func (w *watcher) join(ctx context.Context, service *corev1.Service) error {
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		w.status.set(federatedServices, service, invalid("Headless service cannot join federated service"))
		w.failed(w.link.name, fmt.Errorf("%s: %w", keyOf(service), errHeadless)) // and no retry
		return nil
	}
	have, err := w.localService(ctx, service.Namespace, service.Name+"-federated")
	if err != nil {
		return w.outcome(federatedServices, service, nil, err)
	}
	if have != nil {
		return w.joinExisting(ctx, service, have)
	}
	if there, err := w.namespace(ctx, federatedServices, service); err != nil || !there {
		return err
	}
	// That another link was first is an error too: the next attempt joins.
	want := w.link.federatedService(service)
	_, err = w.source.CoreV1().Services(want.Namespace).Create(ctx, want, metav1.CreateOptions{})
	return w.outcome(federatedServices, service, want, err)
}

func (w *watcher) joinExisting(ctx context.Context, service, have *corev1.Service) error {
	want := have.DeepCopy()
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	w.link.joinTo(want, service)
	oldest, err := w.oldest(ctx, want)
	if err != nil {
		return err
	}
	if oldest {
		copied := w.link.copyOf(service, have.Name)
		for _, key := range []string{discoveryKey, localDiscoveryKey} {
			delete(copied.Annotations, key)
			if value, ok := want.Annotations[key]; ok {
				copied.Annotations[key] = value
			}
		}
		want.Labels, want.Annotations, want.Spec.Ports = copied.Labels, copied.Annotations, copied.Spec.Ports
	}
	if !maps.Equal(want.Labels, have.Labels) || !maps.Equal(want.Annotations, have.Annotations) || !samePorts(want, have) {
		_, err = w.source.CoreV1().Services(have.Namespace).Update(ctx, want, metav1.UpdateOptions{})
	}
	return w.outcome(federatedServices, service, want, err)
}

// samePorts compares what a mirror has of ports.
func samePorts(a, b *corev1.Service) bool { return slices.Equal(portsOf(a), portsOf(b)) }

// oldest reports whether no other member's Link is older than ours; the local
// half wins always. A member without a Link does not count.
func (w *watcher) oldest(ctx context.Context, federated *corev1.Service) (bool, error) {
	if w.flags.local || federated.Annotations[localDiscoveryKey] != "" {
		return w.flags.local, nil
	}
	list, err := w.links.List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, wrap("list links", err)
	}
	created := map[string]time.Time{}
	for _, l := range list.Items {
		created[l.GetName()] = l.GetCreationTimestamp().Time
	}
	ours, found := created[w.link.cluster()]
	for _, member := range members(federated) {
		_, cluster, _ := strings.Cut(member, "@")
		if at, ok := created[cluster]; ok && at.Before(ours) {
			return false, nil
		}
	}
	return found, nil
}

// leave takes a membership back; with the last one the federated Service goes.
func (w *watcher) leave(ctx context.Context, service *corev1.Service) error {
	have, err := w.localService(ctx, service.Namespace, service.Name+"-federated")
	if err != nil || have == nil || have.Labels[mirroredLabel] == "" {
		return err
	}
	if w.flags.local {
		if _, ok := have.Annotations[localDiscoveryKey]; !ok {
			return nil
		}
		delete(have.Annotations, localDiscoveryKey)
	} else {
		list := members(have)
		if !slices.Contains(list, w.link.member(service)) {
			return nil
		}
		list = slices.DeleteFunc(list, func(member string) bool { return member == w.link.member(service) })
		have.Annotations[discoveryKey] = strings.Join(list, ",")
	}
	if have.Annotations[discoveryKey] == "" && have.Annotations[localDiscoveryKey] == "" {
		err = w.remove(ctx, keyOf(have))
	} else {
		_, err = w.source.CoreV1().Services(have.Namespace).Update(ctx, have, metav1.UpdateOptions{})
	}
	if err == nil {
		w.status.drop(federatedServices, service)
	}
	return err
}

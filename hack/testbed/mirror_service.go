package testbed

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// export creates a mirror, or rewrites the one whose Service changed. Whatever
// else has the mirror's name stays as it is.
func (w *watcher) export(ctx context.Context, service *corev1.Service) error {
	have, err := w.localService(ctx, service.Namespace, w.link.mirrorName(service.Name))
	if err != nil {
		return err
	}
	if have == nil {
		return w.create(ctx, service)
	}
	version, mirrored := have.Annotations[remoteVersionKey]
	if !mirrored || version == service.ResourceVersion {
		return nil
	}
	if err := w.rewriteEndpoints(ctx, service); err != nil {
		return err
	}
	want := w.link.mirrorService(service)
	have.Labels, have.Annotations, have.Spec.Ports = want.Labels, want.Annotations, want.Spec.Ports
	_, err = w.source.CoreV1().Services(have.Namespace).Update(ctx, have, metav1.UpdateOptions{})
	return w.outcome(mirrorServices, service, have, err)
}

func (w *watcher) create(ctx context.Context, service *corev1.Service) error {
	if w.flags.headless && service.Spec.ClusterIP == corev1.ClusterIPNone {
		w.status.set(mirrorServices, service, invalid("Headless services are disabled"))
		return nil // its Endpoints decide
	}
	if there, err := w.namespace(ctx, mirrorServices, service); err != nil || !there {
		return err
	}
	mirror := w.link.mirrorService(service)
	_, err := w.source.CoreV1().Services(mirror.Namespace).Create(ctx, mirror, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err == nil && w.link.mode(service) == viaGateway {
		err = w.createEndpoints(ctx, service)
	}
	return w.outcome(mirrorServices, service, mirror, err)
}

// namespace reports whether the namespace of a Service is at home; with the
// flag, it is made.
func (w *watcher) namespace(ctx context.Context, list string, service *corev1.Service) (bool, error) {
	namespaces := w.source.CoreV1().Namespaces()
	_, err := namespaces.Get(ctx, service.Namespace, metav1.GetOptions{})
	if err == nil {
		return true, nil
	}
	if !apierrors.IsNotFound(err) {
		return false, w.outcome(list, service, nil, err)
	}
	if !w.flags.namespaces {
		w.status.set(list, service, condition{Status: "False", Reason: "MissingNamespace", Message: "Namespace does not exist"})
		w.failed(w.link.name, wrap("record event", w.skipped(ctx, service, "Skipped mirroring service: namespace does not exist")))
		return false, nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: service.Namespace, Labels: map[string]string{mirroredLabel: "true", clusterLabel: w.link.cluster()},
	}}
	_, err = namespaces.Create(ctx, ns, metav1.CreateOptions{})
	return err == nil, w.outcome(list, service, nil, err)
}

// skipped says so in the target, where the Service's owner looks.
func (w *watcher) skipped(ctx context.Context, service *corev1.Service, message string) error {
	now := metav1.Now()
	_, err := w.target.CoreV1().Events(service.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: service.Name + ".", Namespace: service.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID,
		},
		Reason: "ServiceMirroringSkipped", Message: message, Type: corev1.EventTypeNormal, Count: 1,
		Source: corev1.EventSource{Component: "linkerd-service-mirror-" + w.link.cluster()}, FirstTimestamp: now, LastTimestamp: now,
	}, metav1.CreateOptions{})
	return err
}

// unexport deletes the mirror of a Service, and those of its pods. Only with
// care does it look whether it is one.
func (w *watcher) unexport(ctx context.Context, service *corev1.Service, care bool) error {
	name := w.link.mirrorName(service.Name)
	have, err := w.localService(ctx, service.Namespace, name)
	if err != nil || have == nil {
		return err
	}
	if care && (have.Labels[mirroredLabel] == "" || have.Labels[clusterLabel] != w.link.cluster()) {
		return nil
	}
	var errs []error
	if have.Spec.ClusterIP == corev1.ClusterIPNone {
		pods, err := w.podServices(ctx, have)
		errs = append(errs, err)
		for _, pod := range pods {
			errs = append(errs, w.remove(ctx, keyOf(&pod)))
		}
	}
	errs = append(errs, w.remove(ctx, keyOf(have)))
	w.status.drop(mirrorServices, service)
	return errors.Join(errs...)
}

// deleteOrphans deletes the mirrors whose Service is no more, whether or not it would
// match. Federated Services it does not look at.
func (w *watcher) deleteOrphans(ctx context.Context) error {
	mirrors, err := w.mirrors(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, mirror := range mirrors {
		name := orDefault(mirror.Labels[headlessNameKey], mirror.Name)
		name = strings.TrimSuffix(name, "-"+w.link.cluster())
		if w.lastState.services[types.NamespacedName{Namespace: mirror.Namespace, Name: name}] == nil {
			errs = append(errs, w.remove(ctx, keyOf(&mirror)))
		}
	}
	return errors.Join(errs...)
}

// mirrors of this link, as labelled.
func (w *watcher) mirrors(ctx context.Context) ([]corev1.Service, error) {
	if w.flags.local {
		return nil, nil
	}
	selector := mirroredLabel + "=true," + clusterLabel + "=" + w.link.cluster()
	list, err := w.source.CoreV1().Services("").List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, wrap("list mirrors", err)
	}
	return list.Items, nil
}

// localService is nil when there is none.
func (w *watcher) localService(ctx context.Context, ns, name string) (*corev1.Service, error) {
	service, err := w.source.CoreV1().Services(ns).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("read mirror", err)
	}
	return service, nil
}

func (w *watcher) remove(ctx context.Context, key types.NamespacedName) error {
	err := w.source.CoreV1().Services(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return wrap("delete mirror", err)
}

// ready reports whether an endpoint of a Service answers.
func ready(endpoints *endpointsObject) bool {
	return endpoints != nil && slices.ContainsFunc(endpoints.Subsets, func(e endpointsSubset) bool { return len(e.Addresses) > 0 })
}

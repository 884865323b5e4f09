package testbed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// state is what a cluster holds, by namespace and name.
type state struct {
	services   map[types.NamespacedName]*corev1.Service
	endpoints  map[types.NamespacedName]*endpointsObject
	namespaces map[string]bool // of the source only
}

// sync makes the source follow the target once. A reading that fails writes
// nothing; what fails to be written does not keep the rest back.
func (t *term) sync(ctx context.Context, target kubernetes.Interface) error {
	remote, err := readState(ctx, target)
	if err != nil {
		return fmt.Errorf("read target: %w", err)
	}
	local, err := readState(ctx, t.source)
	if err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	if local.namespaces, err = readNamespaces(ctx, t.source); err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	return errors.Join(
		t.mirror(ctx, remote, local),
		t.sweep(ctx, remote, local),
		t.federate(ctx, remote, local),
		t.leave(ctx, remote, local),
		t.probe(ctx, local),
		t.report(ctx, remote, local),
	)
}

func readState(ctx context.Context, client kubernetes.Interface) (state, error) {
	out := state{services: map[types.NamespacedName]*corev1.Service{}, endpoints: map[types.NamespacedName]*endpointsObject{}}
	services, err := client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return out, err
	}
	for i := range services.Items {
		out.services[keyOf(&services.Items[i])] = &services.Items[i]
	}
	var endpoints *endpointsList
	if endpoints, err = client.CoreV1().Endpoints("").List(ctx, metav1.ListOptions{}); err != nil {
		return out, err
	}
	for i := range endpoints.Items {
		out.endpoints[keyOf(&endpoints.Items[i])] = &endpoints.Items[i]
	}
	return out, nil
}

func readNamespaces(ctx context.Context, client kubernetes.Interface) (map[string]bool, error) {
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, namespace := range list.Items {
		out[namespace.Name] = namespace.DeletionTimestamp == nil
	}
	return out, nil
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// ready tells whether an endpoint of a Service answers.
func (s state) ready(service *corev1.Service) bool {
	endpoints := s.endpoints[keyOf(service)]
	return endpoints != nil && slices.ContainsFunc(endpoints.Subsets, func(e endpointsSubset) bool { return len(e.Addresses) > 0 })
}

// mirror creates and rewrites the mirrors of what matches.
func (t *term) mirror(ctx context.Context, remote, local state) error {
	var errs []error
	for _, service := range remote.services {
		how := t.link.mode(service)
		if how == unmatched || !local.namespaces[service.Namespace] {
			continue
		}
		err := t.writeService(ctx, local, t.link.mirrorService(service))
		if err == nil && how == viaGateway && t.link.spec.GatewayAddress != "" {
			err = t.writeEndpoints(ctx, local, t.link.mirrorEndpoints(service, remote.ready(service)))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeService leaves a mirror alone until the target's Service has changed,
// and one that is no mirror for good.
func (t *term) writeService(ctx context.Context, local state, want *corev1.Service) error {
	services := t.source.CoreV1().Services(want.Namespace)
	have := local.services[keyOf(want)]
	if have == nil {
		_, err := services.Create(ctx, want, metav1.CreateOptions{})
		return err
	}
	if have.Labels[mirroredLabel] == "" {
		return fmt.Errorf("service %s is no mirror", keyOf(have))
	}
	if have.Annotations[remoteVersionKey] == want.Annotations[remoteVersionKey] {
		return nil
	}
	have = have.DeepCopy()
	have.Labels, have.Annotations, have.Spec.Ports = want.Labels, want.Annotations, want.Spec.Ports
	_, err := services.Update(ctx, have, metav1.UpdateOptions{})
	return err
}

func (t *term) writeEndpoints(ctx context.Context, local state, want *endpointsObject) error {
	endpoints := t.source.CoreV1().Endpoints(want.Namespace)
	have := local.endpoints[keyOf(want)]
	if have == nil {
		_, err := endpoints.Create(ctx, want, metav1.CreateOptions{})
		return err
	}
	if equality.Semantic.DeepEqual(have.Subsets, want.Subsets) && have.Annotations[remoteIdentityKey] == want.Annotations[remoteIdentityKey] {
		return nil
	}
	have = have.DeepCopy()
	have.Labels, have.Annotations, have.Subsets = want.Labels, want.Annotations, want.Subsets
	_, err := endpoints.Update(ctx, have, metav1.UpdateOptions{})
	return err
}

// sweep deletes the mirrors of what matches no more.
func (t *term) sweep(ctx context.Context, remote, local state) error {
	var errs []error
	for key, mirror := range local.services {
		if mirror.Labels[mirroredLabel] != "true" || mirror.Labels[clusterLabel] != t.link.name {
			continue
		}
		name, ok := strings.CutSuffix(key.Name, "-"+t.link.name)
		service := remote.services[types.NamespacedName{Namespace: key.Namespace, Name: name}]
		if ok && service != nil && t.link.mode(service) != unmatched {
			continue
		}
		errs = append(errs, t.source.CoreV1().Services(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{}))
	}
	return errors.Join(errs...)
}

// federate joins federated Services.
func (t *term) federate(ctx context.Context, remote, local state) error {
	var errs []error
	for _, service := range remote.services {
		if !t.link.federated(service) || !local.namespaces[service.Namespace] {
			continue
		}
		want := t.link.federatedService(service)
		have := local.services[keyOf(want)]
		if have == nil {
			_, err := t.source.CoreV1().Services(want.Namespace).Create(ctx, want, metav1.CreateOptions{})
			errs = append(errs, err)
		} else if list := members(have); !slices.Contains(list, t.link.member(service)) {
			errs = append(errs, t.setMembers(ctx, have, append(list, t.link.member(service))))
		}
	}
	return errors.Join(errs...)
}

// leave takes back the memberships of what matches no more.
func (t *term) leave(ctx context.Context, remote, local state) error {
	var errs []error
	for key, federated := range local.services {
		if federated.Labels[mirroredLabel] != "true" || federated.Labels[clusterLabel] != "" {
			continue
		}
		have := members(federated)
		left := slices.DeleteFunc(slices.Clone(have), func(member string) bool {
			name, ok := strings.CutSuffix(member, "@"+t.link.name)
			service := remote.services[types.NamespacedName{Namespace: key.Namespace, Name: name}]
			return ok && (service == nil || !t.link.federated(service))
		})
		if len(left) < len(have) {
			errs = append(errs, t.setMembers(ctx, federated, left))
		}
	}
	return errors.Join(errs...)
}

// setMembers deletes a federated Service that has none left, here or elsewhere.
func (t *term) setMembers(ctx context.Context, federated *corev1.Service, members []string) error {
	services := t.source.CoreV1().Services(federated.Namespace)
	if len(members) == 0 && federated.Annotations[localDiscoveryKey] == "" {
		return services.Delete(ctx, federated.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &federated.ResourceVersion}})
	}
	federated = federated.DeepCopy()
	federated.Annotations[discoveryKey] = strings.Join(members, ",")
	_, err := services.Update(ctx, federated, metav1.UpdateOptions{})
	return err
}

// probe writes the Endpoints of the probe Service, also without that Service.
func (t *term) probe(ctx context.Context, local state) error {
	if t.link.spec.GatewayAddress == "" || t.link.spec.ProbeSpec.Path == "" {
		return nil
	}
	return t.writeEndpoints(ctx, local, t.link.probeEndpoints(t.pod.Namespace))
}

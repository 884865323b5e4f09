package controller

import (
	"context"
	"errors"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

// writeProbe writes the Endpoints of the link's probe Service: the gateway's addresses, at the port that is probed. They are ready whether or not
// the gateway answers, since the probes go there. Without the Service there are none: whoever removes a link removes it first.
func (t *target) writeProbe(ctx context.Context) error {
	desired, ok := t.probeEndpoints()
	if _, exists := t.source.liveServices.get(desired.Namespace + "/" + desired.Name); !ok || !exists {
		return nil
	}
	o, exists, _ := t.source.probes.GetStore().GetByKey(desired.Namespace + "/" + desired.Name)
	if !exists {
		_, err := t.core.Endpoints(desired.Namespace).Create(ctx, desired, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	live := o.(*endpoints)
	if equality.Semantic.DeepEqual(live.Subsets, desired.Subsets) && contain(live.Labels, desired.Labels) && contain(live.Annotations, desired.Annotations) {
		return nil
	}
	desired.ResourceVersion = live.ResourceVersion
	_, err := t.core.Endpoints(desired.Namespace).Update(ctx, desired, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

// contain reports whether all pairs of desired are in live.
func contain(live, desired map[string]string) bool {
	for key, value := range desired {
		if live[key] != value {
			return false
		}
	}
	return true
}

// probeEndpoints are the Endpoints of the link's probe Service; false: the gateway is not known, or not probed.
func (t *target) probeEndpoints() (*endpoints, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &endpoints{ObjectMeta: metav1.ObjectMeta{
		Name: t.options.ProbeService(t.name), Namespace: t.options.Namespace,
		Labels:      map[string]string{linkerd.ClusterNameLabel: t.name},
		Annotations: map[string]string{linkerd.RemoteIdentity: t.link.Spec.GatewayIdentity},
	}}
	p := t.link.Spec.ProbeSpec
	if p == nil || len(t.gateway.Addresses) == 0 {
		return out, false
	}
	port, err := strconv.ParseUint(p.Port, 10, 16)
	if err != nil || port == 0 {
		return out, false
	}
	one := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: linkerd.ProbePortName, Port: int32(port), Protocol: corev1.ProtocolTCP}}} //nolint:staticcheck // what Linkerd's clients read
	for _, ip := range t.gateway.Addresses {
		one.Addresses = append(one.Addresses, corev1.EndpointAddress{IP: ip})
	}
	out.Subsets = append(out.Subsets, one)
	return out, true
}

var errPresumed = errors.New("no probe of this process succeeded yet, and the Endpoints of the mirrors are not ready")

// presume has the gateway count as dead until a probe succeeds, if all Endpoints of its mirrors say that it is: another process found that out.
func (t *target) presume() {
	var ready, notReady int
	for _, o := range t.source.endpoints.GetStore().List() {
		e := o.(*endpoints)
		if e.Labels[linkerd.ClusterNameLabel] != t.name {
			continue
		}
		for _, s := range e.Subsets {
			ready += len(s.Addresses)
			notReady += len(s.NotReadyAddresses)
		}
	}
	if ready == 0 && notReady > 0 {
		t.prober.Presume(errPresumed)
	}
}

package mirror

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/render/linkerd"
)

// TestRandomStates: whatever targets and source hold, the plan is the same each time, it settles, and what no link's mirroring made stays as it is.
func TestRandomStates(t *testing.T) {
	for seed := range uint64(1000) {
		s := random{rand.New(rand.NewPCG(seed, 0))}.state() //nolint:gosec // a test must come out alike each time
		foreign := foreignOf(s)
		if diff := cmp.Diff(Reconcile(s).text(t), Reconcile(s).text(t)); diff != "" {
			t.Errorf("seed %d: two plans of one state: %s", seed, diff)
		}
		settles(t, s)
		for name, one := range foreign {
			if diff := cmp.Diff(one, s.Source.Services[name]); diff != "" {
				t.Errorf("seed %d: Service %s is no mirror, and was changed: -before +after\n%s", seed, name, diff)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// foreignOf are the Services of a source without the labels of a mirror.
func foreignOf(s State) map[string]*corev1.Service {
	out := map[string]*corev1.Service{}
	for name, one := range s.Source.Services {
		if one.Labels[linkerd.MirroredLabel] != "true" || len(one.Spec.Selector) > 0 {
			out[name] = one.DeepCopy()
		}
	}
	return out
}

type random struct{ *rand.Rand }

func (r random) bool() bool { return r.IntN(2) == 0 }

func (r random) of(all ...string) string { return all[r.IntN(len(all))] }

func (r random) state() State {
	s := State{Name: types.NamespacedName{Namespace: "shop", Name: "web"}, Source: Source{
		Namespace: r.IntN(5) > 0, CreateNamespaces: r.bool(), LocalMirror: r.bool(), Services: map[string]*corev1.Service{}, Endpoints: map[string]*endpoints{},
	}}
	for _, name := range []string{"east", "north", "federated"}[:1+r.IntN(3)] {
		s.Links = append(s.Links, r.link(name))
	}
	for _, name := range []string{"web-east", "web-north", "web-federated", "web-0-east", "web-1-east"} {
		if r.bool() {
			s.Source.Services[name] = r.mirrorLike(name)
		}
		if r.IntN(3) == 0 {
			like := r.mirrorLike(name)
			s.Source.Endpoints[name] = &endpoints{ObjectMeta: like.ObjectMeta}
		}
	}
	if r.bool() {
		s.Source.Local = r.service()
	}
	return s
}

func (r random) link(name string) Link {
	l := Link{Name: name, Created: time.Unix(int64(r.IntN(3)), 0), Headless: r.bool(), Synced: r.IntN(4) > 0}
	selector := func(value string) *metav1.LabelSelector {
		if r.IntN(4) == 0 {
			return nil
		}
		return &metav1.LabelSelector{MatchLabels: map[string]string{"mirror.linkerd.io/exported": value}}
	}
	l.Spec = linkerd.LinkSpec{
		TargetClusterName: name, TargetClusterDomain: "cluster.local", GatewayAddress: r.of("", "192.0.2.1", "gw.example.com"), GatewayPort: r.of("4143", "4143", "0", "x"),
		Selector: selector("true"), RemoteDiscoverySelector: selector("remote-discovery"),
	}
	if r.bool() {
		l.Spec.FederatedServiceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{federatedLabel: federatedMember}}
	}
	l.Gateway = Gateway{Addresses: []string{"192.0.2.1", "192.0.2.2"}[:r.IntN(3)], Dead: r.bool()}
	if r.IntN(5) == 0 {
		l.Gateway.Err = errors.New("no such host")
	}
	if r.IntN(4) > 0 {
		l.Service = r.service()
	}
	if r.IntN(4) > 0 {
		l.Endpoints = r.addresses()
	}
	return l
}

func (r random) service() *corev1.Service {
	out := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", ResourceVersion: r.of("5", "6"), Annotations: map[string]string{"team": r.of("a", "b")}}}
	out.Labels = map[string]string{"mirror.linkerd.io/exported": r.of("true", "true", "remote-discovery", "no"), federatedLabel: r.of("member", "no"), "app": r.of("a", "b")}
	out.Spec.ClusterIP = r.of("10.0.0.1", "None")
	for i := range r.IntN(3) {
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(80 + i)}) //nolint:gosec // small
	}
	return out
}

func (r random) addresses() *endpoints {
	out := &endpoints{ObjectMeta: metav1.ObjectMeta{ResourceVersion: r.of("5", "6")}}
	for i := range r.IntN(3) {
		address := corev1.EndpointAddress{IP: fmt.Sprint("10.1.1.", i), Hostname: r.of("", fmt.Sprint("web-", i))}
		one := subset{Ports: []corev1.EndpointPort{{Name: "p0", Port: 80}}}
		if r.bool() {
			one.Addresses = append(one.Addresses, address)
		} else {
			one.NotReadyAddresses = append(one.NotReadyAddresses, address)
		}
		out.Subsets = append(out.Subsets, one)
	}
	return out
}

// mirrorLike is a Service of the source that is a mirror, or lacks something of one.
func (r random) mirrorLike(name string) *corev1.Service {
	out := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: map[string]string{}, Annotations: map[string]string{}}}
	if r.IntN(4) > 0 {
		out.Labels[linkerd.MirroredLabel] = "true"
	}
	if r.bool() {
		out.Labels[linkerd.ClusterNameLabel] = r.of("east", "north", "federated", "other")
	}
	if r.bool() {
		out.Labels[headlessMirror] = r.of("web-east", "web-north")
	}
	out.Annotations[linkerd.RemoteServiceName] = r.of("web.shop.svc.cluster.local", "other.shop.svc.cluster.local")
	out.Annotations[linkerd.RemoteDiscovery] = r.of("", "web@east", "web@north,web@gone", "other@east")
	out.Annotations[linkerd.LocalDiscovery] = r.of("", "", "web")
	out.Spec.ClusterIP = r.of("10.0.0.9", "None")
	if r.IntN(4) == 0 {
		out.Spec.Selector = map[string]string{"app": "mine"}
	}
	return out
}

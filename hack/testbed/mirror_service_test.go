package testbed

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMirrorCopiesWhatTheLinkLetsIt(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.ExcludedAnnotations = []string{"exact", "config.linkerd.io/*"}
	l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{
		ExportedLabel: "true", "linkwright.dev/owner": "linkwright", "private.example.com/no-slash-needed": "x", "mirror.linkerd.io/other": "x",
	}})
	l.change(t, ns, "web", func(s *corev1.Service) {
		s.Annotations = map[string]string{
			"exact": "x", "exactly": "x", "config.linkerd.io/skip": "x", "config.linkerd.io/opaque-ports": "80",
			"service.kubernetes.io/topology-mode": "Auto", "linkwright.dev/inventory": "x",
		}
	})
	play(t, "east", MirrorOptions{})
	l.start(t)
	web := l.awaits(t, ns, "web-west")
	// The label of an owner comes along: that of a mirror proves nothing.
	wantLabels := map[string]string{"linkwright.dev/owner": "linkwright", mirroredLabel: "true", clusterLabel: "west"}
	if diff := cmp.Diff(wantLabels, web.Labels); diff != "" {
		t.Errorf("labels of the mirror: -want +got\n%s", diff)
	}
	wantAnnotations := map[string]string{
		"exactly": "x", "config.linkerd.io/opaque-ports": "80", "linkwright.dev/inventory": "x",
		remoteNameKey: "web." + ns + ".svc.cluster.local", remoteVersionKey: web.Annotations[remoteVersionKey],
	}
	if diff := cmp.Diff(wantAnnotations, web.Annotations); diff != "" {
		t.Errorf("annotations of the mirror: -want +got\n%s", diff)
	}
	eventually(t, func() error {
		endpoints, err := l.source.CoreV1().Endpoints(ns).Get(t.Context(), "web-west", metav1.GetOptions{})
		if err == nil && endpoints.Labels["linkwright.dev/owner"] == "" {
			return fmt.Errorf("labels of the mirror's Endpoints: %v", endpoints.Labels)
		}
		return err
	})
}

// A mirror that was deleted or changed by hand, or whose Link excludes more,
// stays so until its Service changes; and foreign metadata goes then.
func TestMirrorIsRewrittenWhenItsServiceChanges(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	for _, name := range []string{"gone", "kept"} {
		l.export(t, Exported{Namespace: ns, Name: name, Labels: map[string]string{ExportedLabel: "true", "tier": "front"}})
	}
	l.change(t, ns, "kept", func(s *corev1.Service) { s.Annotations = map[string]string{"note": "x"} })
	play(t, "east", MirrorOptions{})
	l.start(t)
	l.awaits(t, ns, "gone-west")
	kept := l.awaits(t, ns, "kept-west")
	kept.Labels["foreign"] = "x"
	if _, err := l.source.CoreV1().Services(ns).Update(t.Context(), kept, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := l.source.CoreV1().Services(ns).Delete(t.Context(), "gone-west", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.export(t, Exported{Namespace: ns, Name: "later"})
	l.awaits(t, ns, "later-west")
	if _, err := l.mirrored(t.Context(), ns, "gone-west"); err == nil {
		t.Error("a mirror deleted by hand came back before the resync")
	}

	l.ExcludedAnnotations = []string{"note"}
	l.apply(t, "link.yaml") // which lists everything anew
	l.awaits(t, ns, "gone-west")
	if kept = l.awaits(t, ns, "kept-west"); kept.Annotations["note"] == "" || kept.Labels["foreign"] == "" {
		t.Errorf("mirror was rewritten though its Service did not change: %v %v", kept.Labels, kept.Annotations)
	}
	l.change(t, ns, "kept", func(s *corev1.Service) { s.Labels["tier"] = "back" })
	eventually(t, func() error {
		kept = l.awaits(t, ns, "kept-west")
		if kept.Labels["tier"] != "back" || kept.Labels["foreign"] != "" || kept.Annotations["note"] != "" {
			return fmt.Errorf("mirror was not rewritten: %v %v", kept.Labels, kept.Annotations)
		}
		return nil
	})
}

// By the labels of a Service a mirror moves between the modes, and its Endpoints with it.
func TestMirrorChangesItsMode(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web"})
	play(t, "east", MirrorOptions{})
	l.start(t)
	l.awaits(t, ns, "web-west")
	mode := func(want string, endpoints int) func() error {
		return func() error {
			web := l.awaits(t, ns, "web-west")
			list, err := l.source.CoreV1().Endpoints(ns).List(t.Context(), metav1.ListOptions{LabelSelector: mirroredLabel})
			if err == nil && (web.Labels[discoveryKey] != want || len(list.Items) != endpoints) {
				return fmt.Errorf("%d Endpoints, labels %v", len(list.Items), web.Labels)
			}
			return err
		}
	}
	eventually(t, mode("", 1))
	l.change(t, ns, "web", func(s *corev1.Service) { s.Labels[ExportedLabel] = "remote-discovery" })
	eventually(t, mode("west", 0))
	l.change(t, ns, "web", func(s *corev1.Service) { s.Labels[ExportedLabel] = "true" })
	eventually(t, mode("", 1))
	l.change(t, ns, "web", func(s *corev1.Service) { delete(s.Labels, ExportedLabel) })
	l.misses(t, ns, "web-west")
}

// What vanished while no controller ran: mirrors go at the start, memberships stay.
func TestMirrorCollectsOrphansAtTheStart(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{ExportedLabel: "true", FederatedLabel: "member"}})
	stop := play(t, "east", MirrorOptions{})
	l.start(t)
	l.awaits(t, ns, "web-west")
	l.awaits(t, ns, "web-federated")
	stop()
	if err := l.target.CoreV1().Services(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	play(t, "east", MirrorOptions{})
	l.misses(t, ns, "web-west")
	if federated := l.awaits(t, ns, "web-federated"); federated.Annotations[discoveryKey] != "web@west" {
		t.Errorf("members: %v", federated.Annotations)
	}
}

// A user's own Service called like a mirror is left alone when the target's
// comes, and is deleted when that goes; one called like a federated Service is
// taken over.
func TestMirrorTakesNamesFromUsers(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	for _, name := range []string{"web-west", "web-federated"} {
		_, err := l.source.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"own": "x"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 99}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{ExportedLabel: "true", FederatedLabel: "member"}})
	play(t, "east", MirrorOptions{})
	l.start(t)
	eventually(t, func() error {
		federated := l.awaits(t, ns, "web-federated")
		if federated.Labels["own"] != "" || federated.Labels[mirroredLabel] != "true" || federated.Spec.Ports[0].Port != 80 {
			return fmt.Errorf("not taken over: %v", federated)
		}
		return nil
	})
	if own := l.awaits(t, ns, "web-west"); own.Labels["own"] == "" || own.Labels[mirroredLabel] != "" || own.Spec.Ports[0].Port != 99 {
		t.Errorf("a user's Service was touched: %v", own)
	}
	if err := l.target.CoreV1().Services(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.misses(t, ns, "web-west")
	l.misses(t, ns, "web-federated")
}

func TestMirrorSkipsAMissingNamespace(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := fmt.Sprintf("skipped-%d", time.Now().UnixNano())
	l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{ExportedLabel: "true", FederatedLabel: "member"}})
	play(t, "east", MirrorOptions{})
	l.start(t)
	for _, list := range []string{mirrorServices, federatedServices} {
		eventually(t, func() error { return l.reason(t, list, ns, "MissingNamespace") })
	}
	eventually(t, func() error {
		events, err := l.target.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ServiceMirroringSkipped"})
		if err == nil && (len(events.Items) == 0 || events.Items[0].Source.Component != "linkerd-service-mirror-west") {
			return fmt.Errorf("events in the target: %v", events.Items)
		}
		return err
	})
	if _, err := l.source.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{mirrorServices, federatedServices} {
		eventually(t, func() error { return l.reason(t, list, ns, "Mirrored") })
	}
	l.awaits(t, ns, "web-federated")
}

// reason is nil when the Link's status gives it to the Service web.
func (l *linked) reason(t *testing.T, list, ns, want string) error {
	t.Helper()
	live, err := l.links().Get(t.Context(), l.Target, metav1.GetOptions{})
	if err != nil {
		return err
	}
	entries, _, _ := unstructured.NestedSlice(live.Object, "status", list)
	for _, entry := range entries {
		ref, _, _ := unstructured.NestedStringMap(entry.(map[string]any), "remoteRef")
		conditions, _, _ := unstructured.NestedSlice(entry.(map[string]any), "conditions")
		if ref["namespace"] == ns && len(conditions) == 1 && conditions[0].(map[string]any)["reason"] == want {
			return nil
		}
	}
	return errors.New("no such status: " + fmt.Sprint(entries))
}

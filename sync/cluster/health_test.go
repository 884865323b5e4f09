package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// Of what is judged only the verdict is kept, and a change of it is a move; what is not asked for is not read.
func TestHealth(t *testing.T) {
	needAPIServer(t)
	s := watched(t, live.Config, Options{})
	mine := deployment(t, s.ns, "mine")
	write(t, s.client, create(mine))
	w := object.Watch{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: s.ns}
	judged := w
	judged.Health = true
	ready := func(when string, want bool, got object.Observation) {
		t.Helper()
		if _, body := got.Body(mine.Key); got.Record(mine.Key).Health.IsZero() != want || body {
			t.Errorf("%s: %q, with a body %t", when, got.Record(mine.Key).Health, body)
		}
	}
	named := judged
	named.Names = []string{"mine"}
	for _, watches := range [][]object.Watch{{judged}, {w, judged}, {judged, w}, {named}, {named, w}} {
		ready("new, observed", false, observe(t, s.client, watches...))
	}
	ready("not asked for", true, observe(t, s.client, w))
	ready("new, live", false, s.look(judged))

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "mine"}} // without which there were no pods
	if _, err := s.foreign.CoreV1().ServiceAccounts(s.ns).Create(s.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale := `{"spec":{"replicas":2}}` // so that its controller does not wait to try again
	if _, err := s.foreign.AppsV1().Deployments(s.ns).Patch(s.Context(), "mine", types.MergePatchType, []byte(scale), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("ready", func() bool { return s.keys[mine.Key] && s.look(judged).Record(mine.Key).Health.IsZero() })
	ready("ready, observed", true, observe(t, s.client, judged))
	judged.Depth = object.Whole
	if _, body := observe(t, s.client, judged).Body(mine.Key); !body {
		t.Error("whole, and judged: there is no body")
	}
}

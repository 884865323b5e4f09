package sync_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/state"
)

const sharedMode = ", controller: {mode: Shared, image: registry.example.com/linkwright:1}"

// TestShared: one controller mirrors all links of a source. It stays until the last one is gone, and links move to it and back without a gap.
func TestShared(t *testing.T) {
	b := newClusterEnv(t)
	d := &declaredText{}
	l := b.loop(d, agent)
	east, north := linkWith("west", "east", sharedMode), linkWith("west", "north", sharedMode)

	d.set(b.declarations(east + north))
	b.clean(l, 4)
	b.mirrored("west", "web-of-east-east")
	b.mirrored("west", "web-of-north-north")
	b.deployments("linkwright-mirror")
	b.passesChecks("west", 0, "east", "north")

	b.drainedShared(l, d, north, "east")
	b.deployments("linkwright-mirror")

	d.set(b.declarations(linkWith("west", "north", "")))
	b.moves(l, "web-of-north-north", "controller-north")
	b.deployments("controller-north")
	b.passesChecks("west", 1, "north")

	d.set(b.declarations(north))
	b.moves(l, "web-of-north-north", "linkwright-mirror")
	b.deployments("linkwright-mirror")

	b.chartAndBack(t, l, d)
	b.releasedAndAdopted(t, l)
	b.drainedShared(l, d, "", "north")
	b.deployments()
	b.forbidden()
}

// drainedShared removes the link to a target: its controller takes the mirrors away, and nothing of it is left.
func (b *clusterEnv) drainedShared(l *sync.Loop, d *declaredText, rest, target string) {
	b.t.Helper()
	before := len(b.writes("west"))
	d.set(b.declarations(rest))
	b.clean(l, 2*strings.Count(rest, "kind: Link"))
	for _, w := range b.writes("west")[before:] {
		if w.Verb == "delete" && w.Resource == "services" && w.Namespace == "default" {
			b.t.Errorf("linkwright swept %s", w.Name)
		}
	}
	if left := b.left("west", target); len(left) > 0 {
		b.t.Errorf("left: %v", left)
	}
}

// moves has another controller mirror the link to north: no mirror is lost meanwhile, and the pods of one follow those of the other.
func (b *clusterEnv) moves(l *sync.Loop, mirror, to string) {
	b.t.Helper()
	b.watched(func(w *testbed.MirrorObserver) {
		b.clean(l, 2)
		b.eventually(to+" leads", func(context.Context) (bool, error) {
			led := w.Leaders("north")
			return len(led) > 0 && strings.HasPrefix(led[len(led)-1], testbed.Multicluster+"/"+to+"-"), nil
		})
		b.mirrored("west", mirror)
		b.nothingLost(w)
	})
}

// chartAndBack has the user's chart mirror the link to north, and then the shared controller again.
func (b *clusterEnv) chartAndBack(t *testing.T, l *sync.Loop, d *declaredText) {
	b.t.Helper()
	d.set(b.declarations(linkWith("west", "north", ", controller: {mode: External}")))
	b.once(l)
	b.deployments("linkwright-mirror")
	chart := chart("north")
	chart.Labels["linkerd.io/extension"] = "multicluster"
	if _, err := b.client("west").AppsV1().Deployments(testbed.Multicluster).Create(t.Context(), chart, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	b.moves(l, "web-of-north-north", "controller-north")
	b.deployments("controller-north")

	d.set(b.declarations(linkWith("west", "north", sharedMode)))
	pair := api.Pair{Source: "west", Target: "north"}
	if row := rowOf(t, b.once(l), object.End{Cluster: "west", Link: pair}); row.Why == nil || row.Why.Code != reason.ObjectExists {
		t.Errorf("what the chart has is %s, %v", row.Phase, row.Why)
	}
	l.Adopt = map[api.Pair]bool{pair: true}
	b.once(l)
	l.Adopt = nil
	b.moves(l, "web-of-north-north", "linkwright-mirror")
	b.deployments("linkwright-mirror")
}

// releasedAndAdopted gives the link to north up with the shared controller, and takes both over again. Nothing is made anew.
func (b *clusterEnv) releasedAndAdopted(t *testing.T, l *sync.Loop) {
	b.t.Helper()
	all := b.client("west").AppsV1().Deployments(testbed.Multicluster)
	before, err := all.Get(t.Context(), "linkwright-mirror", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Release = &state.Releasing{All: true}
	b.once(l)
	l.Release = nil
	if row := rowOf(t, b.once(l), object.End{Cluster: "west"}); row.Why == nil || row.Why.Code != reason.ObjectExists || !strings.Contains(row.Why.Message, "adopt --all") {
		t.Errorf("the released controller is %s, %v", row.Phase, row.Why)
	}
	l.Adopt = map[api.Pair]bool{{Source: "west", Target: "north"}: true}
	b.once(l)
	l.Adopt = nil
	b.moves(l, "web-of-north-north", "linkwright-mirror")
	if now, err := all.Get(t.Context(), "linkwright-mirror", metav1.GetOptions{}); err != nil || now.UID != before.UID || !reflect.DeepEqual(now.Spec, before.Spec) {
		t.Errorf("after the adoption: %v, %v, want the Deployment as it was", now.Spec, err)
	}
}

// deployments holds which controllers there are in west.
func (b *clusterEnv) deployments(want ...string) {
	b.t.Helper()
	all := b.client("west").AppsV1().Deployments(testbed.Multicluster)
	for _, name := range []string{"controller-east", "controller-north", "linkwright-mirror"} {
		_, err := all.Get(b.t.Context(), name, metav1.GetOptions{})
		wanted := strings.Contains(strings.Join(want, " "), name)
		if err != nil && !apierrors.IsNotFound(err) || (err == nil) != wanted {
			b.t.Errorf("Deployment %s: %v, want it: %t", name, err, wanted)
		}
	}
}

// forbidden holds that the rights of the shared controller were all that it needed.
func (b *clusterEnv) forbidden() {
	b.t.Helper()
	requests, err := b.Cluster("west").Requests(testbed.MirrorAgent + "/shared")
	if err != nil || len(requests) == 0 {
		b.t.Fatalf("%d requests of the shared controller, %v", len(requests), err)
	}
	for _, r := range requests {
		if r.Code == 403 {
			b.t.Errorf("refused: %+v", r)
		}
	}
}

package sync_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
)

// TestDrain: an unlink has the link's own controller take its mirrors away before that is stopped, where it can.
func TestDrain(t *testing.T) {
	b := newClusterEnv(t, "east", "west")
	d := &declaredText{}
	l := b.loop(d, agent)
	shared := testbed.Exported{Namespace: "default", Name: "shared", Labels: map[string]string{"mirror.linkerd.io/federated": "member"}}
	if err := testbed.Export(t.Context(), b.Cluster("east").Config, shared); err != nil {
		t.Fatal(err)
	}
	t.Run("by the link's own controller", func(t *testing.T) {
		b.t = t
		b.mirroring(l, d, "")
		b.drained(l, d, "deployments", "controller-east")
	})
	t.Run("by the chart's controller", func(t *testing.T) {
		b.t = t
		deployments := b.client("west").AppsV1().Deployments(testbed.Multicluster)
		if _, err := deployments.Create(t.Context(), chart("east"), metav1.CreateOptions{FieldManager: "helm"}); err != nil {
			t.Fatal(err)
		}
		b.mirroring(l, d, ", controller: {mode: External}")
		b.drained(l, d, "links", "east")
		if err := deployments.Delete(t.Context(), "controller-east", metav1.DeleteOptions{}); err != nil {
			t.Errorf("the user's controller: %v", err)
		}
		b.withoutPods()
	})
	t.Run("by nobody", func(t *testing.T) { b.t = t; b.scaledAway(l, d) })
	t.Run("declared again in the middle", func(t *testing.T) { b.t = t; b.declaredAgain(l, d) })
	b.t = t
}

// mirroring links west to east, until everything is mirrored there.
func (b *clusterEnv) mirroring(l *sync.Loop, d *declaredText, more string) {
	b.t.Helper()
	d.set(b.declarations(linkWith("west", "east", federated+more)))
	b.clean(l, 2)
	b.mirrored("west", "web-of-east-east")
	b.members("shared@east")
}

// drained unlinks them: what mirrored is taken away by its controller between the write that empties the Link and the delete
// that stops the controller, and nothing is swept.
func (b *clusterEnv) drained(l *sync.Loop, d *declaredText, resource, name string) {
	b.t.Helper()
	before := time.Now()
	d.set(b.declarations(""))
	b.clean(l, 0)
	sent := b.since(before)
	at := func(who, verb, resource, name string) int {
		return slices.IndexFunc(sent, func(r testbed.Request) bool {
			return strings.HasPrefix(r.UserAgent, who) && r.Verb == verb && r.Resource == resource && r.Name == name && r.Code < 300
		})
	}
	order := []int{
		at(agent, "patch", "links", "east"), at(testbed.MirrorAgent+"/east", "delete", "services", "web-of-east-east"),
		at(agent, "delete", resource, name),
	}
	if !slices.IsSorted(order) || order[0] < 0 {
		b.t.Errorf("drain, mirror and controller at %v of %+v", order, sent)
	}
	if gone := at(testbed.MirrorAgent+"/east", "delete", "services", "shared-federated"); gone < order[0] || gone > order[2] {
		b.t.Errorf("the membership went at %d, outside of %v", gone, order)
	}
	for _, service := range []string{"web-of-east-east", "shared-federated"} {
		if swept := at(agent, "delete", "services", service); swept >= 0 {
			b.t.Errorf("%s was swept", service)
		}
	}
	for _, left := range b.left("west", "east") {
		if resource == "deployments" || !strings.Contains(left, "controller-east") && !strings.Contains(left, "leases") && !strings.Contains(left, "probe-east") {
			b.t.Errorf("left: %s", left)
		}
	}
}

// since returns the writes in west after a moment, whoever sent them.
func (b *clusterEnv) since(begin time.Time) []testbed.Request {
	b.t.Helper()
	all, err := b.Cluster("west").Requests("")
	if err != nil {
		b.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(r testbed.Request) bool {
		return r.Received.Before(begin) || slices.Contains([]string{"get", "list", "watch"}, r.Verb) || r.Subresource != ""
	})
}

// withoutPods waits until no pod of a controller is left in west.
func (b *clusterEnv) withoutPods() {
	b.t.Helper()
	b.eventually("pods of the controller are gone", func(ctx context.Context) (bool, error) {
		pods, err := b.client("west").CoreV1().Pods(testbed.Multicluster).List(ctx, metav1.ListOptions{LabelSelector: "mirror.linkerd.io/cluster-name=east"})
		return err == nil && len(pods.Items) == 0, err
	})
}

// scaledAway: a controller that people scaled to nothing drains nothing. Nobody waits for it, and its mirrors are swept.
func (b *clusterEnv) scaledAway(l *sync.Loop, d *declaredText) {
	b.mirroring(l, d, "")
	none := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "controller-east", Namespace: testbed.Multicluster}}
	if _, err := b.client("west").AppsV1().Deployments(testbed.Multicluster).UpdateScale(b.t.Context(), none.Name, none, metav1.UpdateOptions{FieldManager: "hand"}); err != nil {
		b.t.Fatal(err)
	}
	b.withoutPods()
	before := time.Now()
	d.set(b.declarations(""))
	b.clean(l, 0)
	swept := 0
	for _, r := range b.since(before) {
		if strings.HasPrefix(r.UserAgent, agent) && r.Resource == "links" && r.Verb == "patch" {
			b.t.Error("a Link was emptied that nobody acts on")
		}
		if strings.HasPrefix(r.UserAgent, agent) && r.Resource == "services" && r.Verb == "delete" && r.Namespace == "default" {
			swept++
		}
	}
	if left := b.left("west", "east"); swept != 2 || len(left) > 0 {
		b.t.Errorf("%d services swept, left: %v", swept, left)
	}
}

const holdsMirror = "example.com/hold"

// declaredAgain: a link whose mirror cannot go gets its selectors back, and what was taken meanwhile with them.
func (b *clusterEnv) declaredAgain(l *sync.Loop, d *declaredText) {
	b.mirroring(l, d, "")
	hold := func(finalizers string) {
		b.t.Helper()
		if _, err := b.client("west").CoreV1().Services("default").Patch(b.t.Context(), "web-of-east-east", types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{FieldManager: "hand"}); err != nil {
			b.t.Fatal(err)
		}
	}
	hold(`["` + holdsMirror + `"]`)
	impatient := b.loop(d, agent)
	impatient.Patience = 2 * time.Second
	d.set(b.declarations(""))
	end := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
	if row := rowOf(b.t, b.once(impatient), end); row.Phase != plan.Waiting || row.Why.Code != reason.Draining || row.Until.IsZero() {
		b.t.Fatalf("in the middle it is %s %v until %s", row.Phase, row.Why, row.Until)
	}
	b.members("")
	if cm := b.inventory("west", inventory.Key("linkwright", end).Name); !strings.Contains(cm.Data["inventory.json"], `"since":`) {
		b.t.Errorf("the inventory: %s", cm.Data)
	}
	d.set(b.declarations(linkWith("west", "east", federated)))
	b.clean(l, 2)
	hold(`[]`)
	b.members("shared@east")
	touched := false
	b.eventually("the mirror is another one", func(ctx context.Context) (bool, error) {
		list, err := b.client("west").CoreV1().Services("default").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=web-of-east-east"})
		if err == nil && len(list.Items) == 0 && !touched {
			touched = true // a controller that was back before the old one went has its mirror to make: it does so with the next event
			_, err = b.client("east").CoreV1().Services("default").Patch(ctx, "web-of-east", types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"example.com/touched":"now"}}}`), metav1.PatchOptions{FieldManager: "hand"})
		}
		return err == nil && len(list.Items) == 1 && list.Items[0].DeletionTimestamp == nil, err
	})
	cm := b.inventory("west", inventory.Key("linkwright", end).Name)
	// what tells of an unlink stands before conditions, which have moments of their own
	if left, _, _ := strings.Cut(cm.Data["inventory.json"], `,"conditions":`); strings.Contains(left, "leaving") || strings.Contains(left, "since") {
		b.t.Errorf("the inventory: %s", cm.Data)
	}
}

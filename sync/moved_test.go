package sync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
)

// watched does something while a witness reads west.
func (b *clusterEnv) watched(do func(w *testbed.MirrorObserver)) {
	b.t.Helper()
	w, err := testbed.NewWitness(b.t.Context(), b.Cluster("west").Config)
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.End()
	do(w)
}

// witnessed holds that no mirror of west is interrupted meanwhile, and gives who led its controllers for east.
func (b *clusterEnv) witnessed(do func(w *testbed.MirrorObserver)) (led []string) {
	b.t.Helper()
	b.watched(func(w *testbed.MirrorObserver) {
		do(w)
		b.nothingLost(w)
		led = w.Leaders("east")
	})
	return led
}

func (b *clusterEnv) nothingLost(w *testbed.MirrorObserver) {
	b.t.Helper()
	if lost, err := w.Lost(b.t.Context()); err != nil || len(lost) > 0 {
		b.t.Errorf("mirrors were interrupted: %v, %v", lost, err)
	}
}

// cordon lets no pod of west run that does not yet, until the returned function is called.
func (b *clusterEnv) cordon() (uncordon func()) {
	b.t.Helper()
	set := func(closed string) {
		nodes := b.client("west").CoreV1().Nodes()
		list, err := nodes.List(b.t.Context(), metav1.ListOptions{})
		for i := 0; err == nil && i < len(list.Items); i++ {
			_, err = nodes.Patch(b.t.Context(), list.Items[i].Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":`+closed+`}}`), metav1.PatchOptions{})
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	set("true")
	return func() { set("false") }
}

// halfway makes a sync while no controller can start: what is to be replaced stays, and nothing is deleted anywhere.
func (b *clusterEnv) halfway(l *sync.Loop, in api.ClusterName, end api.Pair) {
	b.t.Helper()
	before := len(b.writes())
	patience := l.Patience
	l.Patience = 500 * time.Millisecond
	r := b.once(l)
	l.Patience = patience
	if row := rowOf(b.t, r, object.End{Cluster: in, Link: end}); row.Phase != plan.Waiting || row.Why.Code != reason.WaitingForReplacement {
		b.t.Errorf("halfway %s in %s is %s %v\n%s", end, in, row.Phase, row.Why, dump(r))
	}
	if gone := deletes(b.writes()[before:]); len(gone) > 0 {
		b.t.Errorf("before its successor stands went %v", gone)
	}
}

func deletes(sent []testbed.Request) (out []string) {
	for _, r := range sent {
		if r.Verb == "delete" {
			out = append(out, r.Resource+" "+r.Namespace+"/"+r.Name)
		}
	}
	return out
}

func (b *clusterEnv) uid(cluster string) string {
	b.t.Helper()
	ns, err := b.client(cluster).CoreV1().Namespaces().Get(b.t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(ns.UID)
}

var westToEast = api.Pair{Source: "west", Target: "east"}

// renamed declares a cluster by another name.
func (b *clusterEnv) renamed(was, is string, links string) string {
	return strings.Replace(b.declarations(links), "kind: Cluster\nmetadata: {name: "+was+",", "kind: Cluster\nmetadata: {name: "+is+",", 1)
}

// second declares a second name of a cluster.
func second(name, of string) string {
	return "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec: {sameAs: " + of + "}\n---\n"
}

// renamedSource: a second name of the source becomes its own. What the source has is handed over in place, and its former access goes once it
// uses the new one.
func (b *clusterEnv) renamedSource(t *testing.T, d *declaredText) {
	l := b.loop(d, agent)
	account := func(name string) error {
		_, err := b.client("east").CoreV1().ServiceAccounts(object.AccessNamespace).Get(t.Context(), "linkwright."+name, metav1.GetOptions{})
		return err
	}
	d.set(b.declarations(second("occident", "west") + linkWith("west", "east", federated)))
	b.clean(l, 2)
	b.witnessed(func(w *testbed.MirrorObserver) {
		b.leaders(w, 1)
		uncordon := b.cordon()
		b.restarts("controller-east")
		d.set(b.renamed("west", "occident", second("west", "occident")+linkWith("occident", "east", federated)))
		b.halfway(l, "west", westToEast)
		if err := account("west"); err != nil {
			t.Errorf("the former access: %v", err)
		}
		uncordon()
		before := len(b.writes("west"))
		b.clean(l, 2)
		if gone := deletes(b.writes("west")[before:]); slices.ContainsFunc(gone, func(s string) bool { return !strings.HasPrefix(s, "configmaps ") }) {
			t.Errorf("in the cluster itself went %v", gone)
		}
		if err := account("west"); !apierrors.IsNotFound(err) {
			t.Errorf("the former access: %v", err)
		}
		if err := account("occident"); err != nil {
			t.Error(err)
		}
		d.set(b.declarations(linkWith("west", "east", federated)))
		b.clean(l, 2)
		b.isAbandoned(l)
		b.leaders(w, 2) // the controller was restarted once
	})
}

// leaders waits until this many pods have led the controllers for east, one after the other. A new pod takes the Lease some time after it is ready.
func (b *clusterEnv) leaders(w *testbed.MirrorObserver, want int) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("leaders of the link are not %d", want), func(context.Context) (bool, error) {
		return len(w.Leaders("east")) == want, nil
	})
}

// restarts has the pods of a controller created again.
func (b *clusterEnv) restarts(controller string) {
	b.t.Helper()
	pods := b.client("west").CoreV1().Pods(testbed.Multicluster)
	if err := pods.DeleteCollection(b.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "mirror.linkerd.io/cluster-name=" + strings.TrimPrefix(controller, "controller-")}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually(controller+" lacks a pod", func(ctx context.Context) (bool, error) {
		d, err := b.client("west").AppsV1().Deployments(testbed.Multicluster).Get(ctx, controller, metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == 0, err
	})
}

// renamedTarget: a second name of the target becomes its own, and the former name goes with its links. The link by the second name goes on.
func (b *clusterEnv) renamedTarget(t *testing.T, d *declaredText) {
	l := b.loop(d, agent)
	b.watched(func(w *testbed.MirrorObserver) {
		d.set(b.declarations(second("orient", "east") + linkWith("west", "east", federated) + linkWith("west", "orient", federated)))
		b.clean(l, 4)
		b.mirrored("west", "web-of-east-orient")
		b.members("shared@east,shared@orient")
		b.nothingLost(w)
		before := len(b.writes("west"))
		d.set(b.renamed("east", "orient", linkWith("west", "orient", federated)))
		b.clean(l, 2)
		b.members("shared@orient")
		if gone := deletes(b.writes("west")[before:]); slices.ContainsFunc(gone, func(s string) bool { return strings.HasSuffix(s, "orient") }) {
			t.Errorf("of the link that goes on went %v", gone)
		}
		if lost, err := w.Lost(t.Context()); err != nil || !slices.Equal(lost, []string{"web-of-east-east"}) {
			t.Errorf("of the former mirrors went %v, %v", lost, err)
		}
	})
	for _, left := range b.left("west", "east") {
		if strings.HasPrefix(left, "west: ") { // in the target both names have one account
			t.Errorf("left: %s", left)
		}
	}
	b.isAbandoned(l)
}

// isAbandoned: a former name is forgotten.
func (b *clusterEnv) isAbandoned(l *sync.Loop) {
	b.t.Helper()
	l.Accepted = nil
	sent := len(b.writes())
	b.clean(l, 2)
	more := slices.DeleteFunc(slices.Clone(b.writes()[sent:]), func(r testbed.Request) bool { // conditions, which may come due at any time
		return r.Namespace == object.AccessNamespace && r.Resource == "configmaps" && r.Verb == "patch"
	})
	if len(more) != 1 || more[0].Name != "linkwright-fleet" {
		b.t.Errorf("the former name should be forgotten, and nothing else be written: %+v", more)
	}
	b.noRequests(b.t, l)
}

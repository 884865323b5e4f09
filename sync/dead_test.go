package sync_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// TestDeadClusters: API servers that stop to answer while their links are declared no more. What can be reached goes, what
// cannot is owed, told with its age, and paid when they are back.
func TestDeadClusters(t *testing.T) {
	b := newBed(t)
	d := &text{}
	l := b.loop(d, agent)
	// A source without access to its target drains nothing when it is back: what it mirrored is swept at the deadline.
	const soon = "apiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {prune: {drainDeadline: 2s}}\n"
	d.set(b.declarations(link("west", "east") + link("north", "west") + link("west", "north") + soon))
	b.clean(l, 6)
	b.mirrored("west", "web-of-east-east")

	t.Run("target", func(t *testing.T) {
		b.t = t
		b.dies(l, "east", api.Pair{Source: "west", Target: "east"}, func() {
			d.set(b.declarations(link("north", "west") + link("west", "north") + soon))
		})
		b.clean(l, 4)
		if left := b.left("west", "east"); len(left) > 0 {
			t.Errorf("left of west→east: %v", left)
		}
	})
	t.Run("source, with nothing granted", func(t *testing.T) {
		b.t = t
		b.dies(l, "north", api.Pair{Source: "north", Target: "west"}, func() { d.set(b.declarations(link("west", "north") + soon)) })
		_, err := b.client("west").CoreV1().ServiceAccounts("linkwright-access").Get(t.Context(), "linkwright.north", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the access of the dead source: %v", err)
		}
		b.clean(l, 2)
		if left := b.left("north", "west"); len(left) > 0 {
			t.Errorf("left of north→west: %v", left)
		}
	})
	b.t = t
}

// dies pauses a cluster, undeclares a link of it, and makes a pass that must tell what is owed and leave nothing of it in the
// home cluster; then the cluster is back.
func (b *bed) dies(l *sync.Loop, name string, owes api.Pair, undeclare func()) {
	b.t.Helper()
	c := b.Cluster(name)
	if err := c.Pause(); err != nil {
		b.t.Fatal(err)
	}
	back := func() {
		if err := c.Resume(); err != nil {
			b.t.Error(err)
		}
	}
	defer back()
	undeclare()
	r := b.once(l)
	var text strings.Builder
	if err := r.Write(&text, report.Text); err != nil {
		b.t.Fatal(err)
	}
	if want := name + "  owes " + owes.String() + " for less than a minute"; r.Counts().Debts != 1 || r.Clean() || !strings.Contains(text.String(), want) {
		b.t.Errorf("the report does not say %q:\n%s", want, text.String())
	}
	inventories, err := b.client("west").CoreV1().ConfigMaps("linkwright-access").List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cm := range inventories.Items {
		if cm.Name == "linkwright."+string(owes.Source)+"."+string(owes.Target) {
			b.t.Errorf("west still has its end of %s: %s", owes, text.String())
		}
	}
	deleted := func(q testbed.Request) bool { return q.Verb == "delete" && q.Resource == "namespaces" }
	if slices.ContainsFunc(b.writes(), deleted) {
		b.t.Error("a namespace was deleted")
	}
}

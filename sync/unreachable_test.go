package sync_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// TestUnreachableClusters: API servers that stop to answer while their links are no longer declared. What can be reached goes, what cannot stays
// pending, is reported with its age, and goes when they are back.
func TestUnreachableClusters(t *testing.T) {
	b := newClusterEnv(t)
	d := &declaredText{}
	l := b.loop(d, agent)
	// A source without access to its target drains nothing when it is back: what it mirrored is swept at the deadline.
	const soon = "apiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {prune: {drainDeadline: 2s}}\n"
	d.set(b.declarations(link("west", "east") + link("north", "west") + link("west", "north") + soon))
	b.clean(l, 6)
	b.mirrored("west", "web-of-east-east")

	t.Run("target", func(t *testing.T) {
		b.t = t
		b.becomesUnreachable(l, "east", api.Pair{Source: "west", Target: "east"}, func() {
			d.set(b.declarations(link("north", "west") + link("west", "north") + soon))
		})
		b.clean(l, 4)
		if left := b.left("west", "east"); len(left) > 0 {
			t.Errorf("left of west→east: %v", left)
		}
	})
	t.Run("source, with nothing granted", func(t *testing.T) {
		b.t = t
		b.becomesUnreachable(l, "north", api.Pair{Source: "north", Target: "west"}, func() { d.set(b.declarations(link("west", "north") + soon)) })
		_, err := b.client("west").CoreV1().ServiceAccounts("linkwright-access").Get(t.Context(), "linkwright.north", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the access of the dead source: %v", err)
		}
		b.clean(l, 2)
		if left := b.left("north", "west"); len(left) > 0 {
			t.Errorf("left of north→west: %v", left)
		}
	})
	t.Run("two, dropped in one commit while nobody looked", func(t *testing.T) { b.t = t; b.dropsTwo(d) })
	b.t = t
}

// dropsTwo: linkwright is down while two clusters die and are dropped in one commit. A process that was just started finds them in
// the record, unlinks whom they were linked to, and is paid by each when that is back.
func (b *clusterEnv) dropsTwo(d *declaredText) {
	two := policy("prune: {maxClusters: 2, drainDeadline: 2s}")
	d.set(b.declarations(link("west", "east")+link("west", "north")+link("north", "east")) + two)
	b.clean(b.loop(d, agent), 6)
	b.mirrored("west", "web-of-north-north")
	for _, name := range []string{"east", "north"} {
		if err := b.Cluster(name).Pause(); err != nil {
			b.t.Fatal(err)
		}
	}
	all := b.declarations("")
	d.set(all[strings.LastIndex(all, "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster"):] + two)
	l := b.loop(d, agent)
	b.cleanupPending(b.once(l), "east", "west→east")
	other := b.once(b.loop(d, agent)) // another process still knows
	b.cleanupPending(other, "north", "west→north")
	if other.Counts().Cleanup != 2 {
		b.t.Errorf("pending is not one end each:\n%s", dump(other))
	}
	inventories, err := b.client("west").CoreV1().ConfigMaps(object.AccessNamespace).List(b.t.Context(), metav1.ListOptions{LabelSelector: object.OwnerLabel})
	if err != nil || len(inventories.Items) != 1 {
		b.t.Errorf("in west nothing but the base should be left: %v, %v", inventories, err)
	}
	b.resume("east")
	half := b.once(l)
	b.cleanupPending(half, "north", "north→east for less than a minute, west→north")
	if c := half.Counts(); c.Cleanup != 2 {
		b.t.Errorf("with one back cleanup of %d ends is pending:\n%s", c.Cleanup, dump(half))
	}
	b.resume("north")
	b.clean(l, 0)
	for _, p := range [][2]string{{"west", "east"}, {"west", "north"}, {"north", "east"}} {
		if left := b.left(p[0], p[1]); len(left) > 0 {
			b.t.Errorf("left of %v: %v", p, left)
		}
	}
}

func (b *clusterEnv) resume(name string) {
	b.t.Helper()
	if err := b.Cluster(name).Resume(); err != nil {
		b.t.Fatal(err)
	}
}

// cleanupPending holds that a report says so of a link.
func (b *clusterEnv) cleanupPending(r report.Report, name, link string) {
	b.t.Helper()
	var text strings.Builder
	if err := r.Write(&text, report.Text); err != nil {
		b.t.Fatal(err)
	}
	aligned := strings.Join(strings.Fields(text.String()), " ")
	if r.Clean() || !strings.Contains(aligned, name+" CleanupPending "+link+" for less than a minute") {
		b.t.Errorf("cleanup of %s in %s is pending, and the report does not say so:\n%s", name, link, text.String())
	}
}

// becomesUnreachable pauses a cluster, undeclares a link of it, and makes a sync that must tell what is pending and leave nothing of it in the
// management cluster; then the cluster is back.
func (b *clusterEnv) becomesUnreachable(l *sync.Loop, name string, link api.Pair, undeclare func()) {
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
	if want := name + "  CleanupPending  " + link.String() + " for less than a minute"; r.Counts().Cleanup != 1 || r.Clean() || !strings.Contains(text.String(), want) {
		b.t.Errorf("the report does not say %q:\n%s", want, text.String())
	}
	inventories, err := b.client("west").CoreV1().ConfigMaps("linkwright-access").List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cm := range inventories.Items {
		if cm.Name == "linkwright."+string(link.Source)+"."+string(link.Target) {
			b.t.Errorf("west still has its end of %s: %s", link, text.String())
		}
	}
	deleted := func(q testbed.Request) bool { return q.Verb == "delete" && q.Resource == "namespaces" }
	if slices.ContainsFunc(b.writes(), deleted) {
		b.t.Error("a namespace was deleted")
	}
}

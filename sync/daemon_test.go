package sync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	gosync "sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// daemon is a loop that runs over a bed, and its reports.
type daemon struct {
	*clusterEnv
	mu      gosync.Mutex
	reports []report.Report
}

// begin has a loop run until it is stopped.
func (d *daemon) begin(l *sync.Loop) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- l.Run(ctx, 1, nil, func(r report.Report) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.reports = append(d.reports, r)
		})
	}()
	return gosync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			d.t.Error(err)
		}
	})
}

// syncs counts the syncs so far, and gives the last report.
func (d *daemon) syncs() (n int, last report.Report) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.reports {
		if last = r; r.When == report.AtEnd {
			n++
		}
	}
	return n, last
}

// more waits for so many more syncs, the last of which must be clean but for so many clusters, which are unread or refused.
func (d *daemon) more(passes, closed int) {
	d.t.Helper()
	before, _ := d.syncs()
	d.eventually(fmt.Sprintf("%d more passes", passes), func(context.Context) (bool, error) {
		n, last := d.syncs()
		return n >= before+passes && last.Counts().ClustersUnknown+last.Counts().ClustersDenied == closed && (closed > 0 || last.Clean()), nil
	})
}

// requests counts what all clusters were asked.
func (d *daemon) requests() (n int) {
	d.t.Helper()
	for _, name := range names {
		n += d.asked(name)
	}
	return n
}

// TestDaemon: with watches, what does not change is not asked for, and drift is one write, also while a cluster is down.
func TestDaemon(t *testing.T) {
	b := newClusterEnv(t)
	d, decl := &daemon{clusterEnv: b}, &declaredText{interval: "1s"}
	l := b.loop(decl, agent)
	l.Changes = l.Clusters.(*openClusters).registry //nolint:forcetypeassert // the bed's own
	decl.set(b.declarations(mesh))
	defer d.begin(l)()
	d.more(1, 0)
	d.more(2, 0)
	t.Run("three passes over what is unchanged", func(t *testing.T) {
		b.t = t
		before := d.requests()
		d.more(3, 0)
		if n := d.requests() - before; n > 0 {
			all, _ := b.Cluster("west").Requests(agent)
			t.Errorf("%d requests, the last in west: %+v", n, all[max(0, len(all)-5):])
		}
	})
	t.Run("drift", func(t *testing.T) { b.t = t; d.drift() })
	t.Run("anchors, half rotated", func(t *testing.T) { b.t = t; d.rotated() })
	t.Run("with north paused", func(t *testing.T) {
		b.t = t
		if err := b.Cluster("north").Pause(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.Cluster("north").Resume(); err != nil {
				t.Fatal(err)
			}
		}()
		d.drift()
		d.more(2, 1)
		d.drift()
	})
	b.t = t
	d.more(1, 0)
}

// drift has an object of west edited, and one deleted, and wants each back by exactly one write.
func (d *daemon) drift() {
	d.t.Helper()
	d.repaired("an edit", "patch deployments controller-east", func() {
		_, err := d.client("west").AppsV1().Deployments("linkerd-multicluster").Patch(d.t.Context(), "controller-east",
			types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{FieldManager: "hand"})
		if err != nil {
			d.t.Fatal(err)
		}
	})
	d.repaired("a deletion", "patch services probe-east", func() {
		if err := d.client("west").CoreV1().Services("linkerd-multicluster").Delete(d.t.Context(), "probe-east", metav1.DeleteOptions{}); err != nil {
			d.t.Fatal(err)
		}
	})
}

// sentButConditions are writes but those of links' inventories, which tell what links have come to.
func (d *daemon) sentButConditions(name string, since int) []string {
	d.t.Helper()
	return slices.DeleteFunc(d.sent(name, since), func(s string) bool { return strings.HasPrefix(s, "patch configmaps linkwright.") })
}

func (d *daemon) repaired(what, want string, move func()) {
	d.t.Helper()
	before := d.asked("west")
	move()
	start := time.Now()
	sent := func() []string { return d.sentButConditions("west", before) }
	d.eventually(what+" is taken back", func(context.Context) (bool, error) { return len(sent()) > 0, nil })
	d.t.Logf("%s: noticed after %v", what, time.Since(start))
	time.Sleep(500 * time.Millisecond) // for what must not come
	if got := sent(); len(got) != 1 || got[0] != want {
		d.t.Errorf("%s: it sent %q, want %s", what, got, want)
	}
}

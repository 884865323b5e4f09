package sync

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// westEast is the source's end of west→east.
var westEast = object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}

// leads has somebody lead the link west→east.
func (r *memoryEnv) leads() { r.ledBy("controller-east-0") }

// ledBy has a pod lead the link west→east; empty: its controller gave the Lease back.
func (r *memoryEnv) ledBy(pod string) {
	r.t.Helper()
	lease := map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "service-mirror-write-east", "namespace": "linkerd-multicluster"},
		"spec": map[string]any{"holderIdentity": pod},
	}
	if err := r.Cluster("west").Put("service-mirror", lease); err != nil {
		r.t.Fatal(err)
	}
}

// persisted returns the condition Ready of west→east that a reader of inventories finds.
func (r *memoryEnv) persisted() object.Condition {
	r.t.Helper()
	observed, err := r.Cluster("west").Observe(r.t.Context(), plan.InventoryWatches())
	if err != nil {
		r.t.Fatal(err)
	}
	inv, ok := inventory.Of("linkwright", westEast, observed)
	if !ok {
		r.t.Fatal("west→east has no inventory")
	}
	return health.Condition(inv.Conditions, object.Ready)
}

// A sync that runs once ends when it has persisted what it knows: also where a credential was verified in it, of a link whose
// inventory was there before, as after an adoption.
func TestOncePersistsWhatItKnows(t *testing.T) {
	discovering := strings.Replace(memoryLink("west", "east"), "target: east", "target: east, remoteDiscoverySelector: {matchLabels: {a: b}}", 1)
	single(t, memcluster.Options{}, discovering, func(r *memoryEnv) {
		once := func() {
			r.t.Helper()
			l := r.loop()
			l.Verifier = r
			if got, err := l.Once(r.t.Context(), 1); err != nil || !got.Clean() {
				r.t.Fatalf("%+v: %v%s", got.Counts(), err, rows(got))
			}
		}
		r.leads()
		once()
		if c := r.persisted(); c.Status != object.True {
			r.t.Errorf("a new link: %+v", c)
		}
		time.Sleep(time.Hour)
		if err := r.Cluster("west").Remove(object.Key{Kind: "Secret", Namespace: "linkerd", Name: "cluster-credentials-east"}); err != nil {
			r.t.Fatal(err)
		}
		once()
		if c := r.persisted(); c.Status != object.True || time.Since(c.Since) > time.Minute {
			r.t.Errorf("a link whose credential was verified in the sync: %+v", c)
		}
	})
}

// A controller that ends gives its Lease back. A sync waits until the next one holds it, and is not clean if none does within its patience.
func TestOnceAwaitsLeader(t *testing.T) {
	for name, tt := range map[string]struct {
		back time.Duration // when the next controller takes the Lease
		want int           // ends that still wait
	}{
		"in time":  {10 * time.Second, 0},
		"too late": {2 * time.Minute, 1},
	} {
		single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
			if got, err := r.loop().Once(r.t.Context(), 1); err != nil || !got.Clean() {
				r.t.Fatalf("%s: %v%s", name, err, rows(got))
			}
			controller := object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-east"}
			if err := r.Cluster("west").Remove(controller); err != nil {
				r.t.Fatal(err)
			}
			r.ledBy("")
			next := time.AfterFunc(tt.back, r.leads)
			defer next.Stop()
			got, err := r.loop().Once(r.t.Context(), 1)
			if c := got.Counts(); err != nil || c.Waiting != tt.want || got.Clean() != (tt.want == 0) {
				r.t.Errorf("%s: %+v: %v%s", name, c, err, rows(got))
			}
			if c := r.persisted(); (c.Status == object.True) != (tt.want == 0) {
				r.t.Errorf("%s: %+v", name, c)
			}
		})
	}
}

// In a daemon, too, no rate limit holds a transition back: a link that is ready, fails and is ready again says so at once.
func TestTransitionsArePersistedAtOnce(t *testing.T) {
	turns(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
		lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "linkerd-multicluster", Name: "service-mirror-write-east"}
		r.leads()
		time.Sleep(10 * time.Second)
		for range 3 {
			if c := r.persisted(); c.Status != object.True {
				r.t.Fatalf("somebody leads: %+v", c)
			}
			if err := r.Cluster("west").Remove(lease); err != nil {
				r.t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if c := r.persisted(); c.Status != object.False {
				r.t.Errorf("nobody leads: %+v", c)
			}
			r.leads()
			time.Sleep(2 * time.Second)
		}
	})
}

// A sync that runs once waits for the pods of a controller to lead, but not for long: whether they ever do, only they can say.
func TestOnceWaitsForTheController(t *testing.T) {
	for _, tt := range []struct {
		pods        bool
		leads, took time.Duration // zero: never
		want        reason.Code
	}{
		{false, 3 * time.Second, 0, reason.Progressing},
		{true, 3 * time.Second, 4 * time.Second, reason.Healthy},
		{true, 0, 12 * time.Second, reason.Progressing},
	} {
		single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
			if tt.pods {
				pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "controller-east-0", "namespace": "linkerd-multicluster", "labels": map[string]any{
					linkerd.ClusterNameLabel: "east", linkerd.ComponentLabel: linkerd.Component,
				}}}
				if err := r.Cluster("west").Put("kubelet", pod); err != nil {
					t.Fatal(err)
				}
			}
			if tt.leads > 0 {
				time.AfterFunc(tt.leads, r.leads)
			}
			began := time.Now()
			got, err := r.loop().Once(r.t.Context(), 1)
			if took := time.Since(began); err != nil || took > tt.took+time.Second || took < tt.took-time.Second {
				t.Errorf("%+v: took %s, %v%s", tt, took, err, rows(got))
			}
			if ready := r.persisted(); ready.Reason != tt.want {
				t.Errorf("%+v: %+v", tt, ready)
			}
		})
	}
}

// An end that leaves records which of its writes failed, for readers of inventories. The report says that, and not what the removal waited for.
func TestFailedRemovalIsRecorded(t *testing.T) {
	single(t, memcluster.Options{}, memoryLink("west", "east")+memoryLink("east", "north"), func(r *memoryEnv) {
		r.leads()
		if got, err := r.loop().Once(r.t.Context(), 1); err != nil {
			r.t.Fatalf("%v%s", err, rows(got))
		}
		r.declare("c2", memoryLink("east", "north"))
		r.Cluster("west").Fault(func(f *memcluster.Faults) {
			f.Denied = map[string][]schema.GroupKind{"delete": {{Group: "apps", Kind: "Deployment"}}}
		})
		got, err := r.loop().Once(r.t.Context(), 1)
		if err != nil {
			r.t.Fatalf("%v%s", err, rows(got))
		}
		links := report.Links(got)
		at := slices.IndexFunc(links, func(l report.LinkRow) bool { return l.Pair == westEast.Link })
		if l := links[at]; l.Status() != report.Stalled || l.Reason().Code != reason.Forbidden || !l.Leaving {
			r.t.Errorf("the link is %s: %+v", l.Status(), l.Reason())
		}
		c := r.persisted()
		if want := "delete Deployment.apps linkerd-multicluster/controller-east is not allowed: run linkwright cluster add --all PATH"; c.Reason != reason.Forbidden || c.Message != want {
			r.t.Errorf("the inventory records %+v; want %q", c, want)
		}
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Denied = nil })
		if got, err := r.loop().Once(r.t.Context(), 1); err != nil || len(report.Links(got)) != 2 {
			r.t.Errorf("%v%s", err, rows(got))
		}
		if got, err := r.loop().Once(r.t.Context(), 1); err != nil || len(report.Links(got)) != 1 {
			r.t.Errorf("the link is still there: %v%s", err, rows(got))
		}
	})
}

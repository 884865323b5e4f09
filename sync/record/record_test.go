package record

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/store"
)

// gated is a management cluster whose first write waits.
type gated struct {
	object.Cluster
	writes chan struct{} // one for each that has begun
	open   chan struct{}
}

func (g gated) Write(ctx context.Context, c object.Change) (object.Record, error) {
	g.writes <- struct{}{}
	select {
	case <-g.open:
		return g.Cluster.Write(ctx, c)
	case <-ctx.Done():
		return object.Record{}, ctx.Err()
	}
}

const manyNew = 100

func keeper(at object.Cluster) *Keeper {
	return &Keeper{
		Owner: "linkwright", Management: ManagementCluster{Cluster: at, Namespace: "linkwright"}, Store: store.New(store.Settings{}),
		Read: func(_, _ inventory.Record) {}, Wrote: func(object.Outcome) {},
	}
}

// remembering returns a record keeper whose clusters are all new, and one of which is being recorded; the rest wait for that.
func remembering(first context.Context, t *testing.T) (*Keeper, gated, *errgroup.Group) {
	t.Helper()
	management := memcluster.New(memcluster.Options{}, "home").Cluster("home")
	if err := management.Put("kubectl", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}); err != nil {
		t.Fatal(err)
	}
	g := gated{management, make(chan struct{}, manyNew), make(chan struct{})}
	k := keeper(g)
	if _, err := k.Enter(t.Context(), &fleet.Fleet{}); err != nil { //nolint:contextcheck // only the first has a time of its own
		t.Fatal(err)
	}
	remember := func(ctx context.Context, i int) error {
		name := fmt.Sprintf("c%d", i)
		return k.Remember(ctx, fleet.Cluster{Name: api.ClusterName(name)}, "uid of "+name, plan.Step{})
	}
	var all errgroup.Group
	all.Go(func() error { return remember(first, 0) })
	<-g.writes
	for i := 1; i < manyNew; i++ {
		all.Go(func() error { return remember(t.Context(), i) }) //nolint:contextcheck // the others have the time of the test
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for waiting := 0; waiting < manyNew-1; <-tick.C {
		k.mu.Lock()
		waiting = len(k.changes)
		k.mu.Unlock()
	}
	return k, g, &all
}

func (k *Keeper) recorded(t *testing.T) map[api.ClusterName]inventory.KnownCluster {
	t.Helper()
	r, err := k.Management.Record(t.Context(), k.Owner)
	if err != nil {
		t.Fatal(err)
	}
	return r.Clusters
}

// Clusters that are new at once are recorded in two writes: the first, and all that came while that was under way.
func TestRecordGathers(t *testing.T) {
	k, g, all := remembering(t.Context(), t)
	close(g.open)
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := len(k.recorded(t)); got != manyNew || len(g.writes) != 1 {
		t.Errorf("%d clusters are recorded, want %d; %d writes after the first, want one", got, manyNew, len(g.writes))
	}
}

// Whose time is over fails alone.
func TestRecordWithoutTheFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	k, g, all := remembering(ctx, t)
	cancel()
	close(g.open)
	if err := all.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	got := k.recorded(t)
	if _, first := got["c0"]; len(got) != manyNew-1 && (len(got) != manyNew || !first) {
		t.Errorf("%d clusters are recorded", len(got))
	}
}

// Another process wrote meanwhile: what it knows of its clusters stays, and all of linkwright comes beside it.
func TestRecordOfTwoProcesses(t *testing.T) {
	k, g, all := remembering(t.Context(), t)
	other := keeper(g.Cluster)
	if _, err := other.Enter(t.Context(), &fleet.Fleet{}); err != nil {
		t.Fatal(err)
	}
	theirs := inventory.KnownCluster{UID: "theirs"}.AddPending(time.Now(), api.Pair{Source: "a", Target: "other"})
	if err := other.Amend(t.Context(), func(r *inventory.Record) bool { r.Clusters["other"] = theirs; return true }); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := k.recorded(t); len(got) != manyNew+1 || len(got["other"].Pending) != 1 {
		t.Errorf("%d clusters are recorded, want %d; the other's is %+v", len(got), manyNew+1, got["other"])
	}
}

// A cluster that could not be struck off the record took no decision with it: nobody may be told that one is used up.
func TestForgetInVain(t *testing.T) {
	management := memcluster.New(memcluster.Options{}, "home").Cluster("home")
	if err := management.Put("kubectl", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}); err != nil {
		t.Fatal(err)
	}
	k := keeper(management)
	if _, err := k.Enter(t.Context(), &fleet.Fleet{}); err != nil {
		t.Fatal(err)
	}
	abandon := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: "east", By: "alice"}
	err := k.Amend(t.Context(), func(r *inventory.Record) bool {
		r.Clusters["east"] = inventory.KnownCluster{UID: "e"}
		r.Decide(abandon)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	management.Fault(func(f *memcluster.Faults) { f.Down = true })
	if gone, err := k.Remove(t.Context(), "east"); err == nil || len(gone) > 0 {
		t.Errorf("while the record cannot be written: %v, %v", gone, err)
	}
	management.Fault(func(f *memcluster.Faults) { f.Down = false })
	if gone, err := k.Remove(t.Context(), "east"); err != nil || len(gone) != 1 {
		t.Errorf("once it can: %v, %v", gone, err)
	}
}

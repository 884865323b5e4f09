package sync

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
)

// TestRendering: a reconcile begins below the most ends. It waits for others while they are planned and while their clusters answer, and no longer.
func TestRendering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRendering(10)
		begin := func(ends int) (of *run, waited time.Duration) {
			of, began := &run{}, time.Now()
			if !r.begin(t.Context(), of, ends) {
				t.Error("it does not begin")
			}
			return of, time.Since(began)
		}
		first, _ := begin(9)
		second, waited := begin(100)
		if waited > 0 {
			t.Errorf("below the most it waits %v", waited)
		}
		time.AfterFunc(time.Minute, func() { r.end(second) })
		if _, waited := begin(1); waited < time.Minute || waited > time.Minute+recheck {
			t.Errorf("while another one is planned it waits %v", waited)
		}
		r.end(first)
		large, _ := begin(20)
		large.notePlanned()
		for range 3 {
			time.AfterFunc(0, large.noteAnswer)
			time.Sleep(unresponsiveTimeout / 2)
		}
		if _, waited := begin(1); waited < unresponsiveTimeout/4 || waited > unresponsiveTimeout {
			t.Errorf("beside a cluster that falls silent it waits %v", waited)
		}
	})
}

// A reconcile that waits counts as one whose cluster answers, and ends with its context.
func TestRenderingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRendering(1)
		r.begin(t.Context(), &run{}, r.max)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		of := &run{}
		if r.begin(ctx, of, 1) {
			t.Error("it begins")
		}
		if since := time.Since(of.lastAnswer()); since > recheck {
			t.Errorf("its cluster counts as silent for %v", since)
		}
	})
}

// While a cluster answers to reads and hangs in its writes, all others are written, although only one cluster at a time may be.
func TestHangingWritesKeepNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMemoryEnv(t, memcluster.Options{}, memoryMesh)
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Slow = time.Hour })
		l := r.loop()
		l.Changes, l.maxRendered = r, 1
		stop := r.run(l)
		defer stop()
		time.Sleep(time.Minute)
		all := r.reported()
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Slow = 0 })
		if len(all) == 0 {
			t.Fatal("no report")
		}
		if last := all[len(all)-1]; last.Counts().Ready != 6 {
			t.Errorf("%+v %s", last.Counts(), rows(last))
		}
		r.clean(3*time.Hour, 12)
	})
}

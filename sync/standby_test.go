package sync

import (
	"context"
	"errors"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/sync/report"
)

// repositoryDown is a repository that may be down.
type repositoryDown struct {
	*memoryEnv
	down atomic.Bool
}

func (r *repositoryDown) Next(ctx context.Context) (Declaration, error) {
	if r.down.Load() {
		return Declaration{}, errors.New("no route to host")
	}
	return r.memoryEnv.Next(ctx)
}

func (r *repositoryDown) At(context.Context, api.Commit) (Declaration, error) {
	return Declaration{}, errors.New("no route to host")
}

// replicas are a leader that brings a mesh in place and ends, and a standby that observed all the while.
type replicas struct {
	*memoryEnv
	git     *repositoryDown
	standby *Standby
	stop    func() // ends what it observes
}

func (r *replicas) observe() {
	ctx, end := context.WithCancel(r.t.Context())
	var g gosync.WaitGroup
	g.Go(func() { r.standby.Observe(ctx) })
	r.stop = gosync.OnceFunc(func() { end(); g.Wait() })
}

// lead has the standby lead until the function that it gives is called.
func (r *replicas) lead(number int64) (stop func()) {
	r.stop()
	ctx, end := context.WithCancel(r.t.Context())
	var g gosync.WaitGroup
	g.Go(func() {
		err := r.standby.Lead(ctx, number, r.poke, func(p report.Report) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if p.When != report.Syncing {
				r.reports = append(r.reports, p)
			}
		})
		if err != nil {
			r.t.Error(err)
		}
	})
	return gosync.OnceFunc(func() { end(); g.Wait() })
}

func takenOver(t *testing.T, f func(*replicas)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &replicas{memoryEnv: newMemoryEnv(t, memcluster.Options{}, memoryMesh)}
		r.git = &repositoryDown{memoryEnv: r.memoryEnv}
		l := r.loop()
		l.Changes, l.Declared = r.memoryEnv, r.git
		r.standby = l.Standby()
		end := r.run(l)
		r.clean(30*time.Second, 12)
		r.observe()
		defer func() { r.stop() }()
		time.Sleep(2 * time.Minute)
		end()
		f(r)
	})
}

// A standby that takes over reads nothing by requests and lists nothing: it repairs what was changed while nobody led at once, also while
// Git is down.
func TestStandbyRepairsAtOnce(t *testing.T) {
	for _, down := range []bool{false, true} {
		takenOver(t, func(r *replicas) {
			r.git.down.Store(down)
			time.Sleep(3 * time.Minute) // its polls meanwhile find that, too
			r.edit("west", probe, 1)
			r.asked()
			r.reported()
			stop := r.lead(2)
			defer stop()
			time.Sleep(100 * time.Millisecond)
			asked := r.asked()
			repaired := slices.ContainsFunc(asked, func(q string) bool {
				return strings.HasPrefix(q, "west: update") && strings.HasSuffix(q, probe.String())
			})
			if !repaired {
				t.Errorf("Git down %t: not repaired: %q", down, asked)
			}
			for _, q := range asked {
				if strings.HasSuffix(q, ": observe") && !strings.HasPrefix(q, "home") {
					t.Errorf("Git down %t: it asked %s", down, q)
				}
			}
			time.Sleep(10 * time.Second)
			all := r.reported()
			if len(all) == 0 || all[len(all)-1].Counts().Ready != 12 || (all[0].Err != "") != down {
				t.Errorf("Git down %t: %d reports, %q, told %+v %s", down, len(all), all[0].Err, all[len(all)-1].Counts(), rows(all[len(all)-1]))
			}
		})
	}
}

// A standby plans and writes nothing, and asks clusters for nothing that watches show.
func TestStandbyOnlyWatches(t *testing.T) {
	takenOver(t, func(r *replicas) {
		r.asked()
		r.edit("west", probe, 1)
		if err := r.Cluster("west").Remove(probe); err != nil {
			t.Fatal(err)
		}
		r.wholly("west")
		time.Sleep(10 * time.Minute)
		for _, q := range r.asked() {
			if !strings.HasPrefix(q, "home: ") {
				t.Errorf("it asked %s", q)
			}
		}
		if n := r.wholly("west"); n > 0 {
			t.Errorf("it planned %d times", n)
		}
	})
}

// What a standby loaded is kept up without Git only if most clusters carry it: one that saw nothing of the last commit applies neither.
func TestStandbyThatIsBehind(t *testing.T) {
	takenOver(t, func(r *replicas) {
		r.stop() // it observes c1 last
		l := r.loop()
		l.Changes, l.Declared = r.memoryEnv, r.memoryEnv
		r.declare("c2", memoryLink("west", "north"))
		end := r.run(l)
		time.Sleep(2 * time.Minute)
		end()
		r.git.down.Store(true)
		r.asked()
		stop := r.lead(3)
		defer stop()
		time.Sleep(time.Minute)
		for _, q := range memcluster.Written(r.asked()) {
			if !strings.HasPrefix(q, "home: ") {
				t.Errorf("it wrote %s", q)
			}
		}
	})
}

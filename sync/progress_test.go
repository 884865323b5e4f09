package sync

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
)

// watched is a loop whose progress is kept.
func (r *memoryEnv) watched() (l *Loop, shown *[]report.Report) {
	l, shown = r.loop(), &[]report.Report{}
	l.Progress = func(p report.Report) { *shown = append(*shown, p) }
	return l, shown
}

// activity is what goes on in a cluster, by one report.
func activity(t *testing.T, r report.Report, name string) report.Activity {
	t.Helper()
	for _, c := range r.Clusters {
		if string(c.Name) == name {
			return c.Activity
		}
	}
	t.Fatalf("no cluster %s", name)
	return report.Activity{}
}

// A sync of a fleet with a silent cluster shows every half second which cluster it waits for, and since when.
func TestProgressNamesASilentCluster(t *testing.T) {
	single(t, memcluster.Options{Timeout: 10 * time.Second}, memoryLink("west", "east"), func(r *memoryEnv) {
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true })
		l, shown := r.watched()
		began := time.Now()
		if _, err := l.Once(r.t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		if n := len(*shown); n < int(took/time.Second) {
			t.Errorf("%d reports in %s", n, took)
		}
		at := (*shown)[6] // after 3.5 s
		if east := activity(t, at, "east"); east.Read || east.Asked != began {
			t.Errorf("east after 3.5 s: %+v, want that it is asked since %s", east, began)
		}
		if west := activity(t, at, "west"); !west.Read || !west.Asked.IsZero() {
			t.Errorf("west after 3.5 s: %+v, want that it was read", west)
		}
		last := (*shown)[len(*shown)-1]
		if last.When != report.AtEnd || activity(t, last, "east") != (report.Activity{}) {
			t.Errorf("the last report is %q", last.When)
		}
	})
}

// While a sync waits for what happens by itself, reports say until when. Transitions are logged when they happen, not at the end.
func TestProgressSaysUntilWhen(t *testing.T) {
	single(t, memcluster.Options{TokenAfter: 20 * time.Second}, memoryLink("west", "east"), func(r *memoryEnv) {
		l, shown := r.watched()
		var log bytes.Buffer
		l.Log = slog.New(slog.NewTextHandler(&log, nil))
		began, early := time.Now(), ""
		l.Progress = func(p report.Report) {
			*shown = append(*shown, p)
			if time.Since(began) == 5*time.Second {
				early = log.String()
			}
		}
		if _, err := l.Once(r.t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if until := (*shown)[9].Until; until != began.Add(time.Minute) {
			t.Errorf("after 5 s it waits until %s, want %s", until, began.Add(time.Minute))
		}
		if !strings.Contains(early, "link changed") || strings.Contains(early, "sync done") {
			t.Errorf("logged after 5 s:\n%s", early)
		}
		if all := log.String(); strings.Count(all, "to=Progressing") != 1 || strings.Count(all, "sync done") != 1 {
			t.Errorf("logged in all:\n%s", all)
		}
	})
}

// Snapshot shows which clusters it reads.
func TestProgressOfLook(t *testing.T) {
	single(t, memcluster.Options{Timeout: 4 * time.Second}, memoryLink("west", "east"), func(r *memoryEnv) {
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true })
		l, shown := r.watched()
		if _, err := l.Snapshot(r.t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if len(*shown) < 4 || activity(t, (*shown)[2], "east").Asked.IsZero() || !activity(t, (*shown)[2], "west").Read {
			t.Errorf("shown: %+v", *shown)
		}
	})
}

// A sync that is told to stop lets the writes under way end, and begins no other.
func TestInterruptedFinishesWhatHasBegun(t *testing.T) {
	single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Slow = 2 * time.Second })
		why := errors.New("interrupt signal received")
		ctx, stop := context.WithCancelCause(r.t.Context())
		defer stop(nil)
		time.AfterFunc(9*time.Second, func() { stop(why) })
		began := time.Now()
		var log bytes.Buffer
		l := r.loop()
		l.Log = slog.New(slog.NewTextHandler(&log, nil))
		got, err := l.Once(ctx, 1)
		if strings.Contains(log.String(), why.Error()) {
			t.Errorf("the report says why it ended, and the log does, too:\n%s", log.String())
		}
		if !errors.Is(err, ErrInterrupted) || !errors.Is(err, why) {
			t.Errorf("Once: %v, want %v", err, why)
		}
		if took := time.Since(began); took > 13*time.Second {
			t.Errorf("it ended after %s", took)
		}
		synctest.Wait()
		here := map[object.Key]bool{}
		for _, k := range r.Cluster("west").Keys() {
			here[k] = true
		}
		for _, c := range got.Clusters {
			for _, o := range c.Outcomes {
				if c.Name == "west" && (o.Err == nil) != here[o.Change.Key] {
					t.Errorf("%s: reported %v, there %t", o.Change.Key, o.Err, here[o.Change.Key])
				}
			}
		}
	})
}

// A read that Ctrl-C cuts short is no failure of the cluster: the report has what was known before.
func TestInterruptedKeepsWhatIsKnown(t *testing.T) {
	for after := time.Second; after < 20*time.Second; after += 700 * time.Millisecond {
		single(t, memcluster.Options{TokenAfter: 15 * time.Second}, memoryLink("west", "east"), func(r *memoryEnv) {
			for _, name := range []api.ClusterName{"west", "east"} {
				r.Cluster(name).Fault(func(f *memcluster.Faults) { f.Slow = 400 * time.Millisecond })
			}
			ctx, stop := context.WithCancelCause(r.t.Context())
			time.AfterFunc(after, func() { stop(errors.New("interrupt signal received")) })
			got, _ := r.loop().Once(ctx, 1)
			for _, c := range got.Clusters {
				for _, row := range c.Step.Rows {
					if row.Why != nil && (row.Why.Code == reason.Canceled || strings.Contains(row.Why.Message, "canceled")) {
						t.Errorf("interrupted after %s: %s is %s: %s", after, row.End, row.Phase, row.Why)
					}
				}
			}
		})
	}
}

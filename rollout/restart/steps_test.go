package restart

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/rollout"
)

// sees returns a worker whose watches show one workload.
func sees(w *worker, one rollout.Workload) *worker {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	meta := &metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name, ResourceVersion: "1"}
	_ = store.Add(keep(meta, one))
	w.conn.watches = &watches{workloads: []cache.Store{store}}
	return w
}

// A restart that watches do not show yet counts until they show its generation, and not for another workload of that name. The clock of a workload that
// does not proceed begins anew with each restart, and whenever more of it is done, also before this process.
func TestLive(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a := rollout.Workload{Ref: ref("a"), UID: "1", Generation: 4, State: rollout.Settled, Done: 4, Restarted: rollout.Restarted{For: "old"}}
	w := sees(newWorker(New(Options{}), "east"), a)
	w.live(start)
	s := w.steps[a.Ref]
	s.restarted, s.uid, s.generation, s.done = &rollout.Restarted{For: "new", At: start}, "1", 5, 0
	w.steps[a.Ref] = s
	for name, c := range map[string]struct {
		change func(*rollout.Workload)
		want   string
		state  rollout.State
	}{
		"not shown yet": {func(*rollout.Workload) {}, "new", rollout.Progressing},
		"shown": {func(a *rollout.Workload) {
			a.Generation, a.Restarted.For, a.State, a.Done = 5, "new", rollout.Progressing, 0
		}, "new", rollout.Progressing},
		"taken back at once":         {func(a *rollout.Workload) { a.Generation = 6 }, "old", rollout.Settled},
		"another one of that name":   {func(a *rollout.Workload) { a.UID, a.Generation, a.Restarted.For = "2", 1, "" }, "", rollout.Settled},
		"it was paused meanwhile":    {func(a *rollout.Workload) { a.Generation, a.State = 6, rollout.Paused }, "old", rollout.Paused},
		"its status is a former one": {func(a *rollout.Workload) { a.Done = 3 }, "new", rollout.Progressing},
	} {
		next := sees(newWorker(w.runner, "east"), a)
		next.steps[a.Ref] = s
		now := a
		c.change(&now)
		got := sees(next, now).live(start.Add(time.Second))[a.Ref]
		if got.Restarted.For != c.want || got.State != c.state {
			t.Errorf("%s: restarted for %q, %s, want %q, %s", name, got.Restarted.For, got.State, c.want, c.state)
		}
		if done := next.steps[a.Ref].done; c.want == "new" && done > 0 {
			t.Errorf("%s: %d are done of a restart that nobody has seen", name, done)
		}
	}
}

// A process that begins goes on with the clock of the one before, if the workload is not further since.
func TestSinceKept(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	now := start.Add(time.Hour)
	w := newWorker(New(Options{}), "east")
	w.said.Running = []rollout.Begun{{Ref: ref("a"), For: "old", Since: start.Add(-time.Hour), Done: 9}, {Ref: ref("a"), For: "new", Since: start, Done: 3}}
	for name, c := range map[string]struct {
		live rollout.Workload
		want time.Time
	}{
		"as far as before": {rollout.Workload{Ref: ref("a"), Restarted: rollout.Restarted{For: "new"}, Done: 3}, start},
		"further":          {rollout.Workload{Ref: ref("a"), Restarted: rollout.Restarted{For: "new"}, Done: 4}, now},
		"of no restart":    {rollout.Workload{Ref: ref("a"), Done: 3}, now},
		"another one":      {rollout.Workload{Ref: ref("b"), Restarted: rollout.Restarted{For: "new"}}, now},
	} {
		if got := w.sinceKept(c.live, now); !got.Equal(c.want) {
			t.Errorf("%s: since %s, want %s", name, got, c.want)
		}
	}
}

// The clock of a DaemonSet that loses nodes while it restarts begins anew: it can no longer be as far as it was.
func TestScaledDown(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	agent := rollout.Workload{Ref: ref("agent"), UID: "1", State: rollout.Progressing, Wanted: 100, Done: 160}
	w := sees(newWorker(New(Options{}), "east"), agent)
	w.live(start)
	agent.Wanted, agent.Done = 60, 100
	sees(w, agent).live(start.Add(time.Minute))
	agent.Done = 101
	for _, after := range []time.Duration{2 * time.Minute, 3 * time.Minute} {
		sees(w, agent).live(start.Add(after))
	}
	if got := w.since()[agent.Ref]; !got.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("it proceeded %s after it began, want 2m", got.Sub(start))
	}
}

package restart

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
)

func ref(name string) rollout.Ref {
	return rollout.Ref{Kind: "Deployment", Namespace: "shop", Name: name}
}

// Workloads whose pods others replaced are compared again half a minute after the first of them, together. Those that nobody knows wait for their own time.
func TestDue(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	outdated := func(name, restartedFor string) rollout.Finding {
		return rollout.Finding{Workload: rollout.Workload{Ref: ref(name), Restarted: rollout.Restarted{For: restartedFor}}, Outdated: 1, For: "now"}
	}
	v := view{found: []rollout.Finding{outdated("a", ""), outdated("b", "now"), outdated("c", ""), {Workload: rollout.Workload{Ref: ref("d")}, Unknown: errors.New("x")}, outdated("e", "")}}
	v.markStale(v.found[0].Workload, start)
	v.markStale(v.found[0].Workload, start.Add(time.Second))
	v.markStale(v.found[1].Workload, start) // its restart had no effect when it was compared
	restarting := v.found[4].Workload
	restarting.Restarted.For = "now"
	v.markStale(restarting, start)
	v.markStale(v.found[2].Workload, start.Add(20*time.Second))
	v.markStale(rollout.Workload{Ref: ref("other")}, start)
	v.expires = start.Add(time.Minute)
	for after, want := range map[time.Duration][]rollout.Ref{
		stalePause - time.Second: nil, stalePause: {ref("a"), ref("b"), ref("c")}, time.Minute: {ref("a"), ref("b"), ref("c"), ref("d")},
	} {
		if diff := cmp.Diff(want, v.due(start.Add(after))); diff != "" {
			t.Errorf("after %s: -want +got\n%s", after, diff)
		}
	}
}

// A workload whose restart was refused is left alone for five minutes, or for seconds if somebody changed it just then. Others go on.
func TestRefusals(t *testing.T) {
	w := newWorker(New(Options{Log: slog.New(slog.DiscardHandler), Explain: func(err error) object.Reason { return object.Reason{Code: reason.Forbidden, Message: err.Error()} }}), "east")
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	w.refuse(t.Context(), rollout.Restart{Workload: rollout.Workload{Ref: ref("a")}}, errors.New("a webhook says no"))
	w.refuse(t.Context(), rollout.Restart{Workload: rollout.Workload{Ref: ref("b")}}, apierrors.NewConflict(deployments, "b", errors.New("changed")))
	now := time.Now()
	all, again := w.refusals(now)
	want := map[rollout.Ref]string{ref("a"): "Forbidden: a webhook says no", ref("b"): "somebody changes it"}
	if diff := cmp.Diff(want, all); diff != "" || again.Sub(now) > minRetry {
		t.Errorf("at once: again in %s, -want +got\n%s", again.Sub(now), diff)
	}
	delete(want, ref("b"))
	if all, again = w.refusals(now.Add(minRetry)); !cmp.Equal(want, all) || again.Sub(now) < refusalPause-time.Second {
		t.Errorf("after %s: got %v, again in %s", minRetry, all, again.Sub(now))
	}
	if all, again = w.refusals(now.Add(refusalPause)); len(all) > 0 || !again.IsZero() {
		t.Errorf("after %s: got %v", refusalPause, all)
	}
}

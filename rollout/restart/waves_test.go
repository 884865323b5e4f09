package restart

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
)

func complete(inputs string) rollout.Progress {
	return rollout.Progress{Inputs: inputs, Counts: rollout.Counts{Total: 1, Current: 1}}
}

func target(name api.ClusterName, wave int) Target {
	return Target{Cluster: name, Rollout: "ProxyConfig all", Wave: wave, Policy: api.Rollout{}.WithDefaults(), Inputs: "new"}
}

// Clusters of a wave wait for those of the waves before, as their workers report them, or as another process keeps their progress.
func TestWaves(t *testing.T) {
	for name, c := range map[string]struct {
		before Target
		report *rollout.Progress // of its worker; nil: it reported nothing yet
		known  bool
		want   reason.Code
	}{
		"nothing is reported yet":    {before: target("east", 0), want: reason.WaitingForWave},
		"it is complete":             {before: target("east", 0), report: new(complete("new")), known: true},
		"it was not compared":        {before: target("east", 0), report: new(complete("new")), want: reason.WaitingForWave},
		"it is complete for others":  {before: target("east", 0), report: new(complete("old")), known: true, want: reason.WaitingForWave},
		"another process is done":    {before: elsewhere("east", complete("new"))},
		"another process is not":     {before: elsewhere("east", rollout.Progress{Inputs: "new", Counts: rollout.Counts{Total: 1}}), want: reason.WaitingForWave},
		"another process did others": {before: elsewhere("east", complete("old")), want: reason.WaitingForWave},
		"another process waits for the injector": {
			before: elsewhere("east", rollout.Progress{Inputs: "new", Why: object.Because(reason.WaitingForInjector, "x")}), want: reason.WaitingForWave,
		},
		"it cannot be read": {before: func() Target { t := elsewhere("east", complete("new")); t.Untouched = true; return t }(), want: reason.WaitingForWave},
		"another rollout":   {before: func() Target { t := target("east", 0); t.Rollout = "ProxyConfig other"; return t }()},
		"it ended":          {before: Target{Cluster: "east", Ended: true}},
	} {
		r := New(Options{})
		r.Set([]Target{c.before, target("west", 1)})
		west := r.begin("west")
		if c.report != nil {
			r.report(r.begin("east"), c.before, *c.report, c.known)
		}
		_, why, ok := r.target(west)
		if !ok || (why == nil) != (c.want == "") || why != nil && why.Code != c.want {
			t.Errorf("%s: %t %v, want %q", name, ok, why, c.want)
		}
	}
}

// elsewhere is a cluster that another process writes.
func elsewhere(name api.ClusterName, p rollout.Progress) Target {
	t := target(name, 0)
	t.ReadOnly, t.Progress = true, p
	return t
}

// A worker whose cluster is no target any more, or has another worker, ends, and what it reports is ignored.
func TestFormerWorker(t *testing.T) {
	r := New(Options{})
	r.Set([]Target{target("east", 0), target("west", 1)})
	former := r.begin("east")
	r.Set([]Target{target("west", 1)})
	if _, _, ok := r.target(former); ok || !r.ended("east") {
		t.Error("a worker of no target goes on")
	}
	r.Set([]Target{target("east", 0), target("west", 1)})
	r.begin("east")
	r.report(former, target("east", 0), complete("new"), true)
	if _, why, _ := r.target(r.begin("west")); why == nil {
		t.Error("what a former worker reported counts")
	}
}

// The random name of a dry run's pod is left out, so that the same error reads the same.
func TestWithoutGeneratedName(t *testing.T) {
	for message, want := range map[string]string{
		`pods "web-7xk2p" is forbidden: exceeded quota`: `pods "web" is forbidden: exceeded quota`,
		`pods "web-api" is forbidden`:                   `pods "web-api" is forbidden`,
	} {
		if got := withoutGeneratedName(message, "web"); got != want {
			t.Errorf("withoutGeneratedName(%q) = %q, want %q", message, got, want)
		}
	}
}

package rollout

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

var errDown = errors.New("the injector is down")

// found is a workload of namespace shop that a survey found outdated, and how it is now.
type found struct {
	name    string
	change  func(f *Finding, live *Workload)
	removed bool
}

func input(all ...found) Input {
	in := Input{Now: time.Unix(1000, 0), Policy: api.Rollout{}.WithDefaults(), Live: map[Ref]Workload{}, Since: map[Ref]time.Time{}}
	in.Policy.PerNamespace = new(5)
	for _, one := range all {
		namespace, name, ok := strings.Cut(one.name, "/")
		if !ok {
			namespace, name = "shop", one.name
		}
		w := Workload{Ref: Ref{"Deployment", namespace, name}, UID: "1", Template: "t", State: Settled, Labels: map[string]string{"app": name}, OptIn: Auto}
		f := Finding{Workload: w, Outdated: 1, For: "new", Difference: "x"}
		if one.change != nil {
			one.change(&f, &w)
		}
		in.Found = append(in.Found, f)
		if w.Restarted.For != "" && w.State != Settled { // as it was kept before the restart
			in.Last.Running = append(in.Last.Running, Begun{Ref: w.Ref, For: w.Restarted.For})
		}
		if !one.removed {
			in.Live[w.Ref] = w
		}
	}
	return in
}

func state(s State) func(*Finding, *Workload) { return func(_ *Finding, w *Workload) { w.State = s } }

// restarted has linkwright restarted a workload for a proxy at a time.
func restarted(what string, at int64, s State) func(*Finding, *Workload) {
	return func(_ *Finding, w *Workload) { w.Restarted, w.State = Restarted{what, time.Unix(at, 0)}, s }
}

// TestNext: one row is one cluster at one moment.
func TestNext(t *testing.T) {
	one, ref := new(1), func(name string) Ref { return Ref{"Deployment", "shop", name} }
	for name, c := range map[string]struct {
		in       Input
		change   func(*Input)
		restarts []string
		counts   Counts
		why      reason.Code
		survey   bool
		again    int64
	}{
		"nothing is found":                  {in: input()},
		"one is outdated":                   {in: input(found{name: "a"}), restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1}},
		"as many as the policy allows":      {in: input(found{name: "a"}, found{name: "b"}, found{name: "c"}), change: func(in *Input) { in.Policy.MaxUnavailableWorkloads = new(2) }, restarts: []string{"a", "b"}, counts: Counts{Total: 3, Restarting: 2, Outdated: 1}},
		"as many as a namespace allows":     {in: input(found{name: "a"}, found{name: "b"}, found{name: "bank/c"}), change: func(in *Input) { in.Policy.PerNamespace = one }, restarts: []string{"a", "c"}, counts: Counts{Total: 3, Restarting: 2, Outdated: 1}},
		"a Deployment has its own deadline": {in: input(found{name: "a", change: restarted("new", 1, Progressing)}), counts: Counts{Total: 1, Restarting: 1}},
		"one restarts":                      {in: input(found{name: "a", change: aSet(restarted("new", 900, Progressing))}, found{name: "b"}), change: func(in *Input) { in.Policy.MaxUnavailableWorkloads = one }, counts: Counts{Total: 2, Restarting: 1, Outdated: 1}, again: 1500},
		"only new pods are left of one that restarts": {
			in: input(found{name: "a", change: newPods(restarted("new", 900, Progressing))}), change: func(in *Input) { in.Last.Running = []Begun{{Ref: ref("a"), For: "new"}} },
			counts: Counts{Total: 1, Restarting: 1},
		},
		"only new pods are left of one that failed": {
			in: input(found{name: "a", change: newPods(restarted("new", 900, Failed))}), change: func(in *Input) { in.Last.Running = []Begun{{Ref: ref("a"), For: "new"}} },
			counts: Counts{Total: 1, Failing: 1}, why: reason.RestartFailed,
		},
		"one that was ready since is scaled":   {in: input(found{name: "a", change: newPods(restarted("new", 900, Progressing))}), change: func(in *Input) { in.Last.Running = nil }, counts: Counts{Total: 1, Current: 1}},
		"one that was ready since loses a pod": {in: input(found{name: "a", change: aSet(restarted("new", 100, Progressing))}), change: func(in *Input) { in.Last.Running = nil }, counts: Counts{Total: 1, Current: 1}, survey: true},
		"one that failed has a pod more": {
			in: input(found{name: "a", change: restarted("new", 900, Progressing)}), change: func(in *Input) { in.Last.Failed = []Ref{ref("a")} },
			counts: Counts{Total: 1, Failing: 1}, why: reason.RestartFailed,
		},
		"one that nobody could compare restarts": {
			in: input(found{name: "a", change: func(f *Finding, w *Workload) { restarted("new", 900, Progressing)(f, w); f.Unknown = errDown }}), counts: Counts{Total: 1, Restarting: 1},
		},
		"the controller of an Argo Rollout does not act": {
			in:     input(found{name: "a", change: argo("t", func(f *Finding, w *Workload) { restarted("new", 100, Progressing)(f, w); w.Done = 0 })}),
			counts: Counts{Total: 1, Failing: 1}, why: reason.RestartFailed,
		},
		"a new configuration while a restart waits to be promoted": {
			in: input(found{name: "a", change: argo("t", restarted("old", 900, Paused))}), restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1},
		},
		"an Argo Rollout has its own deadline":  {in: input(found{name: "a", change: argo("t", restarted("new", 1, Progressing))}), counts: Counts{Total: 1, Restarting: 1}},
		"an Argo Rollout is promoted":           {in: input(found{name: "a", change: argo("t2", state(Settled))}), counts: Counts{Total: 1, Current: 1}, survey: true},
		"an Argo Rollout is being rolled out":   {in: input(found{name: "a", change: argo("t2", state(Progressing))}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"an Argo Rollout waits to be promoted":  {in: input(found{name: "a", change: argo("t2", state(Paused))}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"an Argo Rollout was aborted":           {in: input(found{name: "a", change: argo("t2", restarted("new", 900, Failed))}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"a restart of one is aborted":           {in: input(found{name: "a", change: argo("t", restarted("new", 900, Failed))}), counts: Counts{Total: 1, Failing: 1}, why: reason.RestartFailed},
		"a restart of one waits to be promoted": {in: input(found{name: "a", change: argo("t", restarted("new", 900, Paused))}), counts: Counts{Total: 1, Restarting: 1}, why: reason.WaitingForWorkloads},
		"one was restarted":                     {in: input(found{name: "a", change: restarted("new", 900, Settled)}), counts: Counts{Total: 1, Current: 1}, survey: true},
		"one was restarted, one restarts":       {in: input(found{name: "a", change: restarted("new", 900, Settled)}, found{name: "b"}), restarts: []string{"b"}, counts: Counts{Total: 2, Current: 1, Restarting: 1}},
		"a restart did not help": {in: input(found{name: "a", change: func(f *Finding, w *Workload) {
			w.Restarted = Restarted{For: "new", At: time.Unix(900, 0)}
			f.Restarted, f.State = w.Restarted, Settled
		}}), counts: Counts{Total: 1, Failing: 1}, why: reason.RestartWithoutEffect},
		"it was surveyed while it restarted": {in: input(found{name: "a", change: func(f *Finding, w *Workload) {
			w.Restarted = Restarted{For: "new", At: time.Unix(900, 0)}
			f.Restarted, f.State = w.Restarted, Progressing
		}}), counts: Counts{Total: 1, Current: 1}, survey: true},
		"another proxy than the last restart's": {in: input(found{name: "a", change: restarted("old", 1, Settled)}), restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1}},
		"its deadline is over":                  {in: input(found{name: "a", change: aSet(restarted("new", 400, Progressing))}, found{name: "b"}), counts: Counts{Total: 2, Failing: 1, Outdated: 1}, why: reason.RestartFailed},
		"its status changed since": {
			in: input(found{name: "a", change: aSet(restarted("new", 400, Progressing))}), change: func(in *Input) { in.Since[Ref{"StatefulSet", "shop", "a"}] = time.Unix(700, 0) },
			counts: Counts{Total: 1, Restarting: 1}, again: 1300,
		},
		"its controller gave up": {in: input(found{name: "a", change: restarted("new", 900, Failed)}, found{name: "b"}), counts: Counts{Total: 2, Failing: 1, Outdated: 1}, why: reason.RestartFailed},
		"a failure halts nothing": {
			in: input(found{name: "a", change: restarted("new", 900, Failed)}, found{name: "b"}), change: func(in *Input) { in.Policy.PauseOnFailure = new(false) },
			restarts: []string{"b"}, counts: Counts{Total: 2, Failing: 1, Restarting: 1}, why: reason.RestartFailed,
		},
		"it is not ready":               {in: input(found{name: "a", change: state(Progressing)}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"it failed before":              {in: input(found{name: "a", change: state(Failed)}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"it is paused":                  {in: input(found{name: "a", change: state(Paused)}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"a template replaces no pods":   {in: input(found{name: "a", change: state(Fixed)}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"others gave it a new template": {in: input(found{name: "a", change: func(_ *Finding, w *Workload) { w.Template, w.State = "u", Progressing }}), counts: Counts{Total: 1, Current: 1}},
		"it was created again":          {in: input(found{name: "a", change: func(_ *Finding, w *Workload) { w.UID = "2" }})},
		"it is gone":                    {in: input(found{name: "a", removed: true})},
		"it is current":                 {in: input(found{name: "a", change: func(f *Finding, _ *Workload) { f.Outdated = 0 }}), counts: Counts{Total: 1, Current: 1}},
		"nobody knows":                  {in: input(found{name: "a", change: func(f *Finding, _ *Workload) { f.Outdated, f.Unknown = 0, errDown }}), counts: Counts{Total: 1, Unknown: 1}, why: reason.WorkloadsNotRead},
		"a budget allows no disruption": {in: input(found{name: "a"}, found{name: "b"}), change: budget("shop", "app=a", false), restarts: []string{"b"}, counts: Counts{Total: 2, Outdated: 1, Restarting: 1}},
		"a budget allows one":           {in: input(found{name: "a"}), change: budget("shop", "app=a", true), restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1}},
		"a budget of another namespace": {in: input(found{name: "a"}), change: budget("bank", "app=a", false), restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1}},
		"halted from elsewhere":         {in: input(found{name: "a"}), change: func(in *Input) { in.HaltedBy = object.Because(reason.WaitingForWave, "x") }, counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWave},
		"halted, and nothing is left":   {in: input(found{name: "a", change: func(f *Finding, _ *Workload) { f.Outdated = 0 }}), change: func(in *Input) { in.HaltedBy = object.Because(reason.WaitingForWave, "x") }, counts: Counts{Total: 1, Current: 1}},
		"a restart for a proxy of before": {
			in: input(found{name: "a", change: restarted("old", 900, Progressing)}), change: func(in *Input) { in.Last.Running = []Begun{{Ref: ref("a"), For: "old"}} },
			restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1},
		},
		"a restart that was taken back": {
			in: input(found{name: "a", change: restarted("older", 900, Progressing)}), change: func(in *Input) { in.Last.Running = []Begun{{Ref: ref("a"), For: "old"}} },
			counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads,
		},
		"a restart for this configuration, before it counted last": {
			in: input(found{name: "a", change: restarted("new", 100, Settled)}), change: func(in *Input) { in.Last.Began = time.Unix(500, 0) },
			restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1},
		},
		"the same, and it is not ready": {
			in: input(found{name: "a", change: restarted("new", 100, Progressing)}), change: func(in *Input) {
				in.Last.Began, in.Last.Running = time.Unix(500, 0), []Begun{{Ref: ref("a"), For: "new"}}
			},
			restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1},
		},
		"its owner deploys, and its pods were current": {in: input(found{name: "a", change: newPods(argo("t2", state(Paused)))}), counts: Counts{Total: 1, Current: 1}},
		"its owner deploys with a partition, and its pods were current": {
			in: input(found{name: "a", change: newPods(func(_ *Finding, w *Workload) { w.Template, w.State = "t2", Fixed })}), counts: Counts{Total: 1, Current: 1},
		},
		"its owner deploys what does not start": {
			in: input(found{name: "a", change: func(_ *Finding, w *Workload) { w.Template, w.State = "t2", Failed }}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads,
		},
		"a failure takes no place from others": {
			in: input(found{name: "a", change: restarted("new", 900, Failed)}, found{name: "b"}), change: func(in *Input) {
				in.Policy.PauseOnFailure, in.Policy.MaxUnavailableWorkloads, in.Policy.PerNamespace = new(false), one, one
			},
			restarts: []string{"b"}, counts: Counts{Total: 2, Failing: 1, Restarting: 1}, why: reason.RestartFailed,
		},
		"a restart that did not help, and then it is not ready": {
			in: input(found{name: "a", change: restarted("new", 900, Progressing)}), change: func(in *Input) { in.Last.Unchanged, in.Last.Running = []Ref{ref("a")}, nil },
			counts: Counts{Total: 1, Failing: 1}, why: reason.RestartWithoutEffect,
		},
		"a refused restart": {
			in: input(found{name: "a"}, found{name: "b"}), change: func(in *Input) {
				in.Policy.MaxUnavailableWorkloads, in.Refused = one, map[Ref]string{ref("a"): "denied"}
			},
			restarts: []string{"b"}, counts: Counts{Total: 2, Outdated: 1, Restarting: 1},
		},
		"nothing but a refused restart": {
			in: input(found{name: "a"}), change: func(in *Input) { in.Refused = map[Ref]string{ref("a"): "denied"} },
			counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads,
		},
		"its owner paused it while it restarted": {in: input(found{name: "a", change: restarted("new", 900, Paused)}), counts: Counts{Total: 1, Outdated: 1}, why: reason.WaitingForWorkloads},
		"one disruption for two workloads": {
			in: input(found{name: "a"}, found{name: "b"}), change: budget("shop", "app", true), restarts: []string{"a"}, counts: Counts{Total: 2, Restarting: 1, Outdated: 1},
		},
		"a failed restart for a proxy of before": {
			in: input(found{name: "a", change: restarted("old", 900, Failed)}), change: func(in *Input) { in.Last.Running = []Begun{{Ref: ref("a"), For: "old"}} },
			restarts: []string{"a"}, counts: Counts{Total: 1, Restarting: 1},
		},
	} {
		if c.change != nil {
			c.change(&c.in)
		}
		d := Next(c.in)
		var restarts []string
		for _, r := range d.Restarts {
			restarts = append(restarts, r.Name)
		}
		if diff := cmp.Diff(c.restarts, restarts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: restarts: -want +got\n%s", name, diff)
		}
		if diff := cmp.Diff(c.counts, d.Progress.Counts); diff != "" {
			t.Errorf("%s: counts: -want +got\n%s", name, diff)
		}
		if why := codeOf(d.Progress.Why); why != c.why || d.Survey != c.survey {
			t.Errorf("%s: waits for %q, survey %t, want %q, %t", name, why, d.Survey, c.why, c.survey)
		}
		if again := d.Again; again.IsZero() != (c.again == 0) || c.again != 0 && again.Unix() != c.again {
			t.Errorf("%s: again at %v, want %d", name, again, c.again)
		}
		if p := d.Progress; p.Complete() && p.Current < p.Total {
			t.Errorf("%s: complete: %s", name, p.Encode())
		}
	}
}

func codeOf(why *object.Reason) reason.Code {
	if why == nil {
		return ""
	}
	return why.Code
}

// argo is about an Argo Rollout with a template now.
func argo(template string, change func(*Finding, *Workload)) func(*Finding, *Workload) {
	return func(f *Finding, w *Workload) {
		f.Kind, w.Kind, w.Template, w.Done = ArgoRollout, ArgoRollout, template, 2
		change(f, w)
	}
}

// newPods has a survey find only pods with the current proxy.
func newPods(change func(*Finding, *Workload)) func(*Finding, *Workload) {
	return func(f *Finding, w *Workload) {
		f.Outdated = 0
		change(f, w)
	}
}

// aSet is change for a StatefulSet.
func aSet(change func(*Finding, *Workload)) func(*Finding, *Workload) {
	return func(f *Finding, w *Workload) {
		f.Kind, w.Kind = "StatefulSet", "StatefulSet"
		change(f, w)
	}
}

func budget(namespace, selector string, allows bool) func(*Input) {
	return func(in *Input) {
		s, err := labels.Parse(selector)
		if err != nil {
			panic(err)
		}
		in.Budgets = []Budget{{Namespace: namespace, Name: "b", Selector: s, Allowed: map[bool]int{true: 1}[allows]}}
	}
}

// What is about to restart is written down with its configuration, beside the former one: the restart may be refused.
func TestNextWritesRestartsDown(t *testing.T) {
	in := input(found{name: "a", change: restarted("old", 900, Progressing)})
	in.Last.Running = []Begun{{Ref: in.Found[0].Ref, For: "old"}}
	if diff := cmp.Diff([]Begun{{Ref: in.Found[0].Ref, For: "old", Since: time.Unix(900, 0).UTC()}, {Ref: in.Found[0].Ref, For: "new"}}, Next(in).Progress.Running); diff != "" {
		t.Errorf("Running: -want +got\n%s", diff)
	}
}

// A restart that was refused may have happened, if only its answer was lost: it is kept in mind.
func TestNextKeepsRefusedRestarts(t *testing.T) {
	in := input(found{name: "a"})
	r := in.Found[0].Ref
	in.Last.Running, in.Refused = []Begun{{Ref: r, For: "new"}}, map[Ref]string{r: "the connection broke"}
	if diff := cmp.Diff(in.Last.Running, Next(in).Progress.Running); diff != "" {
		t.Errorf("Running: -want +got\n%s", diff)
	}
	in.Refused = nil
	in.HaltedBy = object.Because(reason.RolloutHalted, "x")
	if p := Next(in).Progress; len(p.Running) > 0 {
		t.Errorf("not refused any more: got %s", p.Encode())
	}
}

// A restart that is not finished is kept in mind until the workload is ready, also if it cannot restart now.
func TestNextKeepsUnfinishedRestarts(t *testing.T) {
	in := input(found{name: "a", change: restarted("old", 900, Progressing)})
	in.Last.Running, in.HaltedBy = []Begun{{Ref: in.Found[0].Ref, For: "old"}}, object.Because(reason.RolloutHalted, "x")
	if p := Next(in).Progress; len(p.Running) != 1 {
		t.Errorf("halted: got %s", p.Encode())
	}
	in.Live[in.Found[0].Ref] = func(w Workload) Workload { w.State = Settled; return w }(in.Live[in.Found[0].Ref])
	if p := Next(in).Progress; len(p.Running) != 0 {
		t.Errorf("ready: got %s", p.Encode())
	}
}

// TestHaltedBy: what other clusters of a rollout are waited for.
func TestHaltedBy(t *testing.T) {
	done, left := Progress{Counts: Counts{Total: 1, Current: 1}}, Progress{Counts: Counts{Total: 1, Outdated: 1}}
	failed := Progress{Counts: Counts{Total: 1, Failing: 1}, Failed: []Ref{{"Deployment", "shop", "web"}}, Why: object.Because(reason.RestartFailed, "web")}
	for name, c := range map[string]struct {
		east Wave
		want reason.Code
	}{
		"the wave before is done":               {east: Wave{Known: true, Progress: done}},
		"the wave before is not done":           {east: Wave{Known: true, Progress: left}, want: reason.WaitingForWave},
		"nobody knows the wave before":          {east: Wave{Progress: done}, want: reason.WaitingForWave},
		"one of the same wave is not done":      {east: Wave{Number: 1, Known: true, Progress: left}},
		"a later wave is not done":              {east: Wave{Number: 2, Known: true, Progress: left}},
		"one of the same wave failed":           {east: Wave{Number: 1, Known: true, Progress: failed, Halts: true}, want: reason.RolloutHalted},
		"one of the same wave failed, no pause": {east: Wave{Number: 1, Known: true, Progress: failed}},
	} {
		why := HaltedBy(map[api.ClusterName]Wave{"east": c.east, "west": {Number: 1}}, "west")
		if got := why; (got == nil) != (c.want == "") || got != nil && got.Code != c.want {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// What is kept in a cluster is read again as it was, and something else is not.
func TestProgressIsKept(t *testing.T) {
	p := Progress{Inputs: "a", Counts: Counts{Total: 2, Current: 1, Failing: 1}, Failed: []Ref{{"Deployment", "shop", "web"}}, Running: []Begun{{Ref: Ref{"Deployment", "shop", "web"}, For: "a"}}, Began: time.Unix(1, 0).UTC(), Why: object.Because(reason.RestartFailed, "x"), At: time.Unix(1, 0).UTC()}
	got, ok := Decode(p.Encode())
	if diff := cmp.Diff(p, got); diff != "" || !ok {
		t.Errorf("Decode(Encode()): %t, -want +got\n%s", ok, diff)
	}
	for _, text := range []string{"", "{", "[]"} {
		if _, ok := Decode([]byte(text)); ok {
			t.Errorf("Decode(%q) succeeds", text)
		}
	}
}

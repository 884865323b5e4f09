package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// progressDeadline is how long the status of a restarted workload may stay the same before its restart counts as failed: Kubernetes' own default for
// Deployments (progressDeadlineSeconds). A Deployment's controller judges by the declared one.
const progressDeadline = 10 * time.Minute

// Finding is what a survey found out about a workload with meshed pods.
type Finding struct {
	Workload          // as it was then
	Outdated   int    // pods that run another proxy than Next
	Next       string // fingerprint of the proxy of a new pod
	Difference string // the first thing that a restart changes
	Unknown    error  // why that is not known; nil: it is
}

// Input is what the next restarts of a cluster are decided from.
type Input struct {
	Now      time.Time
	Policy   api.Rollout // with its defaults
	Found    []Finding   // workloads that opt in, by the last survey, sorted by Ref
	Live     map[Ref]Workload
	Budgets  []Budget
	Since    map[Ref]time.Time // since when the status of a workload is the same; zero: nobody knows
	Last     Progress          // as it was kept last
	HaltedBy *object.Reason    // why nothing may restart, for what happens elsewhere; nil: it may
}

// Restart is a workload to restart now, as it was read, and the fingerprint of the proxy that it is to get.
type Restart struct {
	Workload
	For string
	Why string
}

// Decision is what to do next in a cluster.
type Decision struct {
	Restarts []Restart
	Survey   bool // what was found is not true any more, and nothing else is to be done: read again
	Progress Progress
	Again    time.Time // when the clock may change the decision; zero: it does not
}

// place is where a workload is on its way to the current proxy.
//
//	isCurrent   its pods run the current proxy, or others gave it a new template since
//	isChanged   the same, and linkwright restarted it since the survey: the next survey shows whether that helped
//	isOutdated  it may restart
//	isWaiting   it must not restart now
//	isRunning   it restarts
//	isFailed    it restarted, and is not ready in time
//	isSame      it restarted, and its pods still run another proxy
//	isUnknown   nobody knows which proxy it would get
type place int

const (
	isCurrent place = iota
	isChanged
	isOutdated
	isWaiting
	isRunning
	isFailed
	isSame
	isUnknown
)

// Next decides what to restart now in one cluster. It restarts no workload that is not settled, that a budget protects, or that was restarted for
// the same proxy before.
func Next(in Input) Decision {
	d := decision{Input: in, perNamespace: map[string]int{}}
	d.count()
	d.choose()
	d.carry()
	d.explain()
	return d.out
}

// decision is a decision that is being made.
type decision struct {
	Input
	out          Decision
	candidates   []Finding
	running      int
	perNamespace map[string]int // of those running
	changed      int
	waiting      string // why the first one that waits does
	unknown      string
}

// count puts each workload into its place.
func (d *decision) count() {
	p := &d.out.Progress
	for _, f := range d.Found {
		at, why := d.place(f)
		p.Total++
		switch at {
		case isCurrent:
			p.Current++
		case isChanged:
			p.Current++
			d.changed++
		case isOutdated:
			p.Outdated++
			d.candidates = append(d.candidates, f)
		case isWaiting:
			p.Outdated++
			d.waiting = cmp.Or(d.waiting, why)
		case isRunning:
			p.Restarting++
			p.Running = append(p.Running, f.Ref)
			d.take(f.Namespace)
		case isFailed:
			p.Failing++
			p.Failed = append(p.Failed, f.Ref)
			d.take(f.Namespace)
		case isSame:
			p.Failing++
			p.Unchanged = append(p.Unchanged, f.Ref)
		case isUnknown:
			p.Unknown++
			d.unknown = cmp.Or(d.unknown, why)
		}
	}
}

// take uses up one of the places of workloads that restart at the same time.
func (d *decision) take(namespace string) {
	d.running++
	d.perNamespace[namespace]++
}

// place returns where a workload is, and why it waits.
func (d *decision) place(f Finding) (place, string) {
	w, ok := d.Live[f.Ref]
	ours := w.Restarted.For == f.Next
	switch {
	case !ok || w.UID != f.UID || w.Template != f.Template: // new pods, which got what is current
		return isCurrent, ""
	case f.Unknown != nil:
		return isUnknown, fmt.Sprintf("%s: %v", f.Ref, f.Unknown)
	case f.Outdated == 0:
		return isCurrent, ""
	case ours && w.State == Settled && f.Restarted.For == f.Next && f.State == Settled:
		return isSame, ""
	case ours && w.State == Settled:
		return isChanged, ""
	case ours:
		return d.restarting(w), ""
	case d.unfinished(w):
		return isOutdated, ""
	}
	return d.mayRestart(w)
}

// unfinished reports whether linkwright restarted a workload for another proxy than the current one, and it was never ready since.
func (d *decision) unfinished(w Workload) bool {
	began := slices.Contains(d.Last.Running, w.Ref) || slices.Contains(d.Last.Failed, w.Ref)
	return began && (w.State == Progressing || w.State == Failed)
}

// restarting returns whether the restart of a workload goes on, or failed.
func (d *decision) restarting(w Workload) place {
	since := w.Restarted.At
	if at := d.Since[w.Ref]; at.After(since) {
		since = at
	}
	end := since.Add(progressDeadline)
	if w.State == Failed || !d.Now.Before(end) {
		return isFailed
	}
	if d.out.Again.IsZero() || end.Before(d.out.Again) {
		d.out.Again = end
	}
	return isRunning
}

// mayRestart returns whether an outdated workload may restart now, and why not.
func (d *decision) mayRestart(w Workload) (place, string) {
	switch w.State {
	case Settled:
		if budget := denies(d.Budgets, w); budget != "" {
			return isWaiting, fmt.Sprintf("PodDisruptionBudget %s allows no disruption of %s now", budget, w.Ref)
		}
		return isOutdated, ""
	case Paused:
		return isWaiting, fmt.Sprintf("%s is paused", w.Ref)
	case Fixed:
		return isWaiting, fmt.Sprintf("a new template does not replace the pods of %s: its updateStrategy is OnDelete or has a partition. Delete its pods yourself", w.Ref)
	}
	return isWaiting, fmt.Sprintf("%s is not ready, or its pods are being replaced", w.Ref)
}

// choose restarts as many candidates as the policy allows.
func (d *decision) choose() {
	failed := len(d.out.Progress.Failed) > 0
	if d.HaltedBy != nil || failed && *d.Policy.PauseOnFailure {
		return
	}
	for _, f := range d.candidates {
		if d.running >= *d.Policy.MaxUnavailableWorkloads || d.perNamespace[f.Namespace] >= *d.Policy.PerNamespace {
			continue
		}
		d.take(f.Namespace)
		d.out.Progress.Running = append(d.out.Progress.Running, f.Ref)
		d.out.Restarts = append(d.out.Restarts, Restart{Workload: d.Live[f.Ref], For: f.Next, Why: f.Difference})
	}
	p := &d.out.Progress
	p.Outdated -= len(d.out.Restarts)
	p.Restarting += len(d.out.Restarts)
}

// carry keeps workloads in mind whose restart for another proxy is not finished.
func (d *decision) carry() {
	p := &d.out.Progress
	for _, f := range d.Found {
		if d.unfinished(d.Live[f.Ref]) && !slices.Contains(p.Running, f.Ref) && !slices.Contains(p.Failed, f.Ref) {
			p.Running = append(p.Running, f.Ref)
		}
	}
}

// explain says why nothing goes on, if that is so, and whether the workloads are to be read again.
func (d *decision) explain() {
	p := &d.out.Progress
	d.out.Survey = d.changed > 0 && p.Restarting == 0
	switch {
	case len(p.Failed) > 0:
		p.Why = object.Because(reason.RestartFailed, "%s restarted, and is not ready in time: repair it, or undo its restart with linkwright rollout undo", names(p.Failed))
	case p.Outdated > 0 && d.HaltedBy != nil:
		p.Why = d.HaltedBy
	case p.Restarting > 0:
	case p.Outdated > 0 && d.waiting != "":
		p.Why = object.Because(reason.WaitingForWorkloads, "%s", d.waiting)
	case len(p.Unchanged) > 0:
		p.Why = object.Because(reason.RestartWithoutEffect, "%s restarted, and still runs another proxy than a new pod would get", names(p.Unchanged))
	case p.Unknown > 0:
		p.Why = object.Because(reason.WorkloadsNotRead, "%s", d.unknown)
	}
}

func names(refs []Ref) string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.String()
	}
	return object.FirstNames(out, 2)
}

// Wave is how the rollout of one cluster looks to the others of its rollout.
type Wave struct {
	Cluster  api.ClusterName
	Number   int
	Known    bool // its workloads were compared with the configuration that counts now
	Progress Progress
	Halts    bool // a failure in it halts the others
}

// HaltedBy returns why a cluster of a wave must not restart anything because of other clusters of the rollout; nil: it may.
func HaltedBy(all map[api.ClusterName]Wave, name api.ClusterName) *object.Reason {
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if w := all[other]; other != name && w.Halts && len(w.Progress.Failed) > 0 {
			return object.Because(reason.RolloutHalted, "cluster %s: %s", other, w.Progress.Why.Message)
		}
	}
	var before []string
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if w := all[other]; w.Number < all[name].Number && (!w.Known || !w.Progress.Complete()) {
			before = append(before, string(other))
		}
	}
	if len(before) == 0 {
		return nil
	}
	return object.Because(reason.WaitingForWave, "the rollout is not complete in cluster %s, which is in a wave before", object.FirstNames(before, 3))
}

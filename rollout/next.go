package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// progressDeadline is how long the status of a restarted StatefulSet or DaemonSet may stay the same before its restart counts as failed: Kubernetes' own
// default for Deployments. The controllers of Deployments and Argo Rollouts judge by progressDeadlineSeconds.
const progressDeadline = 10 * time.Minute

// Finding is what was found out about a workload with meshed pods.
type Finding struct {
	Workload          // as it was then
	Outdated   int    // pods that run another proxy than they would get
	For        string // the configuration that they would get it from, as Restarted has it
	Difference string // the first thing that a restart changes
	Unknown    error  // why that is not known; nil: it is
}

// Input is what the next restarts of a cluster are decided from.
type Input struct {
	Now      time.Time
	Policy   api.Rollout // with its defaults
	Found    []Finding   // workloads that opt in, sorted by Ref
	Live     map[Ref]Workload
	Budgets  []Budget
	Since    map[Ref]time.Time // since when a workload does not proceed; zero: nobody knows
	Refused  map[Ref]string    // why a restart of a workload was refused just now
	Last     Progress          // as it was kept last
	HaltedBy *object.Reason    // why nothing may restart, for what happens elsewhere; nil: it may
}

// Restart is a workload to restart now, as it was read, and what for.
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
//	isGone      it is not there any more
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
	isGone place = iota
	isCurrent
	isChanged
	isOutdated
	isWaiting
	isRunning
	isFailed
	isSame
	isUnknown
)

// Next decides what to restart now in one cluster. It restarts no workload that is not settled, that a budget protects, or that was restarted for
// the current configuration before.
func Next(in Input) Decision {
	d := decision{Input: in, perNamespace: map[string]int{}, left: allowances(in.Budgets)}
	d.count()
	d.choose()
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
	left         []int          // disruptions that each budget allows
	changed      int
	waiting      string // why the first one that waits does
	promotion    string // which restart waits for people
	unknown      string
}

// count puts each workload into its place.
func (d *decision) count() {
	p := &d.out.Progress
	for _, f := range d.Found {
		at, why := d.place(f)
		if at != isGone {
			p.Total++
		}
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
			d.promotion = cmp.Or(d.promotion, why)
			d.take(f.Workload)
		case isFailed:
			p.Failing++
			p.Failed = append(p.Failed, f.Ref)
			if *d.Policy.PauseOnFailure { // else it takes no place from others
				d.take(f.Workload)
			}
		case isSame:
			p.Failing++
			p.Unchanged = append(p.Unchanged, f.Ref)
		case isUnknown:
			p.Unknown++
			d.unknown = cmp.Or(d.unknown, why)
		}
		d.keep(f, at)
	}
}

// keep keeps a workload in mind that was restarted, for whatever configuration, and was not ready since.
func (d *decision) keep(f Finding, at place) {
	if w := d.Live[f.Ref]; at == isRunning || at == isFailed || at != isGone && w.State != Settled && d.wasRunning(w) {
		d.out.Progress.Running = append(d.out.Progress.Running, Begun{Ref: f.Ref, For: w.Restarted.For, Since: d.since(w), Done: w.Done})
	}
	for _, b := range d.Last.Running { // a restart whose answer was lost may have happened
		if d.Refused[f.Ref] != "" && b.Ref == f.Ref && b.For == f.For && b.For != d.Live[f.Ref].Restarted.For {
			d.out.Progress.Running = append(d.out.Progress.Running, b)
		}
	}
}

// since returns since when a restarted workload does not proceed, in whole seconds.
func (d *decision) since(w Workload) time.Time {
	since := w.Restarted.At
	if at := d.Since[w.Ref]; at.After(since) {
		since = at
	}
	return since.UTC().Truncate(time.Second)
}

// take uses up one of the places of workloads that restart at the same time.
func (d *decision) take(w Workload) {
	d.running++
	d.perNamespace[w.Namespace]++
}

// place returns where a workload is, and why it waits.
func (d *decision) place(f Finding) (place, string) {
	w, ok := d.Live[f.Ref]
	argo := w.Kind == ArgoRollout
	ours, replaces := d.isOurs(w, f), w.State != Fixed && (w.State != Paused || argo && d.wasRunning(w))
	switch {
	case !ok || w.UID != f.UID:
		return isGone, ""
	case w.Template != f.Template && f.Unknown == nil && f.Outdated == 0:
		return isCurrent, ""
	case w.Template != f.Template && (argo && w.State != Settled || w.State == Failed): // the pods that it has may stay
		return d.mayRestart(w)
	case w.Template != f.Template && argo: // or it did
		return isChanged, ""
	case w.Template != f.Template && replaces: // new pods, which got what is current
		return isCurrent, ""
	case ours && replaces && w.State != Settled && d.wasRunning(w): // also if only new pods are left
		return d.restarting(w)
	case f.Unknown != nil:
		return isUnknown, fmt.Sprintf("%s: %v", f.Ref, f.Unknown)
	case f.Outdated == 0:
		return isCurrent, ""
	case ours && (w.State == Settled && d.isOurs(f.Workload, f) && f.State == Settled || slices.Contains(d.Last.Unchanged, f.Ref)):
		return isSame, ""
	case ours && (w.State == Settled || !d.wasRunning(w) && !d.isOurs(f.Workload, f)): // it was ready since; what happens to it now is no part of that
		return isChanged, ""
	case ours && replaces:
		return d.restarting(w)
	case d.Refused[f.Ref] != "":
		return isWaiting, fmt.Sprintf("%s cannot restart now: %s", f.Ref, d.Refused[f.Ref])
	case d.unfinished(w, f):
		return isOutdated, ""
	}
	return d.mayRestart(w)
}

// isOurs reports whether linkwright restarted a workload for the configuration that counts now, since that came.
func (d *decision) isOurs(w Workload, f Finding) bool {
	return w.Restarted.For != "" && w.Restarted.For == f.For && !w.Restarted.At.Before(d.Last.Began)
}

// unfinished reports whether linkwright restarted a workload for another configuration, and it was never ready since: nothing else may make it ready.
func (d *decision) unfinished(w Workload, f Finding) bool {
	paused := w.State == Paused && w.Kind == ArgoRollout                      // it waits for the promotion of the restart
	former := w.Restarted.For != f.For || w.Restarted.At.Before(d.Last.Began) // the configuration may have been another one meanwhile
	return (w.State == Progressing || w.State == Failed || paused) && former && d.wasRunning(w)
}

// wasRunning reports whether the last restart of a workload was not finished before.
func (d *decision) wasRunning(w Workload) bool {
	return slices.ContainsFunc(d.Last.Running, func(b Begun) bool { return b.Ref == w.Ref && b.For == w.Restarted.For })
}

// restarting returns whether the restart of a workload goes on, and what for it waits, or that it failed. One that failed stays so until it is ready: its
// controller may say that it proceeds whenever a pod comes or goes.
func (d *decision) restarting(w Workload) (place, string) {
	observed := w.Done > 0
	switch {
	case w.State == Failed || d.wasRunning(w) && slices.Contains(d.Last.Failed, w.Ref):
		return isFailed, ""
	case w.State == Paused:
		return isRunning, fmt.Sprintf("%s is paused, or waits for its promotion", w.Ref)
	case w.Kind == "Deployment" || w.Kind == ArgoRollout && observed: // its controller judges
		return isRunning, ""
	}
	end := d.since(w).Add(progressDeadline)
	if !d.Now.Before(end) {
		return isFailed, ""
	}
	if d.out.Again.IsZero() || end.Before(d.out.Again) {
		d.out.Again = end
	}
	return isRunning, ""
}

// mayRestart returns whether an outdated workload may restart now, and why not.
func (d *decision) mayRestart(w Workload) (place, string) {
	switch w.State {
	case Settled:
		if budget := d.denies(w); budget != "" {
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

// choose restarts as many candidates as the policy and the budgets allow.
func (d *decision) choose() {
	p := &d.out.Progress
	if d.HaltedBy != nil || len(p.Failed) > 0 && *d.Policy.PauseOnFailure {
		return
	}
	for _, f := range d.candidates {
		w := d.Live[f.Ref]
		full := d.running >= *d.Policy.MaxUnavailableWorkloads || d.perNamespace[f.Namespace] >= *d.Policy.PerNamespace
		if full || w.State == Settled && !d.disrupt(w) {
			continue
		}
		d.take(w)
		p.Outdated--
		p.Restarting++
		p.Running = append(p.Running, Begun{Ref: f.Ref, For: f.For}) // beside one for a former configuration: this one may be refused
		d.out.Restarts = append(d.out.Restarts, Restart{Workload: w, For: f.For, Why: f.Difference})
	}
}

// explain says why nothing goes on, if that is so, and whether the workloads are to be read again.
func (d *decision) explain() {
	p := &d.out.Progress
	d.out.Survey = d.changed > 0 && p.Restarting == 0
	switch {
	case len(p.Failed) > 0:
		p.Why = object.Because(reason.RestartFailed, "%s: repair it, or undo its restart with linkwright rollout undo", p.failed())
	case p.Outdated > 0 && d.HaltedBy != nil:
		p.Why = d.HaltedBy
	case d.promotion != "":
		p.Why = object.Because(reason.WaitingForWorkloads, "%s", d.promotion)
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

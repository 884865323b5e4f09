// Package restart restarts workloads that run outdated proxies, in the clusters and the order that a rollout declares. It writes nothing but
// annotations of their pod templates, Events about that, and how far it is.
package restart

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout"
)

// DefaultSettle is how long the injector gets to read new values: they reach it as a mounted file, which the kubelet writes once a minute by default,
// from a cache of its own (Kubernetes, "Mounted ConfigMaps are updated automatically").
const DefaultSettle = 2 * time.Minute

// Target is a cluster whose workloads are to run current proxies.
type Target struct {
	Cluster api.ClusterName
	Rollout string      // which one it is part of, such as "ProxyConfig base"
	Wave    int         // its place in the order of the rollout
	Policy  api.Rollout // with its defaults
	Linkerd string      // namespace of the control plane
	// Inputs names the version of what the injector reads. If it changes, all workloads are compared again.
	Inputs string
	// Hold says why nothing may restart there now; nil: it may. Untouched says that nothing may be written there at all, and ReadOnly that another
	// process restarts workloads there, of which Progress is known.
	Hold                *object.Reason
	Untouched, ReadOnly bool
	Progress            rollout.Progress
	// Ended says that no rollout is declared any more: its progress is removed, and nothing else is set.
	Ended bool
}

// same reports whether both say the same.
func (t Target) same(o Target) bool {
	return t.Ended == o.Ended && (t.Ended || t.alike(o))
}

// alike is same for two that did not end.
func (t Target) alike(o Target) bool {
	return t.Rollout == o.Rollout && t.Wave == o.Wave && t.Linkerd == o.Linkerd && t.Inputs == o.Inputs &&
		samePolicy(t.Policy, o.Policy) && object.SameReason(t.Hold, o.Hold) &&
		t.Untouched == o.Untouched && t.ReadOnly == o.ReadOnly && (!t.ReadOnly || t.Progress.Same(o.Progress))
}

func samePolicy(a, b api.Rollout) bool {
	return *a.MaxUnavailableWorkloads == *b.MaxUnavailableWorkloads && *a.PerNamespace == *b.PerNamespace &&
		*a.PauseOnFailure == *b.PauseOnFailure && a.Detection == b.Detection && a.ArgoRollouts == b.ArgoRollouts
}

// Options are what a Runner needs of its surroundings.
type Options struct {
	Owner string
	// Config returns how to reach a cluster.
	Config func(api.ClusterName) (*rest.Config, error)
	// Explain says what an error of a cluster means.
	Explain func(error) object.Reason
	Log     *slog.Logger
	// Settle is how long the injector gets to read new values; zero: DefaultSettle.
	Settle time.Duration
}

// Runner restarts workloads during one period of leadership. Its methods may be called at the same time.
type Runner struct {
	Options
	changed chan struct{} // capacity 1: there may be other targets

	mu      sync.Mutex
	targets map[api.ClusterName]Target
	waves   map[api.ClusterName]rollout.Wave // of each target that has a worker
	workers map[api.ClusterName]*worker
}

// New returns a runner without targets.
func New(o Options) *Runner {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	return &Runner{
		Options: o, changed: make(chan struct{}, 1),
		targets: map[api.ClusterName]Target{}, waves: map[api.ClusterName]rollout.Wave{}, workers: map[api.ClusterName]*worker{},
	}
}

// Set sets all targets. It waits for nothing.
func (r *Runner) Set(targets []Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := r.targets
	r.targets = map[api.ClusterName]Target{}
	for _, t := range targets {
		r.targets[t.Cluster] = t
	}
	for name, was := range former {
		if now, ok := r.targets[name]; !ok || !now.same(was) {
			r.wakeRollout(was)
		}
	}
	for name, t := range r.targets {
		if was, ok := former[name]; !ok || !was.same(t) {
			r.wake(name)
			r.wakeRollout(t)
		}
	}
	notify(r.changed)
}

// Run restarts workloads until ctx ends, with one worker for each target.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	ends := map[api.ClusterName]context.CancelFunc{}
	for {
		for _, name := range r.missing() {
			inner, stop := context.WithCancel(ctx)
			w := r.begin(name)
			ends[name] = stop
			running.Go(func() { w.run(inner) })
		}
		for name, stop := range ends {
			if r.ended(name) {
				stop()
				delete(ends, name)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		}
	}
}

// Once looks at each target once, wave by wave, and returns how far each is. What takes time is left to the next call.
func (r *Runner) Once(ctx context.Context, targets []Target) map[api.ClusterName]rollout.Progress {
	r.Set(targets)
	slices.SortStableFunc(targets, func(a, b Target) int { return cmp.Compare(a.Wave, b.Wave) })
	out := map[api.ClusterName]rollout.Progress{}
	for len(targets) > 0 {
		wave := targets[:1]
		for len(wave) < len(targets) && targets[len(wave)].Wave == wave[0].Wave {
			wave = targets[:len(wave)+1]
		}
		var running sync.WaitGroup
		for _, t := range wave {
			if t.ReadOnly {
				continue
			}
			w := r.begin(t.Cluster)
			running.Go(func() { w.once(ctx) })
		}
		running.Wait()
		targets = targets[len(wave):]
	}
	for name, w := range r.workers {
		if !r.targets[name].Ended {
			out[name] = w.said
		}
	}
	return out
}

// missing returns the targets that have no worker.
func (r *Runner) missing() (out []api.ClusterName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.targets)) {
		if r.workers[name] == nil && !r.targets[name].ReadOnly {
			out = append(out, name)
		}
	}
	return out
}

// begin adds the worker of a target.
func (r *Runner) begin(name api.ClusterName) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := newWorker(r, name)
	r.workers[name] = w
	return w
}

// ended removes the worker of a cluster that is no target any more; false: it is one.
func (r *Runner) ended(name api.ClusterName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.targets[name]; ok && !t.ReadOnly {
		return false
	}
	delete(r.workers, name)
	delete(r.waves, name)
	return true
}

// target returns the target of a worker's cluster, and why nothing may restart there because of other clusters; false: the worker is to end.
func (r *Runner) target(w *worker) (t Target, haltedBy *object.Reason, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok = r.targets[w.name]; !ok || r.workers[w.name] != w {
		return t, nil, false
	}
	if t.Ended {
		return t, nil, true
	}
	return t, rollout.HaltedBy(r.wavesOf(t), w.name), true
}

// wavesOf returns the waves of a target's rollout. r.mu is held.
func (r *Runner) wavesOf(t Target) map[api.ClusterName]rollout.Wave {
	all := map[api.ClusterName]rollout.Wave{}
	for other, o := range r.targets {
		if o.Ended || o.Rollout != t.Rollout {
			continue
		}
		w := r.waves[other]
		if o.ReadOnly {
			w = rollout.Wave{Known: !o.Untouched && o.Progress.Compared(), Progress: o.Progress}
		}
		w.Number, w.Halts = o.Wave, *o.Policy.PauseOnFailure
		w.Known = w.Known && w.Progress.Inputs == o.Inputs
		all[other] = w
	}
	return all
}

// report keeps how far a worker's cluster is, and wakes the others of its rollout if that may matter to them.
func (r *Runner) report(w *worker, t Target, p rollout.Progress, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers[w.name] != w {
		return
	}
	was := r.waves[t.Cluster]
	r.waves[t.Cluster] = rollout.Wave{Known: known, Progress: p}
	if was.Known != known || was.Progress.Complete() != p.Complete() || len(was.Progress.Failed) != len(p.Failed) || was.Progress.Inputs != p.Inputs {
		r.wakeRollout(t)
	}
}

// wakeRollout has the workers of all other clusters of a rollout look again. r.mu is held.
func (r *Runner) wakeRollout(t Target) {
	for other, o := range r.targets {
		if other != t.Cluster && o.Rollout == t.Rollout {
			r.wake(other)
		}
	}
}

// wake has a cluster's worker look again. r.mu is held.
func (r *Runner) wake(name api.ClusterName) {
	if w := r.workers[name]; w != nil {
		notify(w.wake)
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package plan

import (
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/rollout"
)

// Beside is what a step says of a cluster beside its changes.
type Beside struct {
	// Unconfined says why no admission policies confine linkwright's account there, and what to do; nil: they do, or it is not known.
	Unconfined *object.Reason
	// Rollout says what restarts of its workloads depend on; nil: no rollout is declared, and nothing is left of one.
	Rollout *Rollout
}

// Alike reports whether both say the same.
func (b Beside) Alike(o Beside) bool {
	return object.SameReason(b.Unconfined, o.Unconfined) && b.Rollout.alike(o.Rollout)
}

// Rollout is what restarts of workloads in a cluster depend on. They are no writes of the step.
type Rollout struct {
	Declared *fleet.Rollout // nil: it is not declared any more, and its progress is still in the cluster
	Linkerd  string         // namespace of the control plane
	Inputs   string         // digest of what Linkerd's injector reads: its values and the trust anchors
	Hold     *object.Reason // why nothing may restart there now; nil: it may
	// Untouched says that nothing may be written there at all, not even the progress.
	Untouched bool
	Progress  rollout.Progress
}

// alike reports whether both say the same.
func (r *Rollout) alike(o *Rollout) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Declared == o.Declared && r.Linkerd == o.Linkerd && r.Inputs == o.Inputs && object.SameReason(r.Hold, o.Hold) && r.Untouched == o.Untouched && r.Progress.Same(o.Progress)
}

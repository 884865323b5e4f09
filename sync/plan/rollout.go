package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout"
)

// rollouts finds the rollout of the cluster of a step.
type rollouts struct{ *cluster }

// of returns the rollout of the cluster with a step; nil: none is declared, and nothing is left of one. A cluster that cannot be read holds those of
// later waves back.
func (c rollouts) of(s Step) *Rollout {
	declared, _, _ := c.Declared(c.name)
	base, _ := inventory.ReadBase(c.Owner, c.current.Live)
	switch {
	case declared == nil || declared.Rollout == nil && (base.Rollout == "" || s.Denied != nil):
		return nil
	case declared.Rollout == nil:
		return &Rollout{}
	case !c.current.Known():
		return &Rollout{Declared: declared.Rollout, Hold: s.Denied, Untouched: true}
	}
	l := c.Spec(c.name).Linkerd
	config, sum := linkerd.ConfigOf(l, c.current.Live), sha256.New()
	sum.Write([]byte(config.Values))
	for _, a := range c.current.Facts.Anchors {
		sum.Write([]byte("\n" + a.Fingerprint))
	}
	out := &Rollout{Declared: declared.Rollout, Linkerd: l.Namespace, Inputs: hex.EncodeToString(sum.Sum(nil)[:8]), Hold: c.hold(s)}
	out.Untouched = s.Denied != nil || s.row(object.End{Cluster: c.name}).Phase == Suspended
	if why := c.inputsUnread(config); why != nil && s.Denied == nil { // other inputs would be a change
		out.Inputs, out.Hold, out.Untouched = "", why, true
	}
	out.Progress, _ = rollout.Decode([]byte(base.Rollout))
	return out
}

// inputsUnread returns why it is not known what the injector reads; nil: it is.
func (c rollouts) inputsUnread(config linkerd.Config) *object.Reason {
	if why := c.current.Facts.MissingFor(linkerd.AsAnchor); why != nil {
		return why
	}
	if why := proxyConfig(c).unread(config.Key); why != nil {
		return why
	}
	if config.Values == "" {
		return object.Because(reason.LinkerdNotInstalled, "%s has no values: install Linkerd, or declare spec.linkerd.namespace", config.Key)
	}
	return nil
}

// hold returns why no workload may restart in the cluster now; nil: it may. Restarts wait until the declared values are in place.
func (c rollouts) hold(s Step) *object.Reason {
	base := s.row(object.End{Cluster: c.name})
	switch {
	case s.Denied != nil:
		return s.Denied
	case c.current.Unconfined(): // RBAC cannot grant one annotation, so the right would be for whole workloads
		return s.Unconfined
	case inventory.RolloutPaused(c.Owner, c.current.Live):
		return c.paused()
	case base.Phase == Ready || base.Phase == "":
		return nil
	case base.Why != nil:
		return base.Why
	}
	return object.Because(reason.WaitingForInjector, "linkwright writes the declared values first")
}

// paused returns the reason of restarts that somebody paused.
func (c rollouts) paused() *object.Reason {
	base := inventory.Key(c.Owner, object.End{})
	resume := fmt.Sprintf("kubectl -n %s annotate configmap %s %s-", base.Namespace, base.Name, object.RolloutAnnotation)
	return object.Because(reason.RolloutPaused, "somebody paused restarts: linkwright rollout resume --context CONTEXT, or run there %s", resume).Running(resume)
}

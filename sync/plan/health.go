package plan

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/health"
)

// healthChecks judges the stages of every declared link, at its source's end. It changes nothing of the plan.
type healthChecks struct{ *cluster }

// add lets links with equal verdicts share them: the verdicts stay in memory, and mostly all links are healthy.
func (h healthChecks) add(s Step) Step {
	reasons, before := map[object.Reason]*object.Reason{}, []health.Verdict(nil)
	pulses := linkerd.GatewayHealths(h.Spec(h.name).Linkerd, h.current.Live)
	mirrors := sync.OnceValue(func() map[api.ClusterName]linkerd.Mirror {
		return linkerd.MirrorsOf(h.Spec(h.name).Linkerd, h.current.Live)
	})
	for i, row := range s.Rows {
		l, ok := h.declaredLink(row)
		if !ok {
			continue
		}
		health, next := h.health(l, row, pulses[l.Target.Name])
		s.within(next)
		for j, v := range health {
			if v.Why != nil && reasons[*v.Why] == nil {
				reasons[*v.Why] = v.Why
			}
			if v.Why != nil {
				health[j].Why = reasons[*v.Why]
			}
		}
		if slices.Equal(health, before) {
			health = before
		}
		s.Rows[i].Health, before = health, health
		s.Rows[i].Times = h.times(s.Rows[i], l)
		s.Rows[i] = h.awaitLeader(s.Rows[i], l, mirrors)
	}
	return s
}

// declaredLink returns the declared link of a source's end.
func (c *cluster) declaredLink(row Row) (fleet.Link, bool) {
	if c.Fleet == nil || row.End.IsBase() || !row.End.IsSource() || row.Leaving {
		return fleet.Link{}, false
	}
	return c.Fleet.Link(row.End.Link)
}

// podsOf is the key of linkerd.MirrorsOf that has the pods of a link's controller.
func podsOf(l fleet.Link) api.ClusterName {
	if l.Spec.Controller.Mode == api.Shared {
		return ""
	}
	return l.Target.Name
}

// leaderDelay is how long the pods of a link's controller may take to lead since the link was written. They try every 2 s.
const leaderDelay = 10 * time.Second

// awaitLeader has a sync that runs once wait for the controller of a link, if that takes the link's Lease by itself: the last one gave it back, or the
// link was just written, and its controller has pods. A daemon sees that in its watches.
func (h healthChecks) awaitLeader(row Row, l fleet.Link, mirrors func() map[api.ClusterName]linkerd.Mirror) Row {
	v := health.Decisive(row.Health)
	if !h.Once || row.Phase != Ready || v.Stage != health.ControllerLeads || v.Why.Code != reason.ControllerNotLeading {
		return row
	}
	lease := linkerd.LeaseKey(l.Source.Spec.Linkerd, l.Target.Name)
	free := h.current.Live.Record(lease).Health
	if free.Cause() == object.NoHolder || h.Now.Before(row.Times.Ready.Add(leaderDelay)) && len(mirrors()[podsOf(l)].Pods) > 0 {
		row.Phase, row.Why, row.Unready = Waiting, v.Why, []Unready{{Key: lease, Why: cmp.Or(free.String(), "nobody has taken it yet")}}
	}
	return row
}

// health returns the stages of a link, and when the clock may change them.
func (h healthChecks) health(l fleet.Link, row Row, pulse linkerd.GatewayHealth) (all []health.Verdict, next time.Time) {
	blocked := row.NotRendered
	if row.Phase == Blocked {
		blocked = row.Why
	}
	v := health.Link{Pair: h.Identified(l), Owner: h.Owner, Loading: restarts(h).loaded(l), Suspended: row.Phase == Suspended}
	if cred, why := h.Link(l); v.Verification != nil && cred != nil && why == nil {
		v.Verification = v.Verified(v.VerificationOf(cred)) // not what another one gave
	}
	if l.Spec.TrustAnchors != api.Skip {
		next = v.Trust(h.Now).Next
	}
	return v.Health(blocked, pulse, h.Now), next
}

// times returns the times of a link: of its condition Ready, if the inventory records the status that it has, and of its credential.
func (h healthChecks) times(row Row, l fleet.Link) LinkTimes {
	out := LinkTimes{Credential: h.Identified(l).Validity(h.Access(l))}
	recorded, _ := h.inventoryOf(row.End)
	if ready := health.Condition(recorded.Conditions, object.Ready); ready.Status == row.Condition().Status {
		out.Ready = ready.Since
	}
	return out
}

// Condition returns the Ready condition of the link of a source's end, from its stages alone; zero: no stages are known.
func (r Row) Condition() object.Condition {
	if len(r.Health) == 0 {
		return object.Condition{}
	}
	conditions, _ := health.Conditions(nil, r.Health, time.Time{})
	return health.Condition(conditions, object.Ready)
}

// NotWorking returns why the link of a source's end is not known to work: the first stage that says so. nil: it works, or has no stages.
func (r Row) NotWorking() *object.Reason {
	c := r.Condition()
	if c.Status == "" || c.Status == object.True {
		return nil
	}
	if why := health.Decisive(r.Health).Why; why != nil {
		return why
	}
	return &object.Reason{Code: c.Reason, Message: c.Message}
}

// Ready reports whether the link of a source's end is known to work.
func (r Row) Ready() bool { return r.Condition().Status == object.True }

// gatewayFailure returns why the controller of a link gets no answer from the gateway, or nil. Remarks report trust anchors and credentials without
// it; stages alone report what is not known yet, and mirrors without endpoints.
func (r Row) gatewayFailure() *object.Reason {
	for _, v := range r.Health {
		if v.Result == health.Failed && v.Stage == health.Gateway {
			return v.Why
		}
	}
	return nil
}

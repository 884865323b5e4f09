package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// checkup tells of every declared link's end in its source how its stages stand. It changes nothing of what is planned. Links that stand
// alike share what is told of them, which is kept for as long as they do: mostly all is well with all.
func (p *planner) checkup() {
	reasons, before := map[object.Reason]*object.Reason{}, []pair.Verdict(nil)
	for i, row := range p.step.Rows {
		l, ok := p.checked(row)
		if !ok {
			continue
		}
		health := p.health(l, row)
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
		p.step.Rows[i].Health, before = health, health
	}
}

// checked gives the link whose stages a row tells of.
func (w World) checked(row Row) (fleet.Link, bool) {
	if w.Fleet == nil || row.End.IsBase() || !row.End.IsSource() || row.Leaving {
		return fleet.Link{}, false
	}
	return w.Fleet.Link(row.End.Link)
}

// Settling is the reason of Condition while what keeps a link from being ready should come right by itself.
const Settling = pair.Settling

// Condition is Ready of the link of a source's end, by its stages as if nothing was told of it before; zero: none are known.
func (r Row) Condition() object.Condition {
	if len(r.Health) == 0 {
		return object.Condition{}
	}
	conditions, _ := pair.Conditions(nil, r.Health, time.Time{})
	return pair.Condition(conditions, object.Ready)
}

// Ready says that the link of a source's end is known to work.
func (r Row) Ready() bool { return r.Condition().Status == object.True }

func (p *planner) health(l fleet.Link, row Row) []pair.Verdict {
	held := row.Why
	if row.Standing != Held {
		held = nil
	}
	v := p.known(l)
	if cred, why := p.credential(l); v.Proof != nil && cred != nil && why == nil {
		v.Proof = v.Proven(v.Tried(cred)) // not what another one gave
	}
	v.Loading = p.loaded(l)
	if l.Spec.TrustAnchors != api.Skip {
		p.until(v.Trust(p.Now).Next)
	}
	return v.Health(held, p.pulse(l), p.Now)
}

// ails tells of a link in place that its controller finds the gateway dead, or nil. Of anchors and access remarks tell without it; of
// what is merely not seen yet, and of mirrors that nobody serves behind, only the stages.
func (r Row) ails() *object.Reason {
	for _, v := range r.Health {
		if v.Passing == pair.Failed && v.Stage == pair.Gateway {
			return v.Why
		}
	}
	return nil
}

// pulse is what the cluster tells of a link's gateway.
func (p *planner) pulse(l fleet.Link) linkerd.Pulse {
	if p.pulses == nil {
		p.pulses = linkerd.Pulses(p.spec(p.name).Linkerd, p.side.Seen)
	}
	return p.pulses[l.Target.Name]
}

package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// preflight has the credential of a source's end tried where that is due, and says why an end whose changes bring it there must wait,
// as a whole, or nil. What is in use is never taken away.
func (p *planner) preflight(want object.Wanted, changes []object.Change) *object.Reason {
	l, ok := p.tries(want.End)
	if !ok {
		return nil
	}
	v := p.view(l)
	cred, why := p.credential(l)
	if cred == nil || why != nil {
		return nil
	}
	tried := v.Tried(cred)
	proof := v.Proven(tried)
	p.try(v, want, tried)
	if !p.brings(l, cred, changes) {
		return nil
	}
	return v.Withheld(proof)
}

// tries says that credentials are tried here, and gives the link of a source's end that asks for it.
func (p *planner) tries(end object.End) (fleet.Link, bool) {
	if p.Proofs == nil || end.IsBase() || !end.IsSource() || p.Elsewhere[p.name] && !p.Probe || p.Fleet == nil {
		return fleet.Link{}, false
	}
	l, ok := p.Fleet.Link(end.Link)
	return l, ok && l.Spec.Credentials.Preflight != api.Skip && p.closed(end) == nil
}

// try asks for a trial, unless the same was tried and it is not time to do so again.
func (p *planner) try(v pair.View, want object.Wanted, tried string) {
	if proof := v.Proven(tried); proof != nil && (proof.Next.IsZero() || p.Now.Before(proof.Next)) {
		p.step.retry(proof.Next)
		return
	}
	secrets, at := v.Secrets(), string(v.Link.Target.Name)
	last := secrets[len(secrets)-1]
	body, _ := v.Source.Seen.Body(last)
	if v.Link.Spec.Credentials.Mode == api.Existing {
		at = v.Link.Pair().String()
	} else if i := slices.IndexFunc(want.Objects, func(o object.Object) bool { return o.Key == last }); i >= 0 {
		body = want.Objects[i].Body
	}
	if trial := v.Trial(body); !trial.Config.IsZero() {
		p.step.Tries = append(p.step.Tries, Try{Link: v.Link.Pair(), Print: tried, At: at, Trial: trial})
	}
}

// brings says that changes bring a credential to a reader that must not get a bad one: the control plane, which ends when it cannot
// list; with Require the service mirror, too, which reads what somebody else wrote when its Link names it.
func (p *planner) brings(l fleet.Link, cred *linkerd.Credential, changes []object.Change) bool {
	at, target := l.Source.Spec.Linkerd, l.Target.Name
	plane, link := linkerd.ControlPlaneSecret(at, target), linkerd.LinkKey(at, target)
	strict := l.Spec.Credentials.Preflight == api.Require
	return slices.ContainsFunc(changes, func(c object.Change) bool {
		switch {
		case c.Action == object.Delete || c.Action == object.Release:
			return false
		case c.Key == plane:
			return true
		case c.Key == link:
			return strict && l.Spec.Credentials.Mode == api.Existing && !p.announced(link, cred)
		}
		return strict && slices.Contains(pair.Secrets(l), c.Key)
	})
}

// announced says that the live Linkerd Link tells of the credential.
func (p *planner) announced(link object.Key, cred *linkerd.Credential) bool {
	body, _ := p.side.Seen.Body(link)
	_, entries := linkerd.Announced(body)
	return slices.Contains(entries, linkerd.CredentialEntry(cred.Print))
}

package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

func (p *planner) view(l fleet.Link) pair.View {
	return pair.View{Link: l, Source: p.Sides[l.Source.Name], Target: p.Sides[l.Target.Name]}
}

// credential is what a link's source is to use, or why it cannot be had; neither where facts hold the end already, or
// no token was issued yet.
func (p *planner) credential(l fleet.Link) (*linkerd.Credential, *object.Reason) {
	v, existing := p.view(l), l.Spec.Credentials.Mode == api.Existing
	if existing && v.OwnSecret() != nil {
		return nil, v.OwnSecret()
	}
	if c, ok := p.Fresh[l.Pair()]; ok {
		return &c, nil
	}
	switch {
	case !v.Source.Known || p.stranger(l.Target.Name) != nil:
		return nil, nil
	case existing:
		return v.Existing()
	}
	c, err := v.Credential(render.TokenSecret(p.Owner, l.Source.Name))
	if err != nil {
		return nil, object.Because("NoCredential", "%v", err)
	}
	return c, nil
}

// discovers says whether the source's Linkerd Link may name remote-discovery and federated selectors: once
// the control plane's secret is live. One that names them already keeps them when the secret is lost: the
// secret comes back before the Link, while dropping the selectors would take their mirrors away. Where somebody else
// writes that secret, the end is held without it.
func (p *planner) discovers(l fleet.Link) bool {
	if l.Spec.Credentials.Mode == api.Existing {
		return true
	}
	at, seen := l.Source.Spec.Linkerd, p.Sides[l.Source.Name].Seen
	secret := seen.Own[linkerd.ControlPlaneSecret(at, l.Target.Name)]
	link := linkerd.LinkKey(at, l.Target.Name)
	return secret.Mark == object.Ours && !secret.Going || seen.Own[link].Mark == object.Ours && linkerd.Discovers(seen.Bodies[link])
}

// target is a link's end in its target. What was given to the source stays while the source may still use it: what is
// seen of it in an earlier pass does not count.
func (p *planner) target(l fleet.Link) object.Wanted {
	want := p.renderer.Target(render.Input{Link: l, Target: p.facts(l.Target.Name)})
	account := p.Sides[l.Target.Name].Seen.Own[render.Account(p.Owner, l.Source.Name)]
	if want.Held != nil || l.Spec.Credentials.Mode != api.Existing || account.Mark != object.Ours {
		return want
	}
	v := p.view(l)
	if p.stranger(l.Source.Name) != nil || v.Source.Pass != p.Pass {
		v.Source.Known = false
	}
	now, _ := p.credential(l)
	if why := v.StillUsed(render.TokenSecret(p.Owner, l.Source.Name), now); why != nil {
		want.Objects, want.Held = nil, why
	}
	return want
}

// existing gives looks at what other people's secret managers wrote for the links of a source: whole, and by name.
func existing(out []fleet.Link) []object.Watch {
	var watches []object.Watch
	for _, l := range out {
		if l.Spec.Credentials.Mode != api.Existing {
			continue
		}
		for _, k := range pair.Secrets(l) {
			watches = append(watches, object.Watch{Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole})
		}
	}
	return watches
}

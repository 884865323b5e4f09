package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

func (p *planner) view(l fleet.Link) pair.View {
	v := pair.View{Link: l, Source: p.Sides[l.Source.Name], Target: p.targetSide(l), Undiscovered: p.undiscovered(l)}
	if proof, tried := p.Proofs[l.Pair()]; tried {
		v.Proof = &proof
	}
	return v
}

// credential is what a link's source is to use, or why it cannot be had; neither where facts hold the end already, or
// no token was issued yet.
func (p *planner) credential(l fleet.Link) (*linkerd.Credential, *object.Reason) {
	known, ok := p.credentials[l.Pair()]
	if !ok {
		if p.credentials == nil {
			p.credentials = map[api.Pair]given{}
		}
		known.use, known.why = p.taken(l)
		p.credentials[l.Pair()] = known
	}
	return known.use, known.why
}

// given is a link's credential, or why there is none.
type given struct {
	use *linkerd.Credential
	why *object.Reason
}

func (p *planner) taken(l fleet.Link) (*linkerd.Credential, *object.Reason) {
	v, mode := p.view(l), l.Spec.Credentials.Mode
	if mode == api.Existing && v.OwnSecret() != nil {
		return nil, v.OwnSecret()
	}
	if c, ok := p.Fresh[l.Pair()]; ok && !pair.Bound(c.Token) { // a stand-in: what was issued is for mode Bound alone
		return &c, nil
	}
	switch {
	case !v.Source.Known || p.stranger(l.Target.Canonical()) != nil:
		return nil, nil
	case mode == api.Existing:
		return v.Existing()
	case p.unissued(l) != nil:
		return nil, p.unissued(l)
	case mode == api.Bound:
		r := p.rotation(l)
		return r.Use, r.TooShort(l)
	}
	c, err := v.Lasting(p.access(l))
	if err != nil {
		return nil, object.Because(reason.NoCredential, "%v", err)
	}
	return c.Use, nil
}

// Issued says whether a link's source has a credential, or is known to have none that could be used; else it may be one
// that its target will issue.
func Issued(w World, l fleet.Link) bool {
	p := &planner{World: w}
	c, why := p.credential(l)
	return c != nil || why != nil
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
	secret := seen.Record(linkerd.ControlPlaneSecret(at, l.Target.Name))
	link := linkerd.LinkKey(at, l.Target.Name)
	body, _ := seen.Body(link)
	return secret.Mark == object.Ours && !secret.Going || seen.Record(link).Mark == object.Ours && linkerd.Discovers(body)
}

// marked is what the live secret of a source's control plane says of the credential that it holds. One of ours without a mark is of an
// earlier linkwright, or was taken over: an adoption leaves no digest.
func (p *planner) marked(l fleet.Link) string {
	key, seen := linkerd.ControlPlaneSecret(l.Source.Spec.Linkerd, l.Target.Name), p.Sides[l.Source.Name].Seen
	r := seen.Record(key)
	if r.Mark != object.Ours || r.Going {
		return ""
	}
	body, _ := seen.Body(key)
	mark := linkerd.MarkOf(body)
	if mark == "" && r.Digest == 0 {
		return linkerd.Foreign
	}
	return mark
}

// wholeLinks leaves a new Linkerd Link to the step after the one that makes the control plane's secret, where an update that adds
// the selectors which wait for that would be refused (see discovers): a Link is created once, and with all that is declared.
func (p *planner) wholeLinks(changes []object.Change) []object.Change {
	if p.policy().Prune.Policy != api.CreateOnly {
		return changes
	}
	makes := func(k object.Key) bool {
		return slices.ContainsFunc(changes, func(c object.Change) bool { return c.Action == object.Create && c.Key == k })
	}
	at := p.spec(p.name).Linkerd
	return slices.DeleteFunc(slices.Clone(changes), func(c object.Change) bool {
		target := c.End.Link.Target
		return c.Action == object.Create && c.Key == linkerd.LinkKey(at, target) && makes(linkerd.ControlPlaneSecret(at, target))
	})
}

// target is a link's end in its target. What was given to the source stays while the source may still use it.
func (p *planner) target(l fleet.Link) object.Wanted {
	in := render.Input{Link: l, Target: p.located(l, p.targetFacts(l))}
	switch l.Spec.Credentials.Mode {
	case api.Existing:
		if why := p.stillUsed(l); why != nil {
			return object.Wanted{End: targetEnd(l), Held: why}
		}
	case api.Bound:
		r := p.rotation(l)
		in.Generations, in.Tokens = r.Keep, r.Tokens
	default:
		in.Generations, in.Tokens = p.former(l), p.lasting(l).Keep
	}
	if p.policy().Prune.Policy != api.PruneSync { // nothing may be deleted, so nothing is given up
		a := p.access(l)
		in.Generations, in.Tokens = pair.With(a.Former(), in.Generations), pair.With(a.Lasting(), in.Tokens)
	}
	return p.renderer.Target(in)
}

// lasting is where the tokens of a link stand that do not expire. Of a source that is a stranger nothing is known.
func (p *planner) lasting(l fleet.Link) pair.Lasting {
	out, _ := p.known(l).Lasting(p.access(l)) // what cannot be read is told at the source
	return out
}

func (p *planner) access(l fleet.Link) pair.Access {
	in := l.Target.Canonical()
	issued, known := p.issued[in]
	if !known {
		if p.issued == nil {
			p.issued = map[api.ClusterName]map[object.Key]pair.Issued{}
		}
		issued = p.Sides[in].Issued()
		p.issued[in] = issued
	}
	account := render.Account(p.Owner, l.Source.Name)
	a := pair.Access{Account: account, Issued: issued[account], Blind: p.Proofs == nil || p.Elsewhere[l.Source.Name]}
	end, seen := targetEnd(l), p.Sides[in].Seen
	lost := len(a.Tokens) == 0 && (len(a.Live) == 0 || l.Spec.Credentials.Mode == api.LegacyToken)
	if lost || inventory.Mentions(p.Owner, end, seen, pair.Later) {
		inv, _ := inventory.Of(p.Owner, end, seen)
		a.Last, a.Bound = pair.LastOf(account, inv.Entries)
	}
	if a.Asked = p.asked(l); a.Asked != nil || len(a.Tokens) > 1 {
		a.Untold = p.goesOn(l, a.Asked)
	}
	return a
}

// stillUsed says why a target's end of mode Existing must stay, or nil.
func (p *planner) stillUsed(l fleet.Link) *object.Reason {
	if p.Sides[l.Target.Canonical()].Seen.Record(p.access(l).Account).Mark != object.Ours {
		return nil // nothing of it works any more
	}
	v := p.view(l)
	if p.stranger(l.Source.Name) != nil {
		v.Source.Known = false
	}
	now, _ := p.credential(l)
	return v.StillUsed(p.access(l), now)
}

func (p *planner) rotation(l fleet.Link) pair.Rotation {
	return p.known(l).Rotate(p.access(l), p.Fresh[l.Pair()].Token, p.Now)
}

// former gives the Secrets of tokens from mode Bound that the source may still use: all, until it took what the mode that
// is declared now gives it, and its control plane was told. Live bodies are asked, not digests: an overlay changes those, and not what is logged in by.
func (p *planner) former(l fleet.Link) []object.Key {
	generations := p.access(l).Former()
	if len(generations) == 0 {
		return nil
	}
	v := p.view(l)
	if p.stranger(l.Source.Name) != nil {
		v.Source.Known = false
	}
	if now, _ := p.credential(l); v.Took(now) && !p.behind(l) {
		return nil
	}
	return generations
}

// rotate adds the tokens that the cluster is to be asked for: for sources that this process writes, and that lack
// nothing else. Whatever may keep a source's end from being written keeps its token from being issued.
func (p *planner) rotate() {
	p.remark()
	_, out, in := p.declared(p.name)
	for _, l := range out {
		if l.Spec.Credentials.Mode == api.Bound {
			p.until(p.rotation(l).Expires)
		}
	}
	for _, l := range in {
		if l.Spec.Credentials.Mode != api.Bound || p.leaves(p.name) {
			continue
		}
		r := p.rotation(l)
		p.until(r.Renewal)
		p.until(r.Expires)
		if r.Need != nil && !p.Elsewhere[l.Source.Name] && p.takes(l) {
			p.step.Needs = append(p.step.Needs, Need{Link: l.Pair(), Request: *r.Need})
		}
	}
}

// known is as view, but of a stranger nothing is known.
func (p *planner) known(l fleet.Link) pair.View {
	v := p.view(l)
	v.Source.Known = v.Source.Known && p.stranger(l.Source.Name) == nil
	v.Target.Known = v.Target.Known && p.stranger(l.Target.Canonical()) == nil
	return v
}

// until makes Next no later than a moment; zero: none.
func (p *planner) until(at time.Time) {
	if s := p.step; !at.IsZero() && (s.Next.IsZero() || at.Before(s.Next)) {
		s.Next = at
	}
}

// remark tells at ends in place of tokens that live shorter than was asked, and of those that outlived their mode.
func (p *planner) remark() {
	for i, row := range p.step.Rows {
		if row.Standing != InPlace || row.Why != nil || row.End.IsBase() {
			continue
		}
		switch l, ok := p.Fleet.Link(row.End.Link); {
		case !ok:
		case row.End.IsSource():
			p.step.Rows[i].Why = p.remarks(l, row)
		case l.Spec.Credentials.Mode != api.Existing:
			p.step.Rows[i].Why = p.outlived(l)
		}
	}
}

// remarks is what may be said of a source's end in place, or nil: what keeps the link from working first.
func (p *planner) remarks(l fleet.Link, row Row) *object.Reason {
	var trust pair.Trust
	if l.Spec.TrustAnchors != api.Skip {
		trust = p.known(l).Trust(p.Now)
		p.until(trust.Next)
	}
	switch fails := p.fails(l); {
	case trust.Broken():
		return trust.Why
	case fails != nil:
		return fails
	case trust.Why != nil:
		return trust.Why
	}
	if why := row.ails(); why != nil {
		return why
	}
	if why := p.homeless(l); why != nil {
		return why
	}
	if why := p.untold(l); why != nil {
		return why
	}
	if l.Spec.Credentials.Mode == api.Bound {
		return p.rotation(l).Shortened(l)
	}
	return nil
}

// fails tells that the credential in place does not work, or nil.
func (p *planner) fails(l fleet.Link) *object.Reason {
	if _, asked := p.tries(object.End{Cluster: l.Source.Name, Link: l.Pair()}); !asked {
		return nil
	}
	v := p.view(l)
	cred, why := p.credential(l)
	if cred == nil || why != nil {
		return nil
	}
	return v.Fails(v.Proven(v.Tried(cred)))
}

// outlived tells of tokens that the source may still use, though others are to take their place, or nil: so the end is looked at again.
func (p *planner) outlived(l fleet.Link) *object.Reason {
	a, bound := p.access(l), l.Spec.Credentials.Mode == api.Bound
	switch {
	case !bound && len(p.former(l)) > 0:
		return object.Because(pair.InUse, "tokens that expire stay until %s uses the one that does not", l.Source.Name)
	case a.Asked == nil && (bound || len(p.lasting(l).Keep) < 2):
		return nil
	case a.Asked != nil && a.Asked.Revoke && p.policy().Prune.Policy != api.PruneSync:
		return object.Because(pair.InUse, "the former token stays, since the SyncPolicy's prune.policy is %s: nothing is deleted", p.policy().Prune.Policy)
	case a.Untold && p.untellable(l):
		return object.Because(pair.InUse, "the former token stays, since linkwright may not tell Linkerd's control plane in %s of the new one: restart it there, then rotate with --revoke", l.Source.Name)
	case a.Untold:
		return object.Because(pair.InUse, "the former token stays until Linkerd's control plane in %s was told of the new one", l.Source.Name)
	}
	p.unproven(l)
	return object.Because(pair.InUse, "the former token stays until %s uses the new one, and that is known to work", l.Source.Name)
}

// takes says that the source's end would be written if it had a credential.
func (p *planner) takes(l fleet.Link) bool {
	end := object.End{Cluster: l.Source.Name, Link: l.Pair()}
	if p.closed(object.End{Cluster: p.name, Link: l.Pair()}) != nil || p.barred(l.Source.Name) != nil {
		return false
	}
	side := p.Sides[l.Source.Name]
	granted := *p
	granted.credentials = nil // those of the stand-in are others
	if granted.Fresh = maps.Clone(p.Fresh); granted.Fresh == nil {
		granted.Fresh = map[api.Pair]linkerd.Credential{}
	}
	granted.Fresh[l.Pair()] = linkerd.Credential{} // a stand-in
	wants := granted.wants(l.Source.Name)          // with its overlay, which may hold the end
	i := slices.IndexFunc(wants, func(want object.Wanted) bool { return want.End == end })
	if i < 0 || wants[i].Held != nil {
		return false
	}
	changes, why := p.differs(wants[i], side)
	for _, policy := range p.policies {
		if why == nil {
			why = policy(p.World, end, changes)
		}
	}
	return why == nil
}

// retired are the recorded Secrets of tokens of declared ends.
func (p *planner) retired(in prune.Input) map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, inv := range in.Recorded {
		if _, declared := in.Wanted[inv.End]; !declared || inv.End.IsSource() {
			continue
		}
		for _, k := range inv.Entries {
			if _, ok := render.SourceOf(p.Owner, k); ok && k.Kind == "Secret" {
				out[k] = true
			}
		}
	}
	return out
}

// existing gives looks at the credentials of a source that tell where a link stands, whole and by name: what secret
// managers wrote, and tokens that expire, also where those are still in the target from a former mode.
func (w World) existing(out []fleet.Link) []object.Watch {
	var watches []object.Watch
	for _, l := range out {
		issued := w.Sides[l.Target.Canonical()].Issued()[render.Account(w.Owner, l.Source.Name)]
		moves := len(issued.Live) > 0 || len(issued.Tokens) > 1 || (&planner{World: w}).asked(l) != nil
		if l.Spec.Credentials.Mode == api.LegacyToken && !moves {
			continue
		}
		for _, k := range pair.Secrets(l) {
			watches = append(watches, object.Watch{
				Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole,
			})
		}
	}
	return watches
}

// Package credential decides which credential a link uses, and which tokens stay in its target.
package credential

import (
	"maps"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// Set are the credentials of all links of a snapshot. It keeps what it found out, and serves one goroutine.
type Set struct {
	*state.Identities
	chosen map[api.Pair]chosen
}

// Of returns the credentials of a snapshot.
func Of(i *state.Identities) *Set {
	return &Set{Identities: i, chosen: map[api.Pair]chosen{}}
}

// Assuming returns the set as it would be if a link's target had issued a credential.
func (s *Set) Assuming(link api.Pair, c linkerd.Credential) *Set {
	i := *s.Identities
	i.IssuedCredentials = maps.Clone(s.IssuedCredentials)
	if i.IssuedCredentials == nil {
		i.IssuedCredentials = map[api.Pair]linkerd.Credential{}
	}
	i.IssuedCredentials[link] = c
	return &Set{Identities: &i, chosen: map[api.Pair]chosen{}}
}

// View returns a link with both its ends as they were seen.
func (s *Set) View(l fleet.Link) Pair {
	v := Pair{state.View{Link: l, Source: s.Clusters[l.Source.Name], Target: s.Clusters[l.Target.Canonical()], Undiscovered: s.Undiscovered(l)}}
	v.Target.Facts = v.Target.As(l.Target) // a second name has a gateway of its own
	if proof, tried := s.Verifications[l.Source.Name][l.Target.Name]; tried {
		v.Verification = &proof
	}
	return v
}

// Identified is as View, but of a cluster that is not the one its name means nothing is known.
func (s *Set) Identified(l fleet.Link) Pair {
	v := s.View(l)
	if v.Source.Known() && s.Unidentified(l.Source.Name) != nil {
		v.Source.Reading = state.Unread
	}
	if v.Target.Known() && s.Unidentified(l.Target.Canonical()) != nil {
		v.Target.Reading = state.Unread
	}
	return v
}

// Link returns what a link's source is to use, or why it cannot be had; neither if facts hold the end already, or no token was issued yet.
func (s *Set) Link(l fleet.Link) (*linkerd.Credential, *object.Reason) {
	known, ok := s.chosen[l.Pair()]
	if !ok {
		known.use, known.why = s.find(l)
		s.chosen[l.Pair()] = known
	}
	return known.use, known.why
}

// Issued reports whether a link's source has a credential, or is known to have none that could be used; else it may be one that its target will
// issue.
func (s *Set) Issued(l fleet.Link) bool {
	c, why := s.Link(l)
	return c != nil || why != nil
}

// chosen is a link's credential, or why there is none.
type chosen struct {
	use *linkerd.Credential
	why *object.Reason
}

func (s *Set) find(l fleet.Link) (*linkerd.Credential, *object.Reason) {
	v, mode := s.View(l), l.Spec.Credentials.Mode
	if mode == api.Existing && v.OwnSecret() != nil {
		return nil, v.OwnSecret()
	}
	if c, ok := s.IssuedCredentials[l.Pair()]; ok && !Bound(c.Token) { // a stand-in: what was issued is for mode Bound alone
		return &c, nil
	}
	switch {
	case !v.Source.Known() || s.Unidentified(l.Target.Canonical()) != nil:
		return nil, nil
	case mode == api.Existing:
		return v.Existing()
	case s.accessHidden(l) != nil:
		return nil, s.accessHidden(l)
	case mode == api.Bound:
		r := s.Rotation(l)
		return r.Use, r.TooShort(l)
	}
	c, err := v.LegacyTokens(s.Access(l))
	if err != nil {
		return nil, object.Because(reason.CredentialNotIssued, "%v", err)
	}
	return c.Use, nil
}

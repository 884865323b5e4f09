package credential

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// Access returns what a link's source has in its target.
func (s *Set) Access(l fleet.Link) Access {
	in := l.Target.Canonical()
	account := render.Account(s.Owner, l.Source.Name)
	a := Access{Account: account, Issued: issuedIn(s.Clusters[in], account), NotVerifying: s.Verifications == nil || s.WrittenElsewhere[l.Source.Name]}
	end, observed := state.TargetEnd(l), s.Clusters[in].Live
	lost := len(a.Tokens) == 0 && (len(a.Live) == 0 || l.Spec.Credentials.Mode == api.LegacyToken)
	if lost || inventory.Mentions(s.Owner, end, observed, Later) {
		inv, _ := inventory.Of(s.Owner, end, observed)
		a.Last, a.Bound = LastOf(account, inv.Entries)
	}
	if a.Requested = s.requestedRotation(l); a.Requested != nil || len(a.Tokens) > 1 {
		a.AwaitsRestart = s.awaitsRestart(l, a.Requested)
	}
	return a
}

// StillUsed returns why a target's end of mode Existing must stay, or nil.
func (s *Set) StillUsed(l fleet.Link) *object.Reason {
	if s.Clusters[l.Target.Canonical()].Live.Record(s.Access(l).Account).Mark != object.Ours {
		return nil // nothing of it works any more
	}
	v := s.View(l)
	if s.Unidentified(l.Source.Name) != nil {
		v.Source.Reading = state.Unread
	}
	now, _ := s.Link(l)
	return v.StillUsed(s.Access(l), now)
}

// Rotation returns where the tokens of a link of mode Bound stand.
func (s *Set) Rotation(l fleet.Link) Rotation {
	return s.Identified(l).Rotate(s.Access(l), s.IssuedCredentials[l.Pair()].Token, s.Now)
}

// Former returns the Secrets of tokens from mode Bound that the source may still use: all, until it took what the mode that is declared now gives
// it, and its control plane was told. Live bodies are asked, not digests: an overlay changes those, and not what is logged in by.
func (s *Set) Former(l fleet.Link) []object.Key {
	generations := s.Access(l).Former()
	if len(generations) == 0 {
		return nil
	}
	v := s.View(l)
	if s.Unidentified(l.Source.Name) != nil {
		v.Source.Reading = state.Unread
	}
	if now, _ := s.Link(l); v.Uses(now) && !s.notLoaded(l) {
		return nil
	}
	return generations
}

// LegacyTokens returns where the tokens of a link stand that do not expire. Nothing is known of a source that is not identified.
func (s *Set) LegacyTokens(l fleet.Link) LegacyTokens {
	out, _ := s.Identified(l).LegacyTokens(s.Access(l)) // what cannot be read is reported at the source
	return out
}

// Watches are watches of the Secrets of a source that tell where its links stand, whole and by name: what secret managers wrote, and tokens that
// expire, also if those are still in the target from a former mode.
func (s *Set) Watches(source api.ClusterName) []object.Watch {
	var watches []object.Watch
	_, out, _ := s.Declared(source)
	for _, l := range out {
		a := s.Access(l)
		moves := len(a.Live) > 0 || len(a.Tokens) > 1 || a.Requested != nil
		if l.Spec.Credentials.Mode == api.LegacyToken && !moves {
			continue
		}
		for _, k := range Secrets(l) {
			watches = append(watches, object.Watch{
				Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole,
			})
		}
	}
	return watches
}

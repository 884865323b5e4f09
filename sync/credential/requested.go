package credential

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// requestedRotation returns the rotation of a link that people ask for, as the inventory of its target's end tells, or nil.
func (s *Set) requestedRotation(l fleet.Link) *RotationRequest {
	r := inventory.RequestedRotation(s.Owner, state.TargetEnd(l), s.Clusters[l.Target.Canonical()].Live)
	if r == nil || l.Spec.Credentials.Mode == api.Existing {
		return nil
	}
	return &RotationRequest{After: r.After, Revoke: r.Revoke}
}

// OpenRotation returns what an inventory is to ask for from now on: nothing more once it is done.
func (s *Set) OpenRotation(end object.End, asked *inventory.Rotation) *inventory.Rotation {
	if asked == nil {
		return nil
	}
	l, declared := s.Fleet.Link(end.Link)
	switch {
	case !declared:
		return asked
	case l.Spec.Credentials.Mode == api.Existing,
		l.Spec.Credentials.Mode == api.Bound && s.Rotation(l).Done,
		l.Spec.Credentials.Mode == api.LegacyToken && s.LegacyTokens(l).Done:
		return nil
	}
	return asked
}

// awaitsRestart reports whether the control plane of a link's source uses a former credential until it restarts. If people must restart it,
// linkwright does not learn when they did: tokens of mode Bound stay for one generation, and those of mode LegacyToken until people ask to
// revoke them.
func (s *Set) awaitsRestart(l fleet.Link, asked *RotationRequest) bool {
	if s.RestartedByPeople(l) {
		return s.Changed(l) != "" && l.Spec.Credentials.Mode == api.LegacyToken && (asked == nil || !asked.Revoke)
	}
	return s.notLoaded(l)
}

// notLoaded reports whether linkwright has yet to restart the control plane of a link's source for its credential.
func (s *Set) notLoaded(l fleet.Link) bool {
	mark := s.Changed(l)
	body, observed := s.Clusters[l.Source.Name].Live.Body(linkerd.Destination(l.Source.Spec.Linkerd))
	return mark != "" && observed && len(linkerd.LoadedOf(s.Owner, body).NotLoaded([]string{mark})) > 0
}

// RestartedByPeople reports whether the source's control plane uses a link's credential, and only people can restart it: linkwright may not
// read its Deployment, or may not restart it because no admission policies confine linkwright's account.
func (s *Set) RestartedByPeople(l fleet.Link) bool {
	source := s.Clusters[l.Source.Name]
	return l.Spec.UsesRemoteDiscovery() && source.Known() && (source.Unconfined() || !source.Covers(linkerd.Destination(l.Source.Spec.Linkerd)))
}

// Newest returns the number of the last token that a link has, or is to have by what its target's end has recorded.
func (s *Set) Newest(l fleet.Link, recorded inventory.Inventory) (int, error) {
	a := s.Access(l)
	a.Last, _ = LastOf(a.Account, recorded.Entries)
	return s.Identified(l).Newest(a)
}

// Using returns the number of the token that a link's source took; 0: of none.
func (s *Set) Using(l fleet.Link) int {
	used, number := s.LegacyTokens(l).Use, s.LegacyTokens(l).Number
	if l.Spec.Credentials.Mode == api.Bound {
		r := s.Rotation(l)
		used, number = r.Use, r.Number
	}
	if !s.Identified(l).Uses(used) {
		return 0
	}
	return number
}

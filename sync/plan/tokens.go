package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// tokens requests tokens from the cluster, for sources that this process writes and that lack nothing else. A source's end that may not be written
// gets no token.
type tokens struct{ *cluster }

func (t tokens) add(s Step) Step {
	_, out, in := t.Declared(t.name)
	for _, l := range out {
		if l.Spec.Credentials.Mode == api.Bound {
			s.within(t.Rotation(l).Expires)
		}
	}
	for _, l := range in {
		if l.Spec.Credentials.Mode != api.Bound || t.Leaves(t.name) {
			continue
		}
		r := t.Rotation(l)
		s.within(earliest(r.Renewal, r.Expires))
		if r.Need != nil && !t.WrittenElsewhere[l.Source.Name] && t.sourceReady(l) {
			s.TokenRequests = append(s.TokenRequests, TokenRequest{Link: l.Pair(), Request: *r.Need})
		}
	}
	return s
}

// sourceReady reports whether the source's end would be written if it had a credential.
func (t tokens) sourceReady(l fleet.Link) bool {
	end := object.End{Cluster: l.Source.Name, Link: l.Pair()}
	if t.denied(object.End{Cluster: t.name, Link: l.Pair()}) != nil || t.MayNotApply(l.Source.Name) != nil {
		return false
	}
	given := &desired{Set: t.Assuming(l.Pair(), linkerd.Credential{}), renderer: t.renderer}
	wants := given.ends(l.Source.Name) // with its overlay, which may hold the end
	i := slices.IndexFunc(wants, func(want object.Desired) bool { return want.End == end })
	if i < 0 || wants[i].Blocked != nil {
		return false
	}
	changes, why := t.differs(wants[i], t.Clusters[l.Source.Name])
	for _, policy := range t.policies {
		if why == nil {
			why = policy(t.Snapshot, end, changes)
		}
	}
	return why == nil
}

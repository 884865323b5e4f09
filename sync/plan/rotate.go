package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// Rotation is a rotation of one link that people ask for. Denied says why it is impossible. Requested: it was requested before, and is not done yet. Else
// Change requests it, conditional, in the cluster of its End. WaitsFor says why it cannot begin yet, and Note what people must do themselves; both may be
// nil.
type Rotation struct {
	Link                   api.Pair
	After                  int
	Requested              bool
	Change                 object.Change
	Denied, WaitsFor, Note *object.Reason
}

// RequestRotations requests a newer token for each of these links, and with revoke the end of all tokens that it has.
func RequestRotations(w state.Snapshot, links []fleet.Link, revoke bool, policies ...Policy) []Rotation {
	out := make([]Rotation, len(links))
	for i, l := range links {
		out[i] = rotating{newCluster(w, l.Target.Canonical(), nil, policies)}.rotate(l, revoke)
	}
	return out
}

// rotating is a rotation in the cluster of a link's target.
type rotating struct{ *cluster }

func (c rotating) rotate(l fleet.Link, revoke bool) Rotation {
	t := Rotation{Link: l.Pair()}
	end := object.End{Cluster: c.name, Link: t.Link}
	old, why := c.rotatable(l, end, revoke)
	if why != nil {
		t.Denied = why
		return t
	}
	t.WaitsFor = c.denied(end)
	if far := c.denied(object.End{Cluster: l.Source.Name, Link: t.Link}); t.WaitsFor == nil {
		t.WaitsFor = far
	}
	if c.RestartedByPeople(l) {
		t.Note = object.Because(reason.CredentialNotLoaded, "linkwright may not restart Linkerd's destination controller in %s to load the new token: restart it when the token is in use", l.Source.Name)
	}
	newest, err := c.Newest(l, old)
	switch {
	case old.Rotate != nil && (revoke && !old.Rotate.Revoke || c.Using(l) <= old.Rotate.After):
		t.After, t.Requested = old.Rotate.After, old.Rotate.Revoke || !revoke
	case err != nil:
		t.Denied = object.Because(reason.Unknown, "%v", err)
		return t
	default:
		t.After = newest
	}
	revoke = revoke || old.Rotate != nil && old.Rotate.Revoke
	if t.Requested {
		return t
	}
	next := old
	next.Rotate = &inventory.Rotation{After: t.After, Revoke: revoke}
	t.Change, t.Denied = c.writeInventory(next, old)
	return t
}

// rotatable returns the inventory of a link's end in its target, or why its token cannot be replaced.
func (c rotating) rotatable(l fleet.Link, end object.End, revoke bool) (inventory.Inventory, *object.Reason) {
	policy := c.Policy().Prune.Policy
	switch {
	case l.Spec.Credentials.Mode == api.Existing:
		return inventory.Inventory{}, object.Because(reason.ExistingCredential, "credentials.mode is Existing, so your secret manager issues the token: have it write a new one")
	case !c.current.Known():
		return inventory.Inventory{}, orElse(c.current.Err, "cluster %s was not read", c.name)
	case c.Unidentified(c.name) != nil:
		return inventory.Inventory{}, c.Unidentified(c.name)
	case policy == api.CreateOnly:
		return inventory.Inventory{}, object.Because(reason.PrunePolicy, "prune.policy %s of the SyncPolicy allows no updates, so the source would never get the new token", policy)
	case revoke && policy != api.PruneSync:
		return inventory.Inventory{}, object.Because(reason.PrunePolicy, "prune.policy %s of the SyncPolicy does not allow deletes, so linkwright cannot revoke a token", policy)
	}
	inv, found := inventory.Of(c.Owner, end, c.current.Live)
	if !found {
		return inv, object.Because(reason.CredentialNotIssued, "the link has no token yet: there is nothing to replace")
	}
	return inv, nil
}

func orElse(why *object.Reason, format string, a ...any) *object.Reason {
	if why != nil {
		return why
	}
	return object.Because(reason.Unknown, format, a...)
}

package prune

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// gone reports whether an object is confirmed to be absent or no longer linkwright's: one that lost the owner label
// belongs to somebody else. An object that was not read is not gone.
func (l Live) gone(k object.Key) bool {
	if !l.WasRead(k) {
		return false
	}
	r := l.Observation.Record(k)
	return r.IsZero() || r.Mark != object.Ours
}

// deletions returns the deletes of keys, and the keys to wait for: those that were not read, or are being deleted already.
func (l Live) deletions(end object.End, keys []object.Key, why object.Reason) ([]object.Change, []object.Key) {
	return l.deletionsIf(end, keys, why, l.WasRead)
}

// foreignDeletions is deletions for objects of Linkerd's controller: their keys come from a read.
func (l Live) foreignDeletions(end object.End, keys []object.Key, why object.Reason) ([]object.Change, []object.Key) {
	return l.deletionsIf(end, keys, why, func(object.Key) bool { return true })
}

// deletionsIf is deletions with its own test of whether a key was read.
func (l Live) deletionsIf(end object.End, keys []object.Key, why object.Reason, wasRead func(object.Key) bool) (out []object.Change, wait []object.Key) {
	for _, k := range keys {
		r := l.Observation.Record(k)
		if !wasRead(k) || r.Terminating {
			wait = append(wait, k)
			continue
		}
		out = append(out, object.Change{End: end, Action: object.Delete, Key: k, Was: r, Why: why})
	}
	return out, wait
}

// account is that of a link's controller. An end whose inventory lists it runs the controller itself.
func (l Live) account(end object.End) object.Key {
	return object.Key{Kind: "ServiceAccount", Namespace: l.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
}

func (l Live) deployment(end object.End) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: l.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
}

func (l Live) link(end object.End) object.Key { return linkerd.LinkKey(l.Linkerd, end.Link.Target) }

// hides returns which permission is missing to read what is waited for, or nil.
func (l Live) hides(left []object.Key) *object.Reason {
	for _, k := range left {
		if why := l.Observation.Hides(k); why != nil {
			return why
		}
	}
	return nil
}

// foreignController reports whether the user's chart runs the controller that linkwright ran, or one that `linkerd multicluster link`
// made still runs beside it. Its pods stay, and so do its lease and the probe's Endpoints.
func (l Live) foreignController(end object.End) bool {
	legacy := l.deployment(end)
	legacy.Name = linkerd.LegacyController(end.Link.Target)
	return l.isForeign(l.deployment(end)) || l.isForeign(legacy)
}

// anyRunning reports whether a pod is not being deleted.
func (l Live) anyRunning(pods []object.Key) bool {
	return slices.ContainsFunc(pods, func(k object.Key) bool { return !l.Observation.Record(k).Terminating })
}

// isForeign reports whether an object is live and not linkwright's.
func (l Live) isForeign(k object.Key) bool {
	r := l.Observation.Record(k)
	return !r.IsZero() && r.Mark != object.Ours
}

// foreignLink reports whether somebody else's Link names the target, in any namespace. The labels of mirrors name their target and
// not the Link that they were made for, so the mirrors may be those of that Link.
func (l Live) foreignLink(target api.ClusterName) bool {
	for k, r := range l.Observation.Kind(linkerd.Group, "Link") {
		if k.Name == string(target) && r.Mark != object.Ours {
			return true
		}
	}
	return false
}

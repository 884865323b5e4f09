package prune

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// gone reports whether an entry is confirmed to be no longer there, or no longer ours: an object that lost
// our mark is somebody else's, and is given up. What was not looked for is not gone.
func (l Live) gone(k object.Key) bool {
	if !l.Saw(k) {
		return false
	}
	r := l.Seen.Record(k)
	return r.IsZero() || r.Mark != object.Ours
}

// takes makes the deletes of keys; what is being deleted already, or was not looked for, is waited for.
func (l Live) takes(end object.End, keys []object.Key, why object.Reason) ([]object.Change, []object.Key) {
	return l.deletes(end, keys, why, l.Saw)
}

// takesForeign makes the deletes of what Linkerd's controller made: its keys were seen.
func (l Live) takesForeign(end object.End, keys []object.Key, why object.Reason) ([]object.Change, []object.Key) {
	return l.deletes(end, keys, why, func(object.Key) bool { return true })
}

// deletes makes the deletes of keys that were looked for; what is being deleted already, or was not looked for, is waited for.
func (l Live) deletes(end object.End, keys []object.Key, why object.Reason, looked func(object.Key) bool) (out []object.Change, wait []object.Key) {
	for _, k := range keys {
		r := l.Seen.Record(k)
		if !looked(k) || r.Going {
			wait = append(wait, k)
			continue
		}
		out = append(out, object.Change{End: end, Action: object.Delete, Key: k, Was: r, Why: why})
	}
	return out, wait
}

// account is that of a link's controller: an end that recorded one like it runs the controller itself.
func (l Live) account(end object.End) object.Key {
	return object.Key{Kind: "ServiceAccount", Namespace: l.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
}

func (l Live) deployment(end object.End) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: l.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
}

func (l Live) link(end object.End) object.Key { return linkerd.LinkKey(l.Linkerd, end.Link.Target) }

// hides returns why something that is waited for may not be read, or nil.
func (l Live) hides(left []object.Key) *object.Reason {
	for _, k := range left {
		if why := l.Seen.Hides(k); why != nil {
			return why
		}
	}
	return nil
}

// handedOver reports whether the user's chart runs the controller that was ours, or one that `linkerd multicluster link` made
// still runs beside it: its pods do not go, and the lease and the probe's Endpoints are its own.
func (l Live) handedOver(end object.End) bool {
	legacy := l.deployment(end)
	legacy.Name = linkerd.LegacyController(end.Link.Target)
	return l.theirs(l.deployment(end)) || l.theirs(legacy)
}

// staying reports whether a pod is not about to end.
func (l Live) staying(pods []object.Key) bool {
	return slices.ContainsFunc(pods, func(k object.Key) bool { return !l.Seen.Record(k).Going })
}

// theirs reports whether an object is live and not ours.
func (l Live) theirs(k object.Key) bool {
	r := l.Seen.Record(k)
	return !r.IsZero() && r.Mark != object.Ours
}

// relinked reports whether somebody else links a target now, from whichever namespace: the labels of mirrors tell of their target, and not of
// the Link that they were made for, so they are theirs, or serve them.
func (l Live) relinked(target api.ClusterName) bool {
	for k, r := range l.Seen.Kind(linkerd.Group, "Link") {
		if k.Name == string(target) && r.Mark != object.Ours {
			return true
		}
	}
	return false
}

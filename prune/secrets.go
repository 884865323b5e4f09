package prune

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// controlPlaneSecret goes last, and only when no Service is resolved through it any more: proxies would
// keep stale endpoints, or be answered NotFound (LINKERD.md §4, §10).
func (in Input) controlPlaneSecret(end object.End, keys []object.Key) gate {
	return gate{name: "credential of the control plane", left: func() ([]object.Change, []object.Key) {
		var secret []object.Key
		for _, k := range keys {
			if end.IsSource() && k == linkerd.ControlPlaneSecret(in.Linkerd, end.Link.Target) {
				secret = append(secret, k)
			}
		}
		if len(secret) > 0 && in.Mirrors()[end.Link.Target].Resolved() {
			return nil, secret
		}
		return in.entries(end, "", secret).left()
	}}
}

// credentials are the mirror's of one link, in whatever namespace, and those of a former control plane.
func (in Input) credentials(end object.End, keys []object.Key) []object.Key {
	if !end.IsSource() {
		return nil
	}
	all := only(keys, linkerd.MirrorSecret(in.Linkerd, end.Link.Target))
	return slices.DeleteFunc(all, func(k object.Key) bool { return k == linkerd.ControlPlaneSecret(in.Linkerd, end.Link.Target) })
}

// but leaves out the credentials of both kinds, which have gates of their own.
func (in Input) but(end object.End, keys []object.Key) []object.Key {
	secret := linkerd.MirrorSecret(in.Linkerd, end.Link.Target)
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return end.IsSource() && alike(k, secret) })
}

// only gives the keys that are like k.
func only(keys []object.Key, k object.Key) []object.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(o object.Key) bool { return !alike(o, k) })
}

// alike compares but for the namespace: that of the multicluster extension may have been another one
// when an end was recorded, and what stands there is to be found nevertheless.
func alike(k, o object.Key) bool {
	k.Namespace = o.Namespace
	return k == o
}

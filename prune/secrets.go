package prune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// controlPlaneSecret is deleted last, and only once the control plane resolves no Service through it. Otherwise proxies would
// keep stale endpoints, or get NotFound.
func (h holdings) controlPlaneSecret(end object.End, keys []object.Key) gate {
	secret := linkerd.ControlPlaneSecret(h.Linkerd, end.Link.Target)
	if !slices.Contains(keys, secret) {
		return gate{remaining: func() ([]object.Change, []object.Key) { return nil, nil }}
	}
	g := h.entries(end, "credential of the control plane", []object.Key{secret})
	itself := g.remaining
	g.remaining = func() ([]object.Change, []object.Key) {
		take, wait := itself()
		if through := h.Mirrors()[end.Link.Target].Resolved(); len(take) > 0 && len(through) > 0 {
			return nil, through
		}
		return take, wait
	}
	g.explain = h.explainResolving(end, secret)
	return g
}

// explainResolving names the Services that keep the control plane's secret, and who deletes them; nil: something else is waited for.
func (h holdings) explainResolving(end object.End, secret object.Key) func([]object.Key) *object.Reason {
	return func(left []object.Key) *object.Reason {
		if slices.Contains(left, secret) {
			return nil
		}
		who := "the link's controller removes them; delete what it leaves"
		if len(h.Mirrors()[end.Link.Target].Pods) == 0 {
			who = "no controller of the link runs that would remove them: run it (if your Helm chart does, list the link in its controllers), or delete them"
		}
		return object.Because(reason.Waiting, "%s stays while Linkerd resolves Services through it: %s; %s", secret, firstKeys(left), who)
	}
}

// firstKeys names the first few of many keys.
func firstKeys(keys []object.Key) string {
	const few = 3
	names := make([]string, 0, few+1)
	for i, k := range keys {
		if i == few {
			names = append(names, fmt.Sprintf("and %d more", len(keys)-few))
			break
		}
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

// mirrorCredential is the credential of a link's service mirror, if it is among the keys.
func (l Live) mirrorCredential(end object.End, keys []object.Key) []object.Key {
	mirror, plane := linkerd.MirrorSecret(l.Linkerd, end.Link.Target), linkerd.ControlPlaneSecret(l.Linkerd, end.Link.Target)
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return k != mirror || k == plane })
}

// withoutCredentials leaves out both credentials, which have gates of their own.
func (l Live) withoutCredentials(end object.End, keys []object.Key) []object.Key {
	mirror, plane := linkerd.MirrorSecret(l.Linkerd, end.Link.Target), linkerd.ControlPlaneSecret(l.Linkerd, end.Link.Target)
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return k == mirror || k == plane })
}

// ifRecorded returns a key if the inventory lists it.
func ifRecorded(inv inventory.Inventory, k object.Key) []object.Key {
	if !inv.Has(k) {
		return nil
	}
	return []object.Key{k}
}

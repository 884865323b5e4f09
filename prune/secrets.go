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

// controlPlaneSecret goes last, and only when no Service is resolved through it any more: proxies would
// keep stale endpoints, or be answered NotFound (LINKERD.md §4, §10).
func (h holdings) controlPlaneSecret(end object.End, keys []object.Key) gate {
	secret := linkerd.ControlPlaneSecret(h.Linkerd, end.Link.Target)
	if !slices.Contains(keys, secret) {
		return gate{left: func() ([]object.Change, []object.Key) { return nil, nil }}
	}
	g := h.entries(end, "credential of the control plane", []object.Key{secret})
	itself := g.left
	g.left = func() ([]object.Change, []object.Key) {
		take, wait := itself()
		if through := h.Mirrors()[end.Link.Target].Resolved(); len(take) > 0 && len(through) > 0 {
			return nil, through
		}
		return take, wait
	}
	g.tell = h.resolving(end, secret)
	return g
}

// resolving returns which Services keep the control plane's secret, and who takes those away; nil: they are not what is waited for.
func (h holdings) resolving(end object.End, secret object.Key) func([]object.Key) *object.Reason {
	return func(left []object.Key) *object.Reason {
		if slices.Contains(left, secret) {
			return nil
		}
		who := "the link's controller removes them; delete what it leaves"
		if len(h.Mirrors()[end.Link.Target].Pods) == 0 {
			who = "no controller of the link runs that would remove them: run it (if your Helm chart does, list the link in its controllers), or delete them"
		}
		return object.Because(reason.Waiting, "%s stays while Linkerd resolves Services through it: %s; %s", secret, first(left), who)
	}
}

// first names the first few of many keys.
func first(keys []object.Key) string {
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

// credentials are the mirror's of one link.
func (l Live) credentials(end object.End, keys []object.Key) []object.Key {
	mirror, plane := linkerd.MirrorSecret(l.Linkerd, end.Link.Target), linkerd.ControlPlaneSecret(l.Linkerd, end.Link.Target)
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return k != mirror || k == plane })
}

// but leaves out the credentials of both kinds, which have gates of their own.
func (l Live) but(end object.End, keys []object.Key) []object.Key {
	mirror, plane := linkerd.MirrorSecret(l.Linkerd, end.Link.Target), linkerd.ControlPlaneSecret(l.Linkerd, end.Link.Target)
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return k == mirror || k == plane })
}

// only gives a key, if the inventory has it.
func only(inv inventory.Inventory, k object.Key) []object.Key {
	if !inv.Has(k) {
		return nil
	}
	return []object.Key{k}
}

package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/health"
)

// proposal is what one end lacks and what of it may be removed, if no policy denies it.
type proposal struct {
	desired object.Desired  // of a declared end; its Held says why it is not written
	changes []object.Change // what a declared end lacks
	prune   prune.Verdict   // what may go, and what is to be recorded
}

// declared reports whether the end is declared. Any other end is being removed.
func (p proposal) declared() bool { return p.desired.End == p.prune.End }

// compare returns what each end lacks, declared ones first; desired ends and verdicts are sorted.
func (c *cluster) compare() []proposal {
	c.rebuilt = c.Rebuilt(c.name, c.recorded, func(k object.Key, r object.Record) { c.unrecorded = append(c.unrecorded, labelledObject{k, r}) })
	verdicts := prune.Select(c.input(c.name, c.desiredEnds, c.rebuilt), func(end object.End) prune.Peer {
		own, _ := c.inventoryOf(end)
		return c.peer(own)
	})
	out := make([]proposal, 0, len(c.desiredEnds)+len(verdicts))
	for _, want := range c.desiredEnds {
		i, recorded := slices.BinarySearchFunc(verdicts, want.End, func(v prune.Verdict, e object.End) int { return v.End.Compare(e) })
		if recorded {
			out = append(out, c.propose(want, verdicts[i]))
			continue
		}
		out = append(out, c.propose(want, prune.Verdict{End: want.End, Next: c.newInventory(want)}))
	}
	for _, v := range verdicts {
		_, declared := slices.BinarySearchFunc(c.desiredEnds, v.End, func(w object.Desired, e object.End) int { return w.End.Compare(e) })
		if !declared {
			out = append(out, proposal{prune: v})
		}
	}
	return out
}

// newInventory returns the inventory of an end that has none.
func (c *cluster) newInventory(want object.Desired) inventory.Inventory {
	next := inventory.Inventory{End: want.End}
	if want.End.IsSource() {
		next.Conditions = health.Initial(c.Now)
	}
	return next.Settle(keys(want), never)
}

// propose compares a declared end with what is live.
func (c *cluster) propose(want object.Desired, v prune.Verdict) proposal {
	p := proposal{desired: want, prune: v}
	if p.desired.Blocked == nil {
		p.desired.Blocked = c.baseBlocked(want)
	}
	if p.desired.Blocked == nil {
		p.changes, p.desired.Blocked = c.differs(want, c.current)
		p.changes = c.deferLinks(p.changes)
		p.prune.Next.Rotate = c.OpenRotation(want.End, v.Next.Rotate)
	}
	return p
}

// baseBlocked returns why the base's objects cannot be applied, though they can be rendered; nil: they can.
func (c *cluster) baseBlocked(want object.Desired) *object.Reason {
	if !want.End.IsBase() || len(want.Objects) == 0 {
		return nil
	}
	if why := c.current.Facts.MissingFor(linkerd.AsSource); why != nil && why.Code == reason.LinkerdNotInstalled {
		return why
	}
	return nil
}

// deferLinks leaves a new Linkerd Link to the step after the one that makes the control plane's secret, if an update that adds
// the selectors which wait for that would be denied (see credential.Discovers): a Link is created once, and with all that is declared.
func (c *cluster) deferLinks(changes []object.Change) []object.Change {
	if c.Policy().Prune.Policy != api.CreateOnly {
		return changes
	}
	makes := func(k object.Key) bool {
		return slices.ContainsFunc(changes, func(c object.Change) bool { return c.Action == object.Create && c.Key == k })
	}
	at := c.Spec(c.name).Linkerd
	return slices.DeleteFunc(slices.Clone(changes), func(c object.Change) bool {
		target := c.End.Link.Target
		return c.Action == object.Create && c.Key == linkerd.LinkKey(at, target) && makes(linkerd.ControlPlaneSecret(at, target))
	})
}

func never(object.Key) bool { return false }

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/state"
)

// What the account may not read is unknown, so what depends on it is neither made nor changed nor taken away:
//
//	an object that an end holds               the end is blocked: differs, and prune for what goes; its peer does not go
//	a fact                                    the ends made of it: linkerd.FactsOf
//	accounts and tokens in linkwright-access  the sources of links to the cluster, too: package credential
//	mirrors, pods, leases, Linkerd Links      nothing of a link's end in its source goes: blind
//	a control plane's Secret of a new link    only remote discovery and federation: credential.Undiscovered
//	anything, for adopt and release           the cluster: hidden
//	all that is left in a departed cluster    the cluster, once people abandon it: yields

// cleanedUp adds the pending cleanups of the cluster that are done: nothing of the end is left, or its link is declared again. The record would not
// name them again, so the cluster is read once more before.
func (c *cluster) cleanedUp(s Step) Step {
	for _, d := range c.Pending[c.name] {
		row := s.row(object.End{Cluster: c.name, Link: d.Link()})
		if row.Phase == "" || !row.Leaving {
			s.CleanedUp = append(s.CleanedUp, d.Link())
		}
	}
	if len(s.CleanedUp) > 0 && c.current.Round != c.Round {
		s.CleanedUp, s.ReadFirst = nil, append(s.ReadFirst, c.name)
	}
	return s
}

// departure is a cluster that leaves, or that people abandoned.
type departure struct{ *cluster }

// reportComplete adds the row of a cluster that leaves once nothing is left there.
func (p departure) reportComplete(rows []Row) []Row {
	if len(rows) > 0 || !p.Leaves(p.name) {
		return rows
	}
	return []Row{{
		End: p.base(), Phase: Removed, Leaving: true,
		Why: object.Because(reason.CleanupComplete, "cluster %s holds nothing of linkwright any more: you can remove its declaration", p.name),
	}}
}

// warnAtBase reports at the base, unless that has a reason of its own: that an abandonment has no effect; else what may not be read and blocks no
// end, or may not be watched.
func (p departure) warnAtBase(rows []Row) []Row {
	why := p.polledOnly(p.current.Live.Unwatched)
	blocks := func(r Row) bool { return r.Why != nil && r.Why.Code == reason.Forbidden }
	if hidden := p.firstHidden(); hidden != nil && !slices.ContainsFunc(rows, blocks) {
		why = hidden
	}
	if said := p.notAbandoned(); said != "" {
		why = object.Because(reason.AbandonIgnored, "%s", said)
	}
	for i, row := range rows {
		if why != nil && row.End.IsBase() && row.HasNothingToReport() && row.Phase != Removed && row.Phase != Released {
			rows[i].Why = why
		}
	}
	return rows
}

// polledOnly reports what linkwright reads every 30 s because it may not watch it; nil: nothing.
func (p departure) polledOnly(keys []object.Key) *object.Reason {
	if len(keys) == 0 {
		return nil
	}
	more := ""
	if n := len(keys) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return object.Because(reason.WatchForbidden, "linkwright may read %s%s, but not watch it: linkwright sees changes within 30 s instead of at once; to grant list and watch, run %s",
		object.Hidden{Key: keys[0]}, more, p.Grant())
}

// explainUnread adds what it means that a departed cluster cannot be read, and how to abandon it.
func (p departure) explainUnread(why *object.Reason) *object.Reason {
	if said := p.notAbandoned(); said != "" {
		return why.With("%s", said)
	}
	if !p.HasLeft(p.name) || p.Unidentified(p.name) == nil {
		return why
	}
	return object.Because(why.Code, "the cluster is no longer declared, and linkwright cannot clean up there yet: if it never comes back, run %s; %s",
		p.Command("abandon "+string(p.name)), why.Message)
}

// notAbandoned returns why an abandonment has no effect; empty: it has, nobody asked for it, or that is not known.
func (p departure) notAbandoned() string {
	declared, _, _ := p.Declared(p.name)
	switch {
	case !p.Abandoned[p.name]:
	case declared != nil:
		return fmt.Sprintf("abandoning cluster %s has no effect while it is declared: remove its declaration first", p.name)
	case p.Unidentified(p.name) == nil:
		return fmt.Sprintf("cluster %s can be read, so linkwright removes its links as usual; it abandons the cluster only if a missing right blocks all that is left to do", p.name)
	}
	return ""
}

// abandonedRow reports what stays in an abandoned cluster: pending cleanups, these ends of links, and values of Linkerd's installation.
func (p departure) abandonedRow(ends ...object.End) Row {
	var left []string
	for _, o := range p.PendingIn(p.name) {
		left = append(left, fmt.Sprintf("left of %s: %s", o.Link, o.Left))
	}
	for _, end := range ends {
		if end.IsBase() {
			continue
		}
		left = append(left, fmt.Sprintf("left of %s: %s", end.Link, state.LeftBehind(p.Owner, end)))
	}
	known := "linkwright knows of no link that left anything there; the objects of the base stay"
	if len(left) > 0 {
		known = strings.Join(left, "; ")
	}
	if kept := proxyConfig(p).kept(); kept != "" {
		known += "; " + kept
	}
	return Row{
		End: p.base(), Phase: Removed, Leaving: true,
		Why: object.Because(reason.Abandoned, "the cluster was abandoned: objects with the label %s=%s stay in the cluster with kube-system uid %s; %s",
			object.OwnerLabel, p.Owner, cmp.Or(p.UIDs[p.name], p.current.Facts.UID, "unknown"), known), // the record may have struck it off by now
	}
}

// abandonIfForbidden gives up an abandoned cluster that can be read, once every end left there waits for something that the account may not read.
// Before the cluster is abandoned, such ends report how to do that.
func (p departure) abandonIfForbidden(s Step) Step {
	if s.Writes()+len(s.TokenRequests)+len(s.ReadFirst) == 0 && slices.ContainsFunc(s.Rows, p.waitsForHidden) {
		s.Rows, _ = p.abandonedRows(s.Rows, p.waitsForHidden)
	}
	for i, r := range s.Rows {
		if p.waitsForHidden(r) {
			s.Rows[i].Why = p.adviseAbandon(p.name, r.Why)
		}
	}
	return s
}

// AbandonIfRefused returns the step of a departed cluster that accepts none of its writes: the cluster is given up if people abandoned it. false: they
// did not, or something there waits for something else.
func AbandonIfRefused(w state.Snapshot, s Step) (Step, bool) {
	p := departure{newCluster(w, s.Cluster, nil, nil)}
	rows, ok := p.abandonedRows(s.Rows, func(r Row) bool { return r.Phase == Changing || r.Phase == Removed || p.waitsForHidden(r) })
	return Step{Cluster: s.Cluster, Commit: s.Commit, Rows: rows}, ok
}

// abandonedRows returns the row of an abandoned cluster, if nothing that is left there can be removed; else the rows as they were.
func (p departure) abandonedRows(rows []Row, stuck func(Row) bool) ([]Row, bool) {
	if !p.Abandoned[p.name] || !p.HasLeft(p.name) {
		return rows, false
	}
	var left []object.End
	for _, r := range rows {
		switch {
		case r.End.IsBase() && len(rows) > 1: // it goes when the links did
		case stuck(r):
			left = append(left, r.End)
		case r.Phase != Removed:
			return rows, false
		}
	}
	return []Row{p.abandonedRow(left...)}, true
}

// waitsForHidden reports whether a row waits for something that may not be read in its own cluster.
func (p departure) waitsForHidden(r Row) bool {
	return r.Why != nil && slices.ContainsFunc(p.current.Live.Hidden, func(h object.Hidden) bool { return *h.Why() == *r.Why })
}

// confirmEmpty sorts Look, and asks for one more read before a cluster without anything of linkwright leaves the record.
func (c *cluster) confirmEmpty(s Step) Step {
	if _, remembered := c.UIDs[c.name]; remembered && s.Left() && c.current.Round != c.Round {
		s.ReadFirst = append(s.ReadFirst, c.name)
	}
	slices.Sort(s.ReadFirst)
	s.ReadFirst = slices.Compact(s.ReadFirst)
	return s
}

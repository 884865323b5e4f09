package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// LinkList lists the links that inventories record.
func (o Overview) LinkList() Listing {
	d := o.document()
	return listing(output.KindLinkList, d.Links, func(all []output.Link, wide bool) [][]string { return linkRows(all, d.at, wide, shownOnce{}) })
}

// ClusterList lists the clusters of the record.
func (o Overview) ClusterList() Listing {
	d := o.document()
	return listing(output.KindClusterList, d.Clusters, func(all []output.Cluster, wide bool) [][]string { return clusterRows(all, d.at, wide) })
}

// RevisionList lists the revisions that the record or a cluster names.
func (o Overview) RevisionList() Listing {
	d := o.document()
	return listing(output.KindRevisionList, d.Revisions, func(all []output.Revision, wide bool) [][]string { return revisionRows(all, d.at, wide) })
}

// EventList lists the last transitions that conditions and the record note, newest last.
func (o Overview) EventList() Listing {
	d := o.document()
	events := sorted(slices.Concat(o.linkEvents(d.Links...), o.suspensionEvents(), approvalEvents(o.Approvals), removedEvents(o.Removed), revisionEvents(d.Revisions)))
	return listing(output.KindEventList, events, func(all []output.Event, _ bool) [][]string { return eventRows(all, d.at) })
}

func clusterRows(all []output.Cluster, now time.Time, wide bool) [][]string {
	rows := [][]string{{"name", "ready", "status", "revision", "links", "message"}}
	if wide {
		rows = [][]string{{"name", "ready", "status", "revision", "links", "cleanup pending", "message"}}
	}
	for _, c := range all {
		row := []string{c.Name, c.Ready, c.Status, short(c.Revision), fmt.Sprintf("%d/%d", c.Links.Ready, c.Links.Total)}
		if wide {
			row[3] = c.Revision
			row = append(row, pendingCell(c, now))
		}
		rows = append(rows, append(row, message(c.Status, c.Reason)))
	}
	return rows
}

func pendingCell(c output.Cluster, now time.Time) string {
	var out []string
	for _, p := range c.PendingCleanup {
		out = append(out, pair(p.Source, p.Target)+" for "+old(now.Sub(p.Since)))
	}
	return strings.Join(out, ", ")
}

func revisionRows(all []output.Revision, now time.Time, wide bool) [][]string {
	rows := [][]string{{"revision", "state", "age", "clusters", "message"}}
	for _, r := range all {
		name := short(r.Revision)
		if wide {
			name = r.Revision
		}
		rows = append(rows, []string{name, r.State, age(r.Since, now), strings.Join(r.Clusters, ","), sentence(r.Reason)})
	}
	return rows
}

// short is how tables show a commit; empty for none.
func short(commit string) string {
	if commit == "" {
		return ""
	}
	return api.Commit(commit).Short()
}

// shortRef is how tables show what an event is about.
func shortRef(ref string) string {
	if commit, ok := strings.CutPrefix(ref, "revision/"); ok {
		return "revision/" + short(commit)
	}
	return ref
}

func eventRows(all []output.Event, now time.Time) [][]string {
	rows := [][]string{{"last seen", "type", "reason", "object", "message"}}
	for _, e := range all {
		text := e.Condition + " is " + e.Status
		if e.Message != "" {
			text += ": " + e.Message
		}
		rows = append(rows, []string{cmp.Or(age(e.LastTransition, now), moment(e.LastTransition)), e.Type, e.Reason, shortRef(e.Object), text})
	}
	return rows
}

// conditionEvents are the last transitions of a link's conditions, newest last.
func conditionEvents(l output.Link) []output.Event {
	out := make([]output.Event, 0, len(l.Conditions))
	for _, c := range l.Conditions {
		kind := output.Normal
		if c.Type == object.Stalled && c.Status == object.True || c.Type == object.Ready && c.Status == object.False {
			kind = output.Warning
		}
		out = append(out, output.Event{
			TypeMeta: output.Of(output.KindEvent), Type: kind, Reason: string(c.Reason), Object: l.Ref(),
			Condition: c.Type, Status: c.Status, Message: c.Message, LastTransition: c.Since,
		})
	}
	return sorted(out)
}

// revisionEvents say since when a revision is applied, or observed and not applied.
func revisionEvents(all []output.Revision) (out []output.Event) {
	for _, r := range all {
		e := output.Event{TypeMeta: output.Of(output.KindEvent), Object: r.Ref(), Condition: output.Applied, LastTransition: r.Since}
		switch {
		case r.Since.IsZero():
			continue
		case r.Reason == nil:
			e.Type, e.Status, e.Reason = output.Normal, object.True, string(reason.Applied)
		default:
			e.Type, e.Status, e.Reason, e.Message = output.Warning, object.False, string(r.Reason.Code), r.Reason.Message
			if r.State == output.Applied { // except its removals
				e.Status = object.True
			}
		}
		out = append(out, e)
	}
	return out
}

// sorted has the newest event last.
func sorted(all []output.Event) []output.Event {
	slices.SortStableFunc(all, func(a, b output.Event) int {
		return cmp.Or(a.LastTransition.Compare(b.LastTransition), cmp.Compare(a.Object, b.Object))
	})
	return all
}

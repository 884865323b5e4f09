package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// ready is the condition Ready of a link as it is to be shown.
//
//	a guard or policy denies an end    False    Denied
//	an end leaves, and a write failed  False    as it is recorded
//	an end leaves                      False    Leaving
//	its removal was suspended, and is
//	not any more                       False    Leaving
//	the source was not read            Unknown  NotRead
//	nothing is recorded                Unknown  NotReported
//	it is True, and a Secret is gone   False    SecretMissing
//	it is not, and a Secret is gone    as it is recorded, and names the Secret
//	it is True of another revision     False    RevisionMismatch
//	the process that synced is lost    Unknown  NotSynced, unless it is Stalled or Blocked
//	else                               as it is recorded
//
// That is how Kubernetes shows a node whose kubelet stopped reporting.
func (o Overview) ready(l RecordedLink) object.Condition {
	at := slices.IndexFunc(l.Conditions, func(c object.Condition) bool { return c.Type == object.Ready })
	is := func(status string, code reason.Code, message string) object.Condition {
		return object.Condition{Type: object.Ready, Status: status, Reason: code, Message: message}
	}
	switch {
	case l.Source != LeavingEnd && at >= 0 && l.Conditions[at].Reason == reason.Denied:
		return l.Conditions[at]
	case l.Target != LeavingEnd && l.Denied != nil:
		return *l.Denied
	case l.Failed != nil:
		return failedRemoval(*l.Failed)
	case l.Source == LeavingEnd || l.Target == LeavingEnd:
		return is(object.False, reason.Leaving, "it is being removed")
	case suspendedWith(l.Conditions, reason.Leaving) && o.Revision.suspension(l) == nil:
		return is(object.False, reason.Leaving, "its removal is not suspended any more: the next sync goes on with that, unless the link is declared again")
	case l.Source == UnknownEnd:
		return is(object.Unknown, reason.NotRead, fmt.Sprintf("cluster %s was not read", l.Pair.Source))
	case at < 0:
		return is(object.Unknown, reason.NotReported, "linkwright has not written about the link yet: run linkwright status --repo URL")
	case l.Conditions[at].Status != object.True && len(l.Missing) > 0:
		c := l.Conditions[at]
		c.Message = strings.TrimPrefix(c.Message+"; ", "; ") + fmt.Sprintf("%s is missing", l.Missing[0])
		return c
	case l.Conditions[at].Status == object.True && len(l.Missing) > 0:
		return is(object.False, reason.SecretMissing, fmt.Sprintf("%s is missing", l.Missing[0]))
	case !slices.Contains([]string{object.Stalled, string(Blocked)}, statusWord(l, l.Conditions[at])) && o.syncedBy(l.Pair.Source).lost(o.At):
		died := o.syncedBy(l.Pair.Source).Renewed
		c := is(object.Unknown, reason.NotSynced, "no process syncs "+string(l.Pair.Source)+", so nothing is known since "+moment(died))
		c.Since = died
		return c
	case l.Conditions[at].Status == object.True:
		for _, name := range []api.ClusterName{l.Pair.Source, l.Pair.Target} {
			if other := o.other(name); other != "" {
				return is(object.False, reason.RevisionMismatch, fmt.Sprintf("revision %s is not applied in %s, which carries %s", o.Revision.Applied.Short(), name, other.Short()))
			}
		}
	}
	return l.Conditions[at]
}

// failedRemoval is the condition Ready of a link, from that by which an end that leaves records which write failed.
func failedRemoval(c object.Condition) object.Condition {
	c.Message = "it is being removed: " + c.Message
	return c
}

// other is the revision that a cluster carries instead of the applied one; empty: it carries that, none, or has nothing written.
func (o Overview) other(name api.ClusterName) api.Commit {
	for _, c := range o.Clusters {
		if c.Name == name && o.Revision.Applied != "" && c.Applied != o.Revision.Applied && c.Suspended == nil && !slices.Contains(o.Revision.Suspended, name) {
			return c.Applied
		}
	}
	return ""
}

// unwritten is how many links the applied revision declares and no inventory records; 0 if not all clusters were read.
func (o Overview) unwritten() int {
	n := o.Revision.Links
	for _, l := range o.Links {
		if l.Source == RecordedEnd && !o.Revision.suspends(l.Pair) {
			n--
		}
	}
	if slices.ContainsFunc(o.Clusters, func(c RecordedCluster) bool { return c.Why != nil }) {
		return 0
	}
	return max(n, 0)
}

// suspension says why nothing of a link is written, because people decided or declared that; nil: they did not.
func (r Revision) suspension(l RecordedLink) *object.Reason {
	switch {
	case l.Suspended != nil:
		return l.Suspended
	case slices.Contains(r.SuspendedLinks, l.Pair):
		return object.Because(reason.Suspended, "its Link has suspend: true, so linkwright leaves both ends as they are: to resume, remove suspend")
	case slices.Contains(r.Suspended, l.Pair.Source):
		return plan.SuspendedCluster(l.Pair.Source)
	case slices.Contains(r.Suspended, l.Pair.Target):
		return plan.SuspendedCluster(l.Pair.Target)
	}
	return nil
}

// holdsRemoval says that a link would be removed if it were not suspended, as the inventory of its source's end records.
func (r Revision) holdsRemoval(l RecordedLink) bool {
	return r.suspension(l) != nil && suspendedWith(l.Conditions, reason.Leaving)
}

// suspends says that the applied revision writes nothing of a link.
func (r Revision) suspends(link api.Pair) bool {
	return slices.Contains(r.SuspendedLinks, link) || slices.Contains(r.Suspended, link.Source) || slices.Contains(r.Suspended, link.Target)
}

// statusWord is the one word for a link whose condition Ready is c.
func statusWord(l RecordedLink, c object.Condition) string {
	is := func(kind string) bool {
		return slices.ContainsFunc(l.Conditions, func(c object.Condition) bool { return c.Type == kind && c.Status == object.True })
	}
	switch {
	case c.Status == object.True:
		return object.Ready
	case c.Status == object.Unknown:
		return object.Unknown
	case c.Reason == reason.Denied || c.Reason == reason.Leaving:
		return string(c.Reason)
	case l.Failed != nil:
		return object.Stalled
	case c.Reason == reason.RevisionMismatch || c.Reason == reason.SecretMissing || is(object.Reconciling):
		return "Progressing"
	case c.Reason == reason.NotRendered || c.Reason == reason.TargetNotRead:
		return string(Blocked)
	}
	return object.Stalled
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// ready is the condition Ready of a link as it is to be told.
//
//	a guard or policy denies an end    False    Denied
//	an end leaves                      False    Leaving
//	the source was not read            Unknown  NotRead
//	nothing was told                   Unknown  NotReported
//	it is True, and a Secret is gone   False    SecretMissing
//	it is not, and a Secret is gone    as it was told last, and names the Secret
//	it is True of another revision     False    RevisionMismatch
//	else                               as it was told last
func (t Told) ready(l ToldLink) object.Condition {
	told := slices.IndexFunc(l.Conditions, func(c object.Condition) bool { return c.Type == object.Ready })
	is := func(status string, code reason.Code, message string) object.Condition {
		return object.Condition{Type: object.Ready, Status: status, Reason: code, Message: message}
	}
	switch {
	case l.Source != LeavingEnd && told >= 0 && l.Conditions[told].Reason == reason.Denied:
		return l.Conditions[told]
	case l.Target != LeavingEnd && l.Denied != nil:
		return *l.Denied
	case l.Source == LeavingEnd || l.Target == LeavingEnd:
		return is(object.False, reason.Leaving, "it is being removed")
	case l.Source == UnknownEnd:
		return is(object.Unknown, reason.NotRead, "")
	case told < 0:
		return is(object.Unknown, reason.NotReported, "")
	case l.Conditions[told].Status != object.True && len(l.Missing) > 0:
		c := l.Conditions[told]
		c.Message = strings.TrimPrefix(c.Message+"; ", "; ") + fmt.Sprintf("%s is missing", l.Missing[0])
		return c
	case l.Conditions[told].Status != object.True:
	case len(l.Missing) > 0:
		return is(object.False, reason.SecretMissing, fmt.Sprintf("%s is missing", l.Missing[0]))
	default:
		for _, name := range []api.ClusterName{l.Pair.Source, l.Pair.Target} {
			if other := t.other(name); other != "" {
				return is(object.False, reason.RevisionMismatch, fmt.Sprintf("revision %s is not applied in %s, which carries %s", t.Revision.Applied.Short(), name, other.Short()))
			}
		}
	}
	return l.Conditions[told]
}

// other is the revision that a cluster carries instead of the applied one; empty: it carries that, none, or has nothing written.
func (t Told) other(name api.ClusterName) api.Commit {
	for _, c := range t.Clusters {
		if c.Name == name && t.Revision.Applied != "" && c.Applied != t.Revision.Applied && !slices.Contains(t.Revision.Suspended, name) {
			return c.Applied
		}
	}
	return ""
}

// unwritten is of how many links that the applied revision declares no inventory tells, if all clusters were read.
func (t Told) unwritten() int {
	n := t.Revision.Links
	for _, l := range t.Links {
		if l.Source == Recorded && !t.Revision.suspends(l.Pair) {
			n--
		}
	}
	if slices.ContainsFunc(t.Clusters, func(c ToldCluster) bool { return c.Why != nil }) {
		return 0
	}
	return max(n, 0)
}

// suspends says that the applied revision writes nothing of a link.
func (r Revision) suspends(link api.Pair) bool {
	return slices.Contains(r.SuspendedLinks, link) || slices.Contains(r.Suspended, link.Source) || slices.Contains(r.Suspended, link.Target)
}

// statusWord is the one word for a link whose condition Ready is c.
func statusWord(l ToldLink, c object.Condition) string {
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
	case c.Reason == reason.RevisionMismatch || c.Reason == reason.SecretMissing || is(object.Reconciling):
		return "Progressing"
	}
	return object.Stalled
}

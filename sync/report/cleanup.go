package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

// abandoned reports whether a base has its status because people gave the cluster up.
func abandoned(why *object.Reason) bool { return why != nil && why.Code == reason.Abandoned }

func pendingOf(m mask, all []state.Pending) (out []output.PendingCleanup) {
	for _, o := range all {
		out = append(out, output.PendingCleanup{
			Source: string(o.Link.Source), Target: string(o.Link.Target), Since: o.Since.UTC().Truncate(time.Second), Left: m.line(o.Left),
		})
	}
	return out
}

// abandonedBy is why a cluster is abandoned that cannot be read, although no sync has followed that decision yet; nil: nobody decided that.
func (o Opening) abandonedBy(c RecordedCluster) *object.Reason {
	at := slices.IndexFunc(o.Decisions, func(d Decision) bool { return d.Kind == abandonKind && d.Object == string(c.Name) && !d.Unread })
	if at < 0 || c.Why == nil {
		return nil
	}
	d := o.Decisions[at]
	stays := ""
	if len(d.Stays) > 0 {
		stays = ", and what it holds of " + object.Count(len(d.Stays), "removed link") + " stays there"
	}
	return object.Because(reason.Abandoned, "by %s at %s: the next sync gives the cluster up%s; it cannot be read: %s", d.By, moment(d.At), stays, message("", c.Why))
}

// perCluster is how many ends of a cluster are listed one by one; JSON has all.
const perCluster = 3

// pending has one line for each cluster, since it is one cluster that must come back.
func (d document) pending() (rows []string) {
	for _, r := range d.pendingRows() {
		rows = append(rows, r[0]+"\tCleanupPending\t"+r[1]+": "+r[2])
	}
	return rows
}

func (d document) pendingTable() string {
	return markdownTable(append([][]string{{"cluster", "cleanup pending", "what is left there"}}, d.pendingRows()...))
}

func (d document) pendingRows() (rows [][]string) {
	for _, c := range d.clusters {
		if len(c.PendingCleanup) > 0 {
			rows = append(rows, d.pendingRow(c.Cluster))
		}
	}
	return rows
}

// pendingRow is the row of one cluster.
func (d document) pendingRow(c output.Cluster) []string {
	var links []string
	ends := c.PendingCleanup
	for i, p := range ends {
		if i == perCluster {
			links = append(links, fmt.Sprintf("and %d more", len(ends)-i))
			break
		}
		links = append(links, fmt.Sprintf("%s for %s", pair(p.Source, p.Target), old(d.at.Sub(p.Since))))
	}
	left := ends[0].Left
	if len(ends) > 1 {
		left = fmt.Sprintf("of %s: %s", pair(ends[0].Source, ends[0].Target), left)
	}
	return []string{c.Name, strings.Join(links, ", "), left + "; linkwright removes it once the cluster can be read"}
}

// old is for how long a cleanup has been pending. One that is younger than the clock says has no age, rather than a wrong one.
func old(age time.Duration) string {
	switch {
	case age < time.Minute:
		return "less than a minute"
	case age < 2*time.Hour:
		return fmt.Sprintf("%d min", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h", int(age.Hours()))
	default:
		return fmt.Sprintf("%d days", int(age.Hours()/24))
	}
}

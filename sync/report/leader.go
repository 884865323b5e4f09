package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Leader is what a Lease says of who syncs.
type Leader struct {
	Only    api.ClusterName // the cluster of --only-write; empty: it is the installation's lease
	Lease   string          // namespace/name
	Holder  string          // empty: it was released
	Renewed time.Time       // zero: it does not matter
	Lasts   time.Duration   // how long a lease holds after it was renewed
	Last    Sync            // the last that ended; zero: none is recorded
}

// Sync is one that ended.
type Sync struct {
	By string
	At time.Time
}

// lost says that the holder did not release the lease and does not renew it any more: it died, or cannot reach the management cluster.
func (l Leader) lost(now time.Time) bool {
	return l.Holder != "" && !l.Renewed.IsZero() && now.After(l.Renewed.Add(l.Lasts))
}

// silent says that a leader has not renewed its lease for so long that it may be gone: three renewals of those that a process makes
// (lease.DefaultRetry of lease.DefaultDuration) are missing.
func (l Leader) silent(now time.Time) bool {
	return l.Leads(now) && !l.Renewed.IsZero() && now.Sub(l.Renewed) > l.Lasts*2/5
}

// Leads says that somebody holds the lease and renews it.
func (l Leader) Leads(now time.Time) bool { return l.Holder != "" && !l.lost(now) }

// ended is when the holder last renewed the lease, or when the last sync ended after which it was released; zero: neither is known.
func (l Leader) ended() time.Time {
	if l.Holder == "" && !l.Last.At.IsZero() {
		return l.Last.At
	}
	return l.Renewed
}

// still is the same without when a leader renewed its lease last, which it does again and again. A silent one gets some other time: that
// is news once, also if it is always behind because clocks differ.
func (l Leader) still(now time.Time) Leader {
	switch {
	case l.silent(now):
		l.Renewed = time.Unix(0, 0)
	case l.Leads(now):
		l.Renewed = time.Time{}
	}
	return l
}

// States of a lease.
const (
	leading  = "leading"
	lost     = "lost"
	released = "released"
)

// leaderDoc is a Leader as it may be shown.
type leaderDoc struct {
	output.Leader
	lease  string
	silent bool
	lasts  time.Duration
}

// leaderAt is nil where no lease was ever taken, or it could not be read.
func leaderAt(m mask, l *Leader, now time.Time) *leaderDoc {
	if l == nil {
		return nil
	}
	d := leaderDoc{output.Leader{
		OnlyWrite: string(l.Only), Holder: m.line(l.Holder), Renewed: l.Renewed.UTC(), State: leading,
		LastSync: m.line(l.Last.By), LastSyncEnded: l.Last.At,
	}, l.Lease, l.silent(now), l.Lasts}
	switch {
	case l.lost(now):
		d.State = lost
	case l.Holder == "":
		d.State = released
	}
	return &d
}

// writersAt are those of --only-write, in their order.
func writersAt(m mask, writers []Leader, now time.Time) (out []leaderDoc) {
	for _, l := range writers {
		out = append(out, *leaderAt(m, &l, now))
	}
	return out
}

// again is what to do if the process that synced is gone.
const again = "Start it again, or run linkwright sync --repo URL."

// line says who syncs. ago is the age of a moment, or nothing.
func (l *leaderDoc) line(ago func(time.Time) string) string {
	switch {
	case l == nil:
		return "No lease of linkwright run or sync is found.\n"
	case l.State == lost:
		return fmt.Sprintf("No process syncs: %s had the lease and has not renewed it since %s%s. %s\n", l.Holder, moment(l.Renewed), ago(l.Renewed), again)
	case l.State == released && l.LastSync != "":
		return fmt.Sprintf("The last sync, by %s, ended at %s%s.\n", l.LastSync, moment(l.LastSyncEnded), ago(l.LastSyncEnded))
	case l.State == released:
		return fmt.Sprintf("The last sync ended at %s%s.\n", moment(l.Renewed), ago(l.Renewed))
	}
	return l.leads("", ago)
}

// leads says that a process leads, and if it is silent when it last renewed its lease, and what follows.
func (l *leaderDoc) leads(only string, ago func(time.Time) string) string {
	if since := strings.TrimPrefix(ago(l.Renewed), ", "); l.silent && since != "" && !l.Renewed.IsZero() {
		return fmt.Sprintf("%s leads%s, but it last renewed its Lease %s: it may be gone, and then nothing is repaired. "+
			"A standby takes over %v after the last renewal, and a new process %v after its start.\n", l.Holder, only, since, l.lasts, l.lasts)
	}
	return l.Holder + " leads" + only + ".\n"
}

// writerLines are one line for each process with --only-write that leads, with its clusters, and one for any other such lease.
func writerLines(writers []leaderDoc, ago func(time.Time) string) string {
	var lines, holders []string
	oldest, clusters := map[string]leaderDoc{}, map[string][]string{}
	for _, l := range writers {
		switch l.State {
		case leading:
			if clusters[l.Holder] == nil {
				holders = append(holders, l.Holder)
			}
			if at, known := oldest[l.Holder]; !known || l.Renewed.Before(at.Renewed) {
				oldest[l.Holder] = l
			}
			clusters[l.Holder] = append(clusters[l.Holder], l.OnlyWrite)
		case lost:
			lines = append(lines, fmt.Sprintf("No process syncs %s with --only-write: %s had the lease and has not renewed it since %s%s. "+
				"Start the process again, or delete Lease %s if you no longer need it.\n", l.OnlyWrite, l.Holder, moment(l.Renewed), ago(l.Renewed), l.lease))
		default:
			lines = append(lines, fmt.Sprintf("The last sync of %s with --only-write, by %s, ended at %s%s.\n", l.OnlyWrite, l.LastSync, moment(l.LastSyncEnded), ago(l.LastSyncEnded)))
		}
	}
	for _, holder := range holders {
		l := oldest[holder]
		lines = append(lines, l.leads(" with --only-write "+strings.Join(clusters[holder], ", "), ago))
	}
	return strings.Join(lines, "")
}

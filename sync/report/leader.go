package report

import (
	"fmt"
	"time"
)

// Leader is what the installation's Lease says of who syncs.
type Leader struct {
	Holder  string // empty: it was released
	Renewed time.Time
	Lasts   time.Duration // how long a lease holds after it was renewed
	Last    Sync          // the last that ended; zero: nobody noted one
}

// Sync is one that ended.
type Sync struct {
	By string
	At time.Time
}

// lost says that the holder did not release the lease and does not renew it any more: it died, or cannot reach the management cluster.
func (l Leader) lost(now time.Time) bool { return l.Holder != "" && now.After(l.Renewed.Add(l.Lasts)) }

// leaderDoc is a Leader as it may be shown.
type leaderDoc struct {
	Holder  string    `json:"holder,omitempty"`
	Renewed time.Time `json:"renewed"`
	State   string    `json:"state"`              // leading, lost or released
	By      string    `json:"lastSync,omitempty"` // whose the last sync that ended was
	Ended   time.Time `json:"lastSyncEnded,omitzero"`
}

// leaderAt is nil where no lease was ever taken, or it could not be read.
func leaderAt(m mask, l *Leader, now time.Time) *leaderDoc {
	if l == nil {
		return nil
	}
	d := leaderDoc{m.line(l.Holder), l.Renewed.UTC(), "leading", m.line(l.Last.By), l.Last.At}
	switch {
	case l.lost(now):
		d.State = "lost"
	case l.Holder == "":
		d.State = "released"
	}
	return &d
}

// line says who syncs. ago is the age of a moment, or nothing.
func (l *leaderDoc) line(ago func(time.Time) string) string {
	switch {
	case l == nil:
		return "No lease of linkwright run or sync is found.\n"
	case l.State == "lost":
		return fmt.Sprintf("Nobody syncs: %s held the lease and has not renewed it since %s%s.\n", l.Holder, moment(l.Renewed), ago(l.Renewed))
	case l.State == "released" && l.By != "":
		return fmt.Sprintf("The last sync, by %s, ended at %s%s.\n", l.By, moment(l.Ended), ago(l.Ended))
	case l.State == "released":
		return fmt.Sprintf("The last sync ended at %s%s.\n", moment(l.Renewed), ago(l.Renewed))
	}
	return l.Holder + " leads.\n"
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
)

// Leader is what the installation's Lease says of who syncs.
type Leader struct {
	Holder  string // empty: it was released
	Renewed time.Time
	Lasts   time.Duration // how long a lease holds after it was renewed
}

// lost says that the holder did not release the lease and does not renew it any more: it died, or cannot reach the management cluster.
func (l Leader) lost(now time.Time) bool { return l.Holder != "" && now.After(l.Renewed.Add(l.Lasts)) }

// leaderDoc is a Leader as it may be shown.
type leaderDoc struct {
	Holder  string    `json:"holder,omitempty"`
	Renewed time.Time `json:"renewed"`
	State   string    `json:"state"` // leading, lost or released
}

// leaderAt is nil where no lease was ever taken, or it could not be read.
func leaderAt(l *Leader, now time.Time) *leaderDoc {
	switch {
	case l == nil:
		return nil
	case l.lost(now):
		return &leaderDoc{l.Holder, l.Renewed.UTC(), "lost"}
	case l.Holder == "":
		return &leaderDoc{"", l.Renewed.UTC(), "released"}
	}
	return &leaderDoc{l.Holder, l.Renewed.UTC(), "leading"}
}

// line says who syncs. ago is the age of a moment, or nothing.
func (l *leaderDoc) line(ago func(time.Time) string) string {
	switch {
	case l == nil:
		return "No lease of linkwright run or sync is found.\n"
	case l.State == "lost":
		return fmt.Sprintf("Nobody syncs: %s held the lease and has not renewed it since %s%s.\n", l.Holder, moment(l.Renewed), ago(l.Renewed))
	case l.State == "released":
		return fmt.Sprintf("The last sync ended at %s%s.\n", moment(l.Renewed), ago(l.Renewed))
	}
	return l.Holder + " leads.\n"
}

// applied says which revision is applied in which clusters: one line, the newest knowledge being that of each cluster.
func (d toldDoc) applied() string {
	in := map[string][]string{}
	read := 0
	for _, c := range d.Clusters {
		if c.Read {
			read++
			in[c.Applied] = append(in[c.Applied], c.Name)
		}
	}
	var parts []string
	for commit, names := range in {
		where := fmt.Sprintf("in %d of %s (%s)", len(names), count(len(d.Clusters), "cluster"), strings.Join(names, ", "))
		if len(names) == len(d.Clusters) {
			where = "in all " + count(len(names), "cluster")
			if len(names) == 1 {
				where = "in the only cluster"
			}
		}
		switch commit {
		case "":
			parts = append(parts, "no revision is applied "+where)
		default:
			parts = append(parts, "revision "+api.Commit(commit).Short()+" is applied "+where)
		}
	}
	if read == 0 {
		return ""
	}
	slices.Sort(parts)
	line := strings.Join(parts, "; ")
	return strings.ToUpper(line[:1]) + line[1:] + ". "
}

// head is the line that status opens with.
func (d toldDoc) head() string {
	ago := func(at time.Time) string {
		if d.at.IsZero() {
			return ""
		}
		return ", " + d.at.Sub(at).Round(time.Second).String() + " ago"
	}
	return d.applied() + d.Leader.line(ago)
}

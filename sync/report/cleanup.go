package report

import (
	"fmt"
	"strings"
	"time"
)

// cleanupDoc is an end of a removed link that is still in a cluster, which could not be read when the rest of the link was removed.
type cleanupDoc struct {
	Cluster string  `json:"cluster"`
	Source  string  `json:"source"`
	Target  string  `json:"target"`
	Since   string  `json:"since"`             // RFC 3339
	Seconds float64 `json:"seconds,omitempty"` // its age
	Left    string  `json:"left"`              // what is there
}

func (r Report) cleanup() []cleanupDoc {
	out := []cleanupDoc{}
	for _, c := range r.Clusters {
		for _, o := range c.Cleanup {
			d := cleanupDoc{
				Cluster: string(c.Name), Source: string(o.Link.Source), Target: string(o.Link.Target),
				Since: o.Since.UTC().Format(time.RFC3339), Left: o.Left,
			}
			if r.At.After(o.Since) {
				d.Seconds = r.At.Sub(o.Since).Truncate(time.Second).Seconds()
			}
			out = append(out, d)
		}
	}
	return out
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
	for at := 0; at < len(d.Cleanup); {
		n := at
		for n < len(d.Cleanup) && d.Cleanup[n].Cluster == d.Cleanup[at].Cluster {
			n++
		}
		rows = append(rows, pendingRow(d.Cleanup[at:n]))
		at = n
	}
	return rows
}

// pendingRow is the row of one cluster.
func pendingRow(ends []cleanupDoc) []string {
	var links []string
	for i, d := range ends {
		if i == perCluster {
			links = append(links, fmt.Sprintf("and %d more", len(ends)-i))
			break
		}
		links = append(links, fmt.Sprintf("%s→%s for %s", d.Source, d.Target, age(d)))
	}
	left := ends[0].Left
	if len(ends) > 1 {
		left = fmt.Sprintf("of %s→%s: %s", ends[0].Source, ends[0].Target, left)
	}
	return []string{ends[0].Cluster, strings.Join(links, ", "), left + "; linkwright removes it once the cluster can be read"}
}

// age is for how long a cleanup has been pending.
func age(d cleanupDoc) string {
	switch old := time.Duration(d.Seconds) * time.Second; {
	case old < time.Minute:
		return "less than a minute"
	case old < 2*time.Hour:
		return fmt.Sprintf("%d min", int(old.Minutes()))
	case old < 48*time.Hour:
		return fmt.Sprintf("%d h", int(old.Hours()))
	default:
		return fmt.Sprintf("%d days", int(old.Hours()/24))
	}
}

package report

import (
	"fmt"
	"strings"
	"time"
)

// debtDoc is an end of a removed link that waits in a cluster which could not be read when the rest of the link went.
type debtDoc struct {
	Cluster string  `json:"cluster"`
	Source  string  `json:"source"`
	Target  string  `json:"target"`
	Since   string  `json:"since"`             // RFC 3339
	Seconds float64 `json:"seconds,omitempty"` // so old it is
	Left    string  `json:"left"`              // what that is
}

func (r Report) debts() []debtDoc {
	out := []debtDoc{}
	for _, c := range r.Clusters {
		for _, o := range c.Debts {
			d := debtDoc{
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

// perCluster is how many debts of a cluster are told one by one; JSON has all.
const perCluster = 3

// owed tells each cluster's debts in one line, since it is one cluster that must come back.
func (d document) owed() (rows []string) {
	for _, r := range d.owing() {
		rows = append(rows, r[0]+"\towes "+r[1]+"\t"+r[2])
	}
	return rows
}

func (d document) owedTable() string {
	return markdownTable(append([][]string{{"cluster", "owes", "what is left there"}}, d.owing()...))
}

func (d document) owing() (rows [][]string) {
	for at := 0; at < len(d.Debts); {
		n := at
		for n < len(d.Debts) && d.Debts[n].Cluster == d.Debts[at].Cluster {
			n++
		}
		rows = append(rows, owes(d.Debts[at:n]))
		at = n
	}
	return rows
}

// owes is the row of one cluster.
func owes(debts []debtDoc) []string {
	var links []string
	for i, d := range debts {
		if i == perCluster {
			links = append(links, fmt.Sprintf("and %d more", len(debts)-i))
			break
		}
		links = append(links, fmt.Sprintf("%s→%s for %s", d.Source, d.Target, age(d)))
	}
	left := debts[0].Left
	if len(debts) > 1 {
		left = fmt.Sprintf("of %s→%s: %s", debts[0].Source, debts[0].Target, left)
	}
	return []string{debts[0].Cluster, strings.Join(links, ", "), left + "; it goes once the cluster can be read"}
}

// age is how old a debt is, in what people count such time by.
func age(d debtDoc) string {
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

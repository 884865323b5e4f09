package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Revision is which revision is applied, which was observed last, and why that one is not applied: as the management cluster's record
// says. The zero value says nothing.
type Revision struct {
	Applied, Observed api.Commit
	Why               *object.Reason // nil: the observed one is applied
	Since             time.Time
	Links             int               // that the applied one has written: declared, and not suspended
	Suspended         []api.ClusterName // in which the applied one has nothing written
	SuspendedLinks    []api.Pair        // that Links does not count although their clusters are written
}

// Opening is what status opens with.
type Opening struct {
	Revision Revision
	Leader   *Leader   // nil: there is no lease, or it could not be read
	Writers  []Leader  // of processes with --only-write; sorted by cluster
	At       time.Time // when all of it was read
}

// Clean says that the observed revision is the applied one, and that whoever leads is alive.
func (o Opening) Clean() bool {
	dead := func(l Leader) bool { return l.lost(o.At) }
	return o.Revision.Why == nil && (o.Leader == nil || !dead(*o.Leader)) && !slices.ContainsFunc(o.Writers, dead)
}

// revisionDoc is a Revision as it may be shown.
type revisionDoc struct {
	Applied  string         `json:"applied,omitempty"`
	Observed string         `json:"observed,omitempty"`
	Reason   *object.Reason `json:"reason,omitempty"` // why the observed one is not applied
	Since    time.Time      `json:"since,omitzero"`
}

func revisionDocOf(m mask, r Revision) *revisionDoc {
	if r.Applied == "" && r.Observed == "" && r.Why == nil {
		return nil
	}
	return &revisionDoc{string(r.Applied), string(r.Observed), m.reason(r.Why), r.Since.UTC()}
}

// openingDoc is an Opening as it may be shown, over clusters and the revisions that they carry.
type openingDoc struct {
	Revision *revisionDoc `json:"revision,omitempty"`
	Leader   *leaderDoc   `json:"leader,omitempty"`
	Writers  []leaderDoc  `json:"writers,omitempty"` // processes with --only-write; sorted by cluster
	clusters []carried
	at       time.Time // what ages are counted to; zero: none are told
}

// carried is the revision that a cluster's base carries; empty: none.
type carried struct {
	name, commit string
	read         bool
}

func openingDocOf(m mask, o Opening, clusters []carried) openingDoc {
	return openingDoc{revisionDocOf(m, o.Revision), leaderAt(m, o.Leader, o.At), writersAt(m, o.Writers, o.At), clusters, o.At}
}

// line is what status opens with: one line, and then those of processes with --only-write.
func (d openingDoc) line() string {
	ago := func(at time.Time) string {
		if d.at.IsZero() {
			return ""
		}
		return ", " + d.at.Sub(at).Round(time.Second).String() + " ago"
	}
	line := d.applied() + d.Revision.line(ago)
	switch {
	case d.Leader != nil || len(d.Writers) == 0:
		line += d.Leader.line(ago)
	case line != "":
		line = strings.TrimSuffix(line, " ") + "\n"
	}
	return line + writerLines(d.Writers, ago)
}

// applied says which revision is applied in which clusters: the newest knowledge is that of each cluster.
func (d openingDoc) applied() string {
	in := map[string][]string{}
	read := 0
	for _, c := range d.clusters {
		if c.read {
			read++
			in[c.commit] = append(in[c.commit], c.name)
		}
	}
	var parts []string
	for commit, names := range in {
		where := fmt.Sprintf("in %d of %s (%s)", len(names), count(len(d.clusters), "cluster"), strings.Join(names, ", "))
		if len(names) == len(d.clusters) {
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

// line says why the observed revision is not applied; empty: it is.
func (r *revisionDoc) line(ago func(time.Time) string) string {
	if r == nil || r.Reason == nil {
		return ""
	}
	since := ""
	if !r.Since.IsZero() {
		since = " since " + moment(r.Since) + ago(r.Since)
	}
	what := "What was observed is not applied"
	switch {
	case r.Reason.Code == reason.RepositoryNotRead:
		what = "The repository cannot be read"
	case r.Observed != "":
		what = "Revision " + api.Commit(r.Observed).Short() + " is observed and not applied"
	}
	return what + since + ": " + strings.TrimRight(sentence(r.Reason), ".") + ". "
}

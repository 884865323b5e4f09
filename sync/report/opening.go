package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Revision is which revision is applied, which was observed last, and why that one is not applied: as the management cluster's record
// says. The zero value says nothing.
type Revision struct {
	Applied, Observed api.Commit
	Why               *object.Reason // nil: the observed one is applied
	Since             time.Time
	AppliedSince      time.Time         // of the applied one alone
	Denied            *object.Reason    // what the applied one may not remove, and what people can do; nil: it may remove everything
	Approval          Approval          // of what is denied
	Links             int               // that the applied one has written: declared, and not suspended
	Suspended         []api.ClusterName // in which the applied one has nothing written
	SuspendedLinks    []api.Pair        // that Links does not count although their clusters are written
	Uninstall         Uninstall
}

// Uninstall is one that began and has not ended. The zero value is none.
type Uninstall struct {
	Since   time.Time
	Command string // that goes on with it
}

// UninstallOf is the uninstall of an installation that began then; the zero time: none did.
func UninstallOf(began time.Time, in object.Installation) Uninstall {
	return Uninstall{Since: began, Command: in.Command("uninstall --yes")}
}

// begun says that there is one.
func (u Uninstall) begun() bool { return !u.Since.IsZero() }

// next is how to end it; empty: there is none.
func (u Uninstall) next() string {
	if !u.begun() {
		return ""
	}
	return "Run " + u.Command + " again: a sync would write all that is declared again."
}

// Line says that it began, and how to end it; empty: there is none.
func (u Uninstall) Line() string {
	if !u.begun() {
		return ""
	}
	return "An uninstall began at " + moment(u.Since) + " and has not ended. " + u.next() + "\n"
}

// Approval is how people approve what is denied, or did.
type Approval struct {
	How   string // in short, for the row of a link: the command, or who approved it; empty: it is not known
	Given bool   // people approved it, and no sync followed yet
}

// Opening is what status opens with.
type Opening struct {
	Revision Revision
	Leader   *Leader   // nil: there is no lease, or it could not be read
	Unread   bool      // the lease could not be read
	Writers  []Leader  // of processes with --only-write; sorted by cluster
	At       time.Time // when all of it was read
	// Decisions are those of people that are in effect or not understood.
	Decisions []Decision
}

// current says that the observed revision is the applied one, that whoever leads is alive, and that no uninstall began.
func (o Opening) current() bool {
	dead := func(l Leader) bool { return l.lost(o.At) }
	return o.Revision.Why == nil && !o.Revision.Uninstall.begun() && (o.Leader == nil || !dead(*o.Leader)) && !slices.ContainsFunc(o.Writers, dead)
}

// syncedBy is who syncs a cluster, or synced it last; the zero value: nobody is known.
func (o Opening) syncedBy(name api.ClusterName) Leader {
	at := slices.IndexFunc(o.Writers, func(l Leader) bool { return l.Only == name })
	switch leads := o.Leader != nil && o.Leader.Leads(o.At); {
	case at >= 0 && !leads:
		return o.Writers[at]
	case o.Leader != nil:
		return *o.Leader
	}
	return Leader{}
}

// idle says that no process syncs a cluster now; false: one does, or nobody knows.
func (o Opening) idle(name api.ClusterName) bool { return !o.Unread && !o.syncedBy(name).Leads(o.At) }

// Idle says that no process syncs any cluster now; false: one does, or nobody knows.
func (o Opening) Idle() bool {
	return o.idle("") && !slices.ContainsFunc(o.Writers, func(l Leader) bool { return l.Leads(o.At) })
}

// openingDoc is an Opening as it may be shown, over clusters and the revisions that they carry.
type openingDoc struct {
	observed  observedDoc
	revisions []output.Revision
	leader    *leaderDoc
	unread    bool
	writers   []leaderDoc // processes with --only-write; sorted by cluster
	clusters  []carried
	applies   string // the applied revision
	denied    bool   // its removals are
	unwritten int    // links that it declares and of which nothing is written yet
	uninstall Uninstall
	never     bool      // nothing was ever applied
	at        time.Time // what ages are counted to; zero: none are shown
}

// observedDoc is why the observed revision is not applied; without a reason it is.
type observedDoc struct {
	commit string
	reason *object.Reason
	since  time.Time
}

// carried is the revision that a cluster's base carries; empty: none.
type carried struct {
	name, commit string
	read         bool
	left         bool // it is declared to leave, and holds nothing of linkwright any more
}

// whyNotApplied is why the observed revision is not applied, without how to allow it once people have.
func (o Opening) whyNotApplied() *object.Reason {
	why := o.Revision.Why
	allowed := func(d Decision) bool {
		return d.Kind == allowKind && d.Object == string(o.Revision.Observed) && !d.Unread
	}
	if why == nil || why.Code != reason.NonFastForward || !slices.ContainsFunc(o.Decisions, allowed) {
		return why
	}
	return object.Because(why.Code, "%s; it is allowed: a daemon or the next linkwright sync applies it", why.First())
}

func openingDocOf(m mask, o Opening, clusters []carried) openingDoc {
	r := o.Revision
	r.Why = o.whyNotApplied()
	observed := observedDoc{string(r.Observed), m.reason(r.Why), r.Since.UTC()}
	if r.Uninstall.begun() && r.Why != nil && r.Why.Code == reason.NonFastForward { // an uninstall needs no revision allowed
		observed.reason = nil
	}
	return openingDoc{
		observed: observed, revisions: revisionsOf(m, r, clusters),
		leader: leaderAt(m, o.Leader, o.At), writers: writersAt(m, o.Writers, o.At), clusters: clusters, at: o.At, unread: o.Unread,
		applies: string(r.Applied), denied: r.Denied != nil, uninstall: r.Uninstall,
	}
}

func (d openingDoc) leaderOutput() *output.Leader {
	if d.leader == nil {
		return nil
	}
	return &d.leader.Leader
}

func (d openingDoc) writersOutput() (out []output.Leader) {
	for _, w := range d.writers {
		out = append(out, w.Leader)
	}
	return out
}

// line is what status opens with: one line, and then those of processes with --only-write. If the observed revision is not applied, why has a line of its
// own before the leader's.
func (d openingDoc) line() string {
	ago := func(at time.Time) string {
		if d.at.IsZero() {
			return ""
		}
		return ", " + max(d.at.Sub(at), 0).Round(time.Second).String() + " ago"
	}
	line := d.uninstall.Line() + d.applied() + d.observed.line(ago)
	switch {
	case d.leader == nil && d.unread:
		line += "Nobody knows which process syncs: the lease could not be read.\n"
	case d.leader != nil || len(d.writers) == 0:
		line += d.leader.line(ago)
	case line != "":
		line = strings.TrimRight(line, " \n") + "\n"
	}
	return line + writerLines(d.writers, ago)
}

// applied says which revision is applied in which clusters, which were not read, and which have left: the newest knowledge is that of each cluster.
func (d openingDoc) applied() string {
	in := map[string][]string{}
	var parts, unread, left []string
	for _, c := range d.clusters {
		switch {
		case c.left:
			left = append(left, c.name)
		case c.read:
			in[c.commit] = append(in[c.commit], c.name)
		default:
			unread = append(unread, c.name)
		}
	}
	for commit, names := range in {
		parts = append(parts, d.appliedIn(commit, names))
	}
	slices.Sort(parts)
	switch {
	case len(d.clusters) == 0:
		return ""
	case len(parts)+len(left) == 0 && d.never:
		return "This installation has no record, so no sync is known. No cluster was read. "
	case len(parts)+len(left) == 0:
		return "It is unknown which revision is applied: no cluster was read. "
	case len(unread) == 1:
		parts = append(parts, unread[0]+" was not read")
	case len(unread) > 1:
		parts = append(parts, strings.Join(unread, ", ")+" were not read")
	}
	if len(left) > 0 {
		parts = append(parts, "nothing is left in "+strings.Join(left, ", "))
	}
	line := strings.Join(parts, "; ")
	return strings.ToUpper(line[:1]) + line[1:] + ". "
}

// appliedIn says that a revision is applied in some clusters; an empty one: that none is.
func (d openingDoc) appliedIn(commit string, names []string) string {
	all := object.Count(len(d.clusters), "cluster")
	where := fmt.Sprintf("in %d of %s (%s)", len(names), all, strings.Join(names, ", "))
	switch {
	case len(d.clusters) == 1:
		where = "in the only cluster"
	case len(names) == len(d.clusters) && commit == "":
		where = "in any of " + all
	case len(names) == len(d.clusters):
		where = "in all " + all
	}
	if commit == "" {
		return "no revision is applied " + where
	}
	if missing := d.missing(); commit == d.applies && missing != "" {
		where += ", except " + missing
	}
	return "revision " + api.Commit(commit).Short() + " is applied " + where
}

// missing is what of the applied revision is not applied; empty: nothing.
func (d openingDoc) missing() string {
	var parts []string
	if d.denied {
		parts = append(parts, "its removals (denied)")
	}
	if d.unwritten > 0 {
		parts = append(parts, object.Count(d.unwritten, "link")+" (not written yet)")
	}
	return strings.Join(parts, " and ")
}

// line says why the observed revision is not applied; empty: it is.
func (o observedDoc) line(ago func(time.Time) string) string {
	if o.reason == nil {
		return ""
	}
	since := ""
	if !o.since.IsZero() {
		since = " since " + moment(o.since) + ago(o.since)
	}
	what := "What was observed is not applied"
	switch {
	case o.reason.Code == reason.RepositoryNotRead:
		what = "The repository cannot be read"
	case o.commit != "":
		what = "Revision " + api.Commit(o.commit).Short() + " is observed and not applied"
	}
	return what + since + ".\n" + strings.TrimRight(sentence(o.reason), ".") + ".\n"
}

package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

func recordedNow() Overview {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	ready := []object.Condition{{Type: object.Ready, Status: object.True, Reason: "Healthy", Since: at}}
	dead := []object.Condition{
		{Type: object.Ready, Status: object.False, Reason: "GatewayNotAlive", Message: "gateway not alive: GatewayNotAlive", Since: at},
		{Type: object.Stalled, Status: object.True, Reason: "GatewayNotAlive", Message: "gateway not alive: GatewayNotAlive", Since: at},
	}
	return Overview{
		Links: []RecordedLink{
			{Pair: api.Pair{Source: "east", Target: "west"}, Source: RecordedEnd, Target: RecordedEnd},
			{Pair: api.Pair{Source: "north", Target: "east"}, Source: UnknownEnd, Target: RecordedEnd},
			{Pair: api.Pair{Source: "west", Target: "east"}, Source: RecordedEnd, Target: RecordedEnd, Conditions: ready},
			{Pair: api.Pair{Source: "west", Target: "north"}, Source: RecordedEnd, Target: UnknownEnd, Conditions: dead},
			{Pair: api.Pair{Source: "west", Target: "south"}, Source: LeavingEnd, Target: AbsentEnd},
		},
		Clusters: []RecordedCluster{
			{Name: "east", Applied: "0123456789abcdef0123456789abcdef01234567"},
			{Name: "north", Why: object.Because(reason.Unreachable, "no route\x1b[31m\nto host")},
			{Name: "west", Applied: "0123456789abcdef0123456789abcdef01234567"},
		},
		Opening: Opening{Leader: &Leader{Holder: "pod-1", Renewed: at, Lasts: 15 * time.Second}, At: at.Add(4 * time.Second)}, Ages: true,
	}
}

// Status opens with which revision is applied where, which is observed and why it is not applied, and with who syncs. A leader that no
// longer renews its lease is not green, however ready the links are; nor is a revision that is rejected.
func TestOverviewOpens(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	commit, next := api.Commit("0123456789abcdef0123456789abcdef01234567"), api.Commit("fedcba9876543210fedcba9876543210fedcba98")
	both := []RecordedCluster{{Name: "east", Applied: commit}, {Name: "west", Applied: commit}}
	pod := func(renewed time.Duration) Opening {
		return Opening{Leader: &Leader{Holder: "pod-1", Renewed: at, Lasts: 15 * time.Second}, At: at.Add(renewed)}
	}
	ended := Opening{Leader: &Leader{Renewed: at, Lasts: 15 * time.Second}, At: at.Add(time.Hour)}
	byJob := ended
	byJob.Leader = &Leader{Renewed: at.Add(time.Minute), Lasts: 15 * time.Second, Last: Sync{"job-7", at}}
	revised := func(r Revision) Opening { return Opening{Revision: r, Leader: ended.Leader, At: at.Add(time.Minute)} }
	const inBoth, last = "Revision 0123456789ab is applied in all 2 clusters. ", "The last sync ended at 2026-11-22T15:04:05Z."
	for _, tt := range []struct {
		name  string
		o     Overview
		want  string
		clean bool
	}{
		{"alive", Overview{Clusters: both, Opening: pod(15 * time.Second)}, inBoth + "pod-1 leads.", true},
		{"a leader's clock is ahead", Overview{Clusters: both, Opening: pod(-time.Second), Ages: true}, inBoth + "pod-1 leads.", true},
		{"renews", Overview{Clusters: both, Opening: pod(6 * time.Second), Ages: true}, inBoth + "pod-1 leads.", true},
		{
			"silent",
			Overview{Clusters: both, Opening: pod(12 * time.Second), Ages: true},
			inBoth + "pod-1 leads, but it last renewed its Lease 12s ago: it may be gone, and then nothing is repaired. A standby takes over 15s after the last renewal, and a new process 15s after its start.", true,
		},
		{
			"dead",
			Overview{Clusters: both, Opening: pod(16 * time.Second), Ages: true},
			inBoth + "No process syncs: pod-1 had the lease and has not renewed it since 2026-11-22T15:04:05Z, 16s ago. Start it again, or run linkwright sync --repo URL.", false,
		},
		{"a sync that ended", Overview{Clusters: both, Opening: ended}, inBoth + last, true},
		{
			"a sync that ended, and then another command",
			Overview{Clusters: both, Opening: byJob, Ages: true},
			inBoth + "The last sync, by job-7, ended at 2026-11-22T15:04:05Z, 1h0m0s ago.", true,
		},
		{
			"two revisions",
			Overview{Clusters: []RecordedCluster{{Name: "east", Applied: commit}, {Name: "west", Applied: next}}},
			"Revision 0123456789ab is applied in 1 of 2 clusters (east); revision fedcba987654 is applied in 1 of 2 clusters (west). No lease of linkwright run or sync is found.", true,
		},
		{"no revision", Overview{Clusters: []RecordedCluster{{Name: "east"}}}, "No revision is applied in the only cluster. No lease of linkwright run or sync is found.", true},
		{"nothing was read", Overview{Clusters: []RecordedCluster{{Name: "east", Why: object.Because(reason.Unreachable, "no")}}}, "It is unknown which revision is applied: no cluster was read. No lease of linkwright run or sync is found.", false},
		{
			"one was not read",
			Overview{Clusters: append([]RecordedCluster{{Name: "down", Why: object.Because(reason.Timeout, "no")}}, both...)},
			"Revision 0123456789ab is applied in 2 of 3 clusters (east, west); down was not read. No lease of linkwright run or sync is found.", false,
		},
		{"a lease that was not read", Overview{Clusters: both, Opening: Opening{Unread: true}}, inBoth + "Nobody knows which process syncs: the lease could not be read.", true},
		{"applied", Overview{Clusters: both, Opening: revised(Revision{Applied: commit, Observed: commit, Since: at})}, inBoth + last, true},
		{
			"rejected",
			Overview{Clusters: both, Ages: true, Opening: revised(Revision{Applied: commit, Observed: next, Since: at, Why: object.Because(reason.InvalidDeclarations, "a.yaml:3:1: x\x1b[31m")})},
			inBoth + "Revision fedcba987654 is observed and not applied since 2026-11-22T15:04:05Z, 1m0s ago.\nInvalidDeclarations: a.yaml:3:1: x[31m.\nThe last sync ended at 2026-11-22T15:04:05Z, 1m0s ago.", false,
		},
		{
			"no repository",
			Overview{Clusters: both, Opening: revised(Revision{Applied: commit, Observed: commit, Why: object.Because(reason.RepositoryNotRead, "no route.")})},
			inBoth + "The repository cannot be read.\nRepositoryNotRead: no route.\n" + last, false,
		},
		{
			"a directory",
			Overview{Opening: revised(Revision{Why: object.Because(reason.InvalidDeclarations, "x")})},
			"What was observed is not applied.\nInvalidDeclarations: x.\n" + last, false,
		},
		{"a cluster is behind", Overview{Clusters: both, Opening: revised(Revision{Applied: next, Observed: next})}, inBoth + last, false},
		{"released", Overview{Clusters: []RecordedCluster{{Name: "east"}, {Name: "west"}}}, "No revision is applied in any of 2 clusters. No lease of linkwright run or sync is found.", true},
		{
			"its removals are denied",
			Overview{Clusters: both, Opening: revised(Revision{Applied: commit, Observed: commit, Denied: object.Because(reason.PruneLimitExceeded, "no")})},
			"Revision 0123456789ab is applied in all 2 clusters, except its removals (denied). " + last, false,
		},
		{"they are suspended", Overview{Clusters: both, Opening: revised(Revision{Applied: next, Suspended: []api.ClusterName{"east", "west"}})}, inBoth + last, true},
		{"nothing is written there", Overview{Clusters: []RecordedCluster{{Name: "east"}}, Opening: revised(Revision{Applied: next})}, "No revision is applied in the only cluster. " + last, true},
	} {
		var out strings.Builder
		if err := tt.o.Write(&out, Text); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n\n"); got != tt.want || tt.o.AsDeclared() != tt.clean {
			t.Errorf("%s: clean %t, want %t\n%s\nwant\n%s", tt.name, tt.o.AsDeclared(), tt.clean, got, tt.want)
		}
	}
}

// The first line of a status is short although history was rewritten, and how to allow that is shown until people have.
func TestOverviewOpensRewritten(t *testing.T) {
	at, next := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC), strings.Repeat("89ab", 10)
	allow := "linkwright allow non-fast-forward " + next
	why := object.Because(reason.NonFastForward, "Git history was rewritten: revision 89ab89ab89ab does not descend from 0123456789ab (to allow it: %s); revision 0123456789ab is applied in cluster east", allow)
	for _, decided := range []string{"", "0123", next} {
		o := Overview{Clusters: []RecordedCluster{{Name: "east", Applied: "0123456789ab"}, {Name: "west", Applied: "0123456789ab"}}, Ages: true}
		o.Opening = Opening{At: at.Add(time.Minute), Revision: Revision{Applied: "0123456789ab", Observed: api.Commit(next), Since: at, Why: why}}
		if decided != "" {
			o.Decisions = []Decision{{Kind: allowKind, Object: decided, By: "alice", At: at}}
		}
		got := writtenAs(t, o.Answer(), Text)
		first, _, _ := strings.Cut(got, "\n")
		offered, applies := strings.Contains(got, allow), strings.Contains(got, "; it is allowed: a daemon or the next linkwright sync applies it.\n")
		if len(first) > 160 || offered != (decided != next) || applies == offered || !strings.Contains(got, "\nNonFastForward: Git history was rewritten: ") {
			t.Errorf("decided %q:\n%s", decided, got)
		}
	}
}

// An uninstall that began opens status and is the next step of describe, instead of how to allow a revision for a sync that would write all again.
func TestUninstallBegan(t *testing.T) {
	o := recordedNow()
	o.Revision = Revision{
		Applied: "0123456789abcdef", Observed: "0123456789abcdef", Why: object.Because(reason.NonFastForward, "run linkwright allow non-fast-forward 0123456789ab"),
		Uninstall: Uninstall{Since: o.At, Command: "linkwright uninstall --yes --owner blue"},
	}
	const line = "An uninstall began at 2026-11-22T15:04:09Z and has not ended. Run linkwright uninstall --yes --owner blue again: a sync would write all that is declared again."
	r := Report{Err: "the observed revision is not applied: " + o.Revision.Why.Message, Installation: Installation{Opening: &o.Opening}}
	link, _ := o.LinkAnswer(api.Pair{Source: "west", Target: "south"})
	cluster, _ := o.ClusterAnswer("east")
	for what, a := range map[string]Answer{"status": o.Answer(), "status --repo": r.StatusAnswer(), "describe link": link, "describe cluster": cluster} {
		var b strings.Builder
		if err := a.Write(&b, Text); err != nil {
			t.Fatal(err)
		}
		opens, step := strings.HasPrefix(b.String(), line+"\n"), strings.HasSuffix(b.String(), "Next step:  "+line[strings.Index(line, "Run"):]+"\n")
		if text := b.String(); opens != strings.HasPrefix(what, "status") || step == opens || strings.Contains(text, "allow non-fast-forward") && opens {
			t.Errorf("%s:\n%s", what, text)
		}
	}
	if o.AsDeclared() {
		t.Error("all is as declared, although an uninstall began")
	}
	if !slices.ContainsFunc(o.document().Revisions, func(r output.Revision) bool { return r.Reason != nil && r.Reason.Code == reason.NonFastForward }) {
		t.Error("get revisions does not say why the observed revision is not applied")
	}
}

// A link is ready only if that holds for the applied revision, and if nobody denies or removes anything of it.
func TestOverviewReady(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	ready := object.Condition{Type: object.Ready, Status: object.True, Reason: "Healthy", Since: at}
	denied := object.Condition{Type: object.Ready, Status: object.False, Reason: "Denied", Message: "PrunePolicy", Since: at}
	secret := object.Key{Kind: "Secret", Namespace: "linkerd", Name: "cluster-credentials-east"}
	is := func(c ...object.Condition) []object.Condition { return c }
	on := func(kind string) object.Condition {
		return object.Condition{Type: kind, Status: object.True, Reason: "X"}
	}
	failed := object.Condition{Type: object.Ready, Status: object.False, Reason: "X", Message: "y"}
	forbidden := object.Condition{Type: object.Ready, Status: object.False, Reason: reason.Forbidden, Message: "delete Service default/web-east is not allowed: run linkwright cluster add --all PATH"}
	waits := object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Waiting}
	held := object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Leaving}
	unread := object.Condition{Type: object.Ready, Status: object.False, Reason: reason.TargetNotRead, Message: "target not reachable: Unreachable"}
	paused := object.Because(reason.Suspended, "by alice")
	for name, tt := range map[string]struct {
		link RecordedLink
		east api.Commit // that is applied there
		want string     // READY, STATUS and MESSAGE
	}{
		"ready":                    {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready)}, "b", "True Ready"},
		"of another revision":      {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready)}, "a", "False Progressing RevisionMismatch: revision b is not applied in east, which carries a"},
		"nothing is written there": {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready)}, "", "True Ready"},
		"a Secret is gone":         {RecordedLink{Source: RecordedEnd, Conditions: is(ready), Missing: []object.Key{secret}}, "b", "False Progressing SecretMissing: Secret linkerd/cluster-credentials-east is missing"},
		"not ready, and gone":      {RecordedLink{Source: RecordedEnd, Conditions: is(failed, on(object.Stalled)), Missing: []object.Key{secret}}, "a", "False Stalled X: y; Secret linkerd/cluster-credentials-east is missing"},
		"its target is not read":   {RecordedLink{Source: RecordedEnd, Conditions: is(unread, on(object.Stalled))}, "b", "False Blocked TargetNotRead: target not reachable: Unreachable"},
		"settles":                  {RecordedLink{Source: RecordedEnd, Conditions: is(failed, on(object.Reconciling))}, "b", "False Progressing X: y"},
		"denied":                   {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(denied, on(object.Stalled))}, "b", "False Denied PrunePolicy"},
		"denied at its target":     {RecordedLink{Source: LeavingEnd, Target: RecordedEnd, Denied: &denied}, "b", "False Denied PrunePolicy"},
		"leaves":                   {RecordedLink{Source: LeavingEnd, Target: RecordedEnd, Conditions: is(denied)}, "b", "False Leaving it is being removed"},
		"leaves at its target":     {RecordedLink{Source: RecordedEnd, Target: LeavingEnd, Conditions: is(ready), Denied: &denied}, "b", "False Leaving it is being removed"},
		"its removal failed": {
			RecordedLink{Source: LeavingEnd, Target: RecordedEnd, Conditions: is(forbidden, on(object.Stalled)), Failed: &forbidden},
			"b",
			"False Stalled Forbidden: it is being removed: delete Service default/web-east is not allowed: run linkwright cluster add --all PATH",
		},
		"its removal failed at its target": {
			RecordedLink{Source: RecordedEnd, Target: LeavingEnd, Conditions: is(ready), Failed: &forbidden},
			"b",
			"False Stalled Forbidden: it is being removed: delete Service default/web-east is not allowed: run linkwright cluster add --all PATH",
		},
		"suspended by people":      {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready), Suspended: paused}, "b", "True Suspended by alice"},
		"suspended, and not ready": {RecordedLink{Source: RecordedEnd, Conditions: is(failed, on(object.Stalled)), Suspended: paused}, "b", "False Suspended by alice; it is not ready: X: y"},
		"suspended, changes wait":  {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready, waits), Suspended: paused}, "b", "True Suspended by alice; changes wait for that"},
		"its removal waits":        {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready, held), Suspended: paused}, "b", "True Suspended by alice; its removal waits for that"},
		"removed, and resumed":     {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready, held)}, "b", "False Leaving its removal is not suspended any more: the next sync goes on with that, unless the link is declared again"},
		"not suspended any more":   {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(ready, waits)}, "b", "True Ready"},
		"suspended, and leaves":    {RecordedLink{Source: LeavingEnd, Target: RecordedEnd, Suspended: paused}, "b", "False Suspended by alice"},
		"suspended, and denied":    {RecordedLink{Source: RecordedEnd, Target: RecordedEnd, Conditions: is(denied), Suspended: paused}, "b", "False Denied PrunePolicy"},
		"suspended, and not read":  {RecordedLink{Source: UnknownEnd, Target: RecordedEnd, Suspended: paused}, "b", "Unknown Unknown NotRead: cluster west was not read"},
		"not read":                 {RecordedLink{Source: UnknownEnd, Target: RecordedEnd}, "b", "Unknown Unknown NotRead: cluster west was not read"},
		"of an earlier release":    {RecordedLink{Source: RecordedEnd, Target: RecordedEnd}, "b", "Unknown Unknown NotReported: linkwright has not written about the link yet: run linkwright status --repo URL"},
	} {
		tt.link.Pair = api.Pair{Source: "west", Target: "east"}
		o := Overview{Links: []RecordedLink{tt.link}, Clusters: []RecordedCluster{{Name: "east", Applied: tt.east}, {Name: "west", Applied: "b"}}}
		o.Revision = Revision{Applied: "b", Observed: "b", Links: 1}
		l := o.document().Links[0]
		if got := strings.TrimSpace(l.Ready + " " + l.Status + " " + message(l.Status, l.Reason)); got != tt.want || o.AsDeclared() != (l.Ready == object.True && !l.Leaving) {
			t.Errorf("%s: %s, clean %t; want %s", name, got, o.AsDeclared(), tt.want)
		}
		if l.Status == string(reason.Leaving) && !l.Leaving {
			t.Errorf("%s: its status is Leaving, and the field leaving is false", name)
		}
	}
}

// What is suspended is shown so, whoever suspended it, and no other revision is expected there.
func TestOverviewSuspended(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	ready := []object.Condition{{Type: object.Ready, Status: object.True, Reason: "Healthy", Since: at}}
	o := Overview{
		Opening: Opening{Revision: Revision{Applied: "b", Suspended: []api.ClusterName{"north"}, SuspendedLinks: []api.Pair{{Source: "west", Target: "east"}}}},
		Clusters: []RecordedCluster{
			{Name: "east", Applied: "b"},
			{Name: "north", Applied: "a"},
			{Name: "south", Applied: "a", Suspended: object.Because(reason.Suspended, "by alice")},
			{Name: "west", Applied: "b"},
		},
	}
	for _, target := range []api.ClusterName{"east", "north", "south"} {
		o.Links = append(o.Links, RecordedLink{Pair: api.Pair{Source: "west", Target: target}, Source: RecordedEnd, Target: RecordedEnd, Conditions: ready})
	}
	o.Links[2].Suspended = o.Clusters[2].Suspended
	var got []string
	for _, l := range o.document().Links {
		got = append(got, l.Target+" "+l.Ready+" "+l.Status+" "+l.Reason.Message)
	}
	for _, c := range o.document().Clusters[1:3] {
		got = append(got, c.Name+" "+c.Ready+" "+c.Status+" "+c.Reason.Message)
	}
	want := []string{
		"east True Suspended its Link has suspend: true, so linkwright leaves both ends as they are: to resume, remove suspend",
		"north True Suspended cluster north has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend",
		"south True Suspended by alice",
		"north True Suspended cluster north has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend",
		"south True Suspended by alice",
	}
	if diff := cmp.Diff(want, got); diff != "" || !o.AsDeclared() {
		t.Errorf("as declared %t, -want +got\n%s", o.AsDeclared(), diff)
	}
}

// If the process that synced a link's source died, nobody knows whether the link is still ready. After a sync that ended, all is shown as
// recorded. A reader learns both without status.
func TestOverviewNotSynced(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	ready := []object.Condition{{Type: object.Ready, Status: object.True, Reason: reason.Healthy, Since: at.Add(-time.Hour)}}
	stalled := []object.Condition{{Type: object.Ready, Status: object.False, Reason: "X"}, {Type: object.Stalled, Status: object.True}}
	lease := func(only api.ClusterName, holder string, renewed time.Time) Leader {
		return Leader{Only: only, Holder: holder, Renewed: renewed, Lasts: 15 * time.Second}
	}
	live, dead, ended := lease("", "pod", at.Add(5*time.Minute)), lease("", "pod", at), lease("", "", at)
	writers := []Leader{lease("east", "pod-1", at.Add(5*time.Minute)), lease("west", "pod-2", at)}
	const unknown = " Unknown NotSynced: no process syncs west, so nothing is known since 2026-11-22T15:04:05Z"
	for name, tt := range map[string]struct {
		leader  *Leader
		writers []Leader
		want    string
	}{
		"a process leads": {&live, nil, "True Ready , False Stalled X; "},
		"it died":         {&dead, nil, "Unknown" + unknown + ", False Stalled X; No process syncs: this is as recorded 5m ago. Start it again, or run linkwright sync --repo URL."},
		"a sync ended":    {&ended, nil, "True Ready , False Stalled X; No process syncs: this is as recorded 5m ago."},
		"one of them":     {nil, writers, "Unknown" + unknown + ", False Stalled X; No process syncs west: this is as recorded 5m ago. Start it again, or run linkwright sync --repo URL."},
		"nobody is known": {nil, nil, "True Ready , False Stalled X; "},
	} {
		o := Overview{Opening: Opening{Leader: tt.leader, Writers: tt.writers, At: at.Add(5 * time.Minute)}, Clusters: []RecordedCluster{{Name: "east"}, {Name: "west"}}}
		for i, conditions := range [][]object.Condition{ready, stalled} {
			pair := api.Pair{Source: "west", Target: api.ClusterName(rune('a' + i))}
			o.Links = append(o.Links, RecordedLink{Pair: pair, Source: RecordedEnd, Target: RecordedEnd, Conditions: conditions})
		}
		var rows []string
		for _, l := range o.document().Links {
			rows = append(rows, l.Ready+" "+l.Status+" "+message(l.Status, l.Reason))
		}
		if got := strings.Join(rows, ", ") + "; " + o.AsRecorded(); got != tt.want {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
	}
}

// A list without the records of a cluster that was not read says so.
func TestOverviewNotRead(t *testing.T) {
	why := &object.Reason{Code: reason.Timeout}
	for want, clusters := range map[string][]RecordedCluster{
		"": {{Name: "east"}, {Name: "west"}},
		"Not read: east. This list may be incomplete. To see why, run linkwright get clusters.":        {{Name: "east", Why: why}, {Name: "west"}},
		"Not read: east, north. This list may be incomplete. To see why, run linkwright get clusters.": {{Name: "east", Why: why}, {Name: "north", Why: why}, {Name: "west"}},
	} {
		if got := (Overview{Clusters: clusters}).NotRead(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Links that are declared, and of which nothing was ever written, are in no inventory: the applied revision says how many there are.
func TestOverviewUnwritten(t *testing.T) {
	one := RecordedLink{Source: RecordedEnd, Conditions: []object.Condition{{Type: object.Ready, Status: object.True}}}
	o := Overview{Links: []RecordedLink{one}, Clusters: []RecordedCluster{{Name: "west", Applied: "a"}}}
	o.Revision.Applied, o.Revision.Links = "a", 1
	if !o.AsDeclared() {
		t.Error("all links are written")
	}
	o.Revision.Links = 3
	var out strings.Builder
	if err := o.Write(&out, Text); err != nil || o.AsDeclared() || !strings.Contains(out.String(), "linkwright has written nothing yet of 2 of 3 links that the revision declares: linkwright status --repo URL shows why.") {
		t.Errorf("%v, clean %t\n%s", err, o.AsDeclared(), out.String())
	}
	if want := "Revision a is applied in the only cluster, except 2 links (not written yet). "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("no %q\n%s", want, out.String())
	}
	if o.Clusters[0].Why = object.Because(reason.Unreachable, ""); o.unwritten() != 0 || !o.Unread() {
		t.Error("of a cluster that was not read nobody knows")
	}
	if o.Clusters = append(o.Clusters, RecordedCluster{Name: "x"}); o.Unread() || (Overview{}).Unread() {
		t.Error("one cluster was read, or there is none")
	}
}

// Links of clusters that were not read are unknown, and not absent.
func TestOverviewWithoutLinks(t *testing.T) {
	down := object.Because(reason.Forbidden, "no")
	for want, clusters := range map[string][]RecordedCluster{
		"no link in 2 clusters\n": {{Name: "east"}, {Name: "west"}},
		"no link in the 1 cluster that could be read; the others may have links\n":   {{Name: "east", Why: down}, {Name: "west"}},
		"Links are unknown, because none of 2 clusters could be read: east, west.\n": {{Name: "east", Why: down}, {Name: "west", Why: down}},
		"Links are unknown, because cluster east could not be read.\n":               {{Name: "east", Why: down}},
	} {
		if got := writtenAs(t, Overview{Clusters: clusters}.Answer(), Text); !strings.HasSuffix(got, "\n\n"+want) {
			t.Errorf("want %q:\n%s", want, got)
		}
	}
}

// The status from inventories is one table of links, and another of clusters that could not be read.
func TestOverview(t *testing.T) {
	for format, want := range map[Format]string{
		Text: `
Revision 0123456789ab is applied in 2 of 3 clusters (east, west); north was not read. pod-1 leads.

SOURCE  TARGET  READY    STATUS   AGE  MESSAGE
east    west    Unknown  Unknown       NotReported: linkwright has not written about the link yet: run linkwright status --repo URL
north   east    Unknown  Unknown       NotRead: cluster north was not read
west    east    True     Ready    4s
west    north   False    Stalled  4s   gateway not alive: GatewayNotAlive
west    south   False    Leaving       it is being removed

CLUSTER  STATUS   MESSAGE
north    Unknown  Unreachable: no route[31m; to host
`,
		Wide: `
Revision 0123456789ab is applied in 2 of 3 clusters (east, west); north was not read. pod-1 leads.

SOURCE  TARGET  READY    STATUS   AGE  SINCE                 SOURCE INVENTORY  TARGET INVENTORY  MESSAGE
east    west    Unknown  Unknown                             Recorded          Recorded          NotReported: linkwright has not written about the link yet: run linkwright status --repo URL
north   east    Unknown  Unknown                             Unknown           Recorded          NotRead: cluster north was not read
west    east    True     Ready    4s   2026-11-22T15:04:05Z  Recorded          Recorded
west    north   False    Stalled  4s   2026-11-22T15:04:05Z  Recorded          Unknown           gateway not alive: GatewayNotAlive
west    south   False    Leaving                             Leaving           Absent            it is being removed

CLUSTER  STATUS   MESSAGE
north    Unknown  Unreachable: no route[31m; to host
`,
	} {
		var out strings.Builder
		if err := recordedNow().Write(&out, format); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", format, diff)
		}
	}
}

// Programs read the same in both formats, and lists are never null.
func TestOverviewForPrograms(t *testing.T) {
	for _, f := range []Format{JSON, YAML} {
		var full, empty strings.Builder
		if err := recordedNow().Write(&full, f); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"GatewayNotAlive", "Stalled", "2026-11-22T15:04:05Z", "Unreachable", "Unknown"} {
			if !strings.Contains(full.String(), want) {
				t.Errorf("%s lacks %s:\n%s", f, want, full.String())
			}
		}
		if err := (Overview{}).Write(&empty, f); err != nil || strings.Contains(empty.String(), "null") || !strings.Contains(empty.String(), "[]") {
			t.Errorf("%s of nothing: %v\n%s", f, err, empty.String())
		}
	}
}

// A link that is ready is clean; one that is not, that leaves, or of which nobody knows, is not.
func TestOverviewAsDeclared(t *testing.T) {
	all := recordedNow()
	for i, want := range []bool{false, false, true, false, false} {
		if one := (Overview{Links: all.Links[i : i+1]}); one.AsDeclared() != want {
			t.Errorf("%s: clean %t", all.Links[i].Pair, !want)
		}
	}
	pending := Overview{Clusters: []RecordedCluster{{Name: "east", Cleanup: []state.Pending{{Link: api.Pair{Source: "west", Target: "east"}}}}}}
	var out strings.Builder
	if err := pending.Write(&out, Text); err != nil || pending.AsDeclared() || !strings.Contains(out.String(), "east     CleanupPending  of removed links: west→east") {
		t.Errorf("pending cleanup: %v, clean %t\n%s", err, pending.AsDeclared(), out.String())
	}
	if (Overview{Clusters: all.Clusters}).AsDeclared() || !(Overview{}).AsDeclared() {
		t.Error("a cluster that was not read, or nothing at all")
	}
}

package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

var (
	start = time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	pair  = api.Pair{Source: "west", Target: "east"}
)

func after(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// cluster is one of which a step is known, with an end of the link if phase is not empty.
func cluster(name api.ClusterName, phase plan.Phase, why *object.Reason) report.Cluster {
	s := plan.Step{Cluster: name}
	if phase != "" {
		s.Rows = []plan.Row{{End: object.End{Cluster: name, Link: pair}, Phase: phase, Why: why}}
	}
	return report.Cluster{Name: name, Step: s, Activity: report.Activity{Read: true}}
}

// unread is a cluster that is asked since then; zero: that was read.
func unread(name api.ClusterName, asked time.Time) report.Cluster {
	return report.Cluster{Name: name, Activity: report.Activity{Asked: asked, Read: asked.IsZero()}}
}

func syncing(clusters ...report.Cluster) report.Report {
	return report.Report{Head: "c1", When: report.Syncing, Clusters: clusters, Until: after(60)}
}

// said is a report, and when it came.
type said struct {
	at float64
	report.Report
}

// watch gives the view after reports, and the transitions of each as lines.
func watch(reports ...said) (v View, moved []string) {
	v = View{Title: "sync", Began: start, Timeout: 15 * time.Second}.Wait("the repository", start)
	for _, r := range reports {
		var rows []Row
		v, rows = v.Next(r.Report, after(r.at))
		for _, row := range rows {
			moved = append(moved, row.Line())
		}
	}
	return v, moved
}

var (
	token    = object.Because(reason.CredentialNotIssued, "the token is not issued yet")
	denied   = object.Because(reason.Unreachable, "no route to host")
	reading  = said{0.5, report.Report{When: report.Syncing}}
	entering = said{1, report.Report{When: report.Syncing, Head: "c1"}}
	oneHangs = said{1.5, syncing(unread("east", after(1)), unread("west", time.Time{}))}
	progress = said{3, syncing(cluster("east", plan.Ready, nil), cluster("west", plan.Waiting, token))}
	inPlace  = said{9, syncing(cluster("east", plan.Ready, nil), cluster("west", plan.Ready, nil))}
	gone     = said{9, syncing(
		report.Cluster{Name: "east", Step: plan.Step{Denied: denied}, Activity: report.Activity{Read: true}}, cluster("west", plan.Waiting, token),
	)}
)

func TestNext(t *testing.T) {
	for name, tt := range map[string]struct {
		reports []said
		at      float64
		waiting string
		moved   []string
	}{
		"nothing is reported":  {nil, 2, "for the repository", nil},
		"no revision is known": {[]said{reading}, 2, "for the repository", nil},
		"no cluster is known":  {[]said{reading, entering}, 5, "for the management cluster (4s)", nil},
		"a cluster is silent":  {[]said{entering, oneHangs}, 13, "cluster east does not answer (12s, a request may take 15s)", nil},
		"a cluster is asked":   {[]said{entering, oneHangs}, 2, "an answer from cluster east", nil},
		"a link waits": {
			[]said{oneHangs, progress},
			15, "west→east: CredentialNotIssued: the token is not issued yet (12s of at most 57s)",
			[]string{"► west→east Progressing: CredentialNotIssued: the token is not issued yet"},
		},
		"nothing changed": {
			[]said{progress, {5, progress.Report}},
			15, "west→east: CredentialNotIssued: the token is not issued yet (12s of at most 57s)",
			[]string{"► west→east Progressing: CredentialNotIssued: the token is not issued yet"},
		},
		"it is in place": {
			[]said{progress, inPlace},
			10, "credentials are being verified",
			[]string{"► west→east Progressing: CredentialNotIssued: the token is not issued yet", "√ west→east Ready"},
		},
		"it was in place": {[]said{oneHangs, inPlace}, 10, "credentials are being verified", nil},
		"a cluster cannot be read": {
			[]said{oneHangs, gone}, 10, "", []string{"‼ east Unknown: Unreachable: no route to host", "► west→east Progressing: CredentialNotIssued: the token is not issued yet"},
		},
	} {
		v, moved := watch(tt.reports...)
		if diff := cmp.Diff(tt.moved, moved); diff != "" {
			t.Errorf("%s: transitions: -want +got\n%s", name, diff)
		}
		if got := v.Waiting(after(tt.at)); tt.waiting != "" && got != tt.waiting {
			t.Errorf("%s: waiting\n%s, want\n%s", name, got, tt.waiting)
		}
	}
}

// A drain has a deadline of its own.
func TestDrainSaysUntilWhen(t *testing.T) {
	c := cluster("west", plan.Waiting, object.Because("Draining", "3 mirrors are left"))
	c.Step.Rows[0].Until, c.Step.Rows[0].Leaving = after(30), true
	v, _ := watch(said{0, syncing(cluster("east", plan.Waiting, nil), c)})
	if got, want := v.Waiting(after(12)), "west→east: Draining: 3 mirrors are left (12s of at most 30s)"; got != want {
		t.Errorf("waiting\n%s, want\n%s", got, want)
	}
}

// Many things that are awaited are counted.
func TestWaitingNamesAFew(t *testing.T) {
	var all []report.Cluster
	for _, name := range []api.ClusterName{"a", "b", "c", "d", "e"} {
		all = append(all, unread(name, start))
	}
	v, _ := watch(said{0, syncing(all...)})
	if got := v.Waiting(after(4)); !strings.Contains(got, "cluster c ") || !strings.HasSuffix(got, "; and 2 more") || strings.Contains(got, "cluster d") {
		t.Errorf("waiting %s", got)
	}
}

func TestTree(t *testing.T) {
	wrote := cluster("west", plan.Waiting, token)
	wrote.Outcomes = []object.Outcome{{}, {Err: errFailed}}
	large := Size{100, 40}
	for name, tt := range map[string]struct {
		reports []said
		at      float64
		room    Size
		want    string
	}{
		"the repository":      {nil, 2, large, "sync  2s\n► the repository  2s"},
		"a cluster is silent": {[]said{oneHangs}, 13, large, "sync  13s  waits at most 47s more\n► east  does not answer, 12s, a request may take 15s\n· west  waits for the other clusters"},
		"a cluster is read":   {[]said{oneHangs}, 2, large, "sync  2s  waits at most 58s more\n► east  is being read\n· west  waits for the other clusters"},
		"a cluster is written for the first time": {
			[]said{{1, syncing(report.Cluster{Name: "east", Activity: report.Activity{Asked: after(1), Read: true}})}},
			2, large,
			"sync  2s  waits at most 58s more\n► east  is being reconciled",
		},
		"a cluster cannot be read": {
			[]said{gone},
			10, large,
			"sync  10s  waits at most 50s more\n‼ east  Unknown  Unreachable: no route to host\n► west  0/1 links\n" +
				"└ ► west→east  Progressing  1s of at most 51s  CredentialNotIssued: the token is not issued yet",
		},
		"a link waits": {
			[]said{{3, syncing(cluster("east", plan.Ready, nil), wrote)}},
			15, large,
			"sync  15s  waits at most 45s more\n► west  0/1 links  1 written, 1 failed\n" +
				"└ ► west→east  Progressing  12s of at most 57s  CredentialNotIssued: the token is not issued yet\n√ east",
		},
		"all is in place": {[]said{progress, inPlace}, 10, large, "sync  10s  waits at most 50s more\n√ east\n√ west  1 link"},
		"a narrow terminal": {
			[]said{progress},
			15,
			Size{24, 40},
			"sync  15s  waits at mos…\n► west  0/1 links\n└ ► west→east  Progress…\n√ east",
		},
		"a low terminal": {[]said{progress}, 15, Size{100, 4}, "sync  15s  waits at most 45s more\n► west  0/1 links\n… and 2 more"},
	} {
		v, _ := watch(tt.reports...)
		if diff := cmp.Diff(tt.want, strings.Join(v.Tree(after(tt.at), tt.room, false), "\n")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

type failed string

func (f failed) Error() string { return string(f) }

const errFailed = failed("no")

// Colours change no width: without them, the lines are the same.
func TestTreeInColours(t *testing.T) {
	v, _ := watch(progress)
	plain, coloured := v.Tree(after(15), Size{60, 40}, false), v.Tree(after(15), Size{60, 40}, true)
	if !strings.Contains(coloured[2], "\x1b[36mProgressing\x1b[0m") {
		t.Errorf("%q has no colour", coloured[2])
	}
	for i, l := range coloured {
		for _, code := range []string{"\x1b[36m", "\x1b[32m", "\x1b[0m"} {
			l = strings.ReplaceAll(l, code, "")
		}
		if l != plain[i] {
			t.Errorf("%q, want %q", l, plain[i])
		}
	}
}

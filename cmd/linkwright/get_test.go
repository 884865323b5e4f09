package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// listed is an installation with one link that is ready, and one that is not.
func listed() report.Overview {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	ready := []object.Condition{{Type: object.Ready, Status: object.True, Reason: reason.Healthy, Since: at}}
	dead := []object.Condition{{Type: object.Ready, Status: object.False, Reason: reason.GatewayNotAlive, Message: "no address", Since: at.Add(time.Minute)}}
	return report.Overview{
		Ages: true, Opening: report.Opening{At: at.Add(time.Hour), Revision: report.Revision{Applied: "0123456789abcdef", Since: at, AppliedSince: at}},
		Links: []report.RecordedLink{
			{Pair: api.Pair{Source: "east", Target: "west"}, Source: report.RecordedEnd, Target: report.RecordedEnd, Conditions: ready},
			{Pair: api.Pair{Source: "west", Target: "north"}, Source: report.RecordedEnd, Target: report.RecordedEnd, Conditions: dead},
		},
		Clusters: []report.RecordedCluster{
			{Name: "east", Applied: "0123456789abcdef"}, {Name: "north", Why: object.Because(reason.Unreachable, "no route")}, {Name: "west", Applied: "0123456789abcdef"},
		},
	}
}

// TestPendingCleanupIsFound: a removed link of which a cluster still holds an end is not unknown.
func TestPendingCleanupIsFound(t *testing.T) {
	o := listed()
	o.Links, o.Clusters[1].Cleanup = nil, []state.Pending{{Link: api.Pair{Source: "west", Target: "north"}}}
	const want = "link west/north is removed, but its cleanup is pending in cluster north: linkwright describe cluster north shows why"
	if got := notFound(o, "link", "west/north").Error(); got != want {
		t.Errorf("describe: got %q, want %q", got, want)
	}
	if got := notFound(o, "link", "west/east").Error(); strings.Contains(got, "pending") {
		t.Errorf("describe of another link: %q", got)
	}
	if got := nothing("links", o); got != "No links found.\n"+want {
		t.Errorf("get links: %q", got)
	}
	if got := nothing("events", o); got != "No events found." {
		t.Errorf("events: %q", got)
	}
}

// TestRemovedLink: events show for a week that a link was removed, although nothing else of it is left. The error of describe says so.
func TestRemovedLink(t *testing.T) {
	o := listed()
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	o.Removed = []report.RemovedLink{{Pair: api.Pair{Source: "north", Target: "west"}, Revision: "0123456789abcdef", At: at}}
	const events = "; for its last events, run linkwright events --for link/"
	want := `link "north/west" was removed at 2026-11-22T15:04:05Z: it is not declared, and nothing of it is left` + events + "north/west"
	if got := notFound(o, "link", "north/west").Error(); !strings.HasPrefix(got, want) {
		t.Errorf("describe: got %q, want %q", got, want)
	}
	o.Suspensions = []report.Decision{{Kind: "Resume", Object: "east/north", At: at}}
	want = `link "east/north" not found (did you mean west/north?): it is not declared, or no sync has written it yet: linkwright get links lists what there is` + events + "east/north"
	if got := notFound(o, "link", "east/north").Error(); !strings.HasPrefix(got, want) {
		t.Errorf("describe what was resumed: got %q, want %q", got, want)
	}
	f, err := eventsFor("link/north/west")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := cli.Write(&out, report.Text, o.EventList().Only(f.matches).Answer(false)); err != nil {
		t.Fatal(err)
	}
	if want := "Normal  Removed  link/north/west  Removed is True: revision 0123456789ab does not declare it, and nothing of it is left\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("events: got %q, want %q", out.String(), want)
	}
}

func TestGetChooses(t *testing.T) {
	for _, tt := range []struct {
		kind  string
		names []string
		want  string // references, or the error
	}{
		{"link", nil, "link/east/west link/west/north"},
		{"link", []string{"west/north"}, "link/west/north"},
		{"link", []string{"west/north", "east/west"}, "link/east/west link/west/north"},
		{"link", []string{"west/east"}, `link "west/east" not found (did you mean east/west?): it is not declared, or no sync has written it yet: linkwright get links lists what there is; cluster north was not read (Unreachable)`},
		{"cluster", []string{"east"}, "cluster/east"},
		{"cluster", []string{"eas"}, `cluster "eas" not found (did you mean east?): linkwright get clusters lists what there is; cluster north was not read (Unreachable)`},
		{"cluster", []string{"wset"}, `cluster "wset" not found (did you mean west?): linkwright get clusters lists what there is; cluster north was not read (Unreachable)`},
		{"link", []string{"wset/north"}, `link "wset/north" not found (did you mean west/north?): it is not declared, or no sync has written it yet: linkwright get links lists what there is; cluster north was not read (Unreachable)`},
		{"revision", []string{"0123456"}, "revision/0123456789abcdef"},
	} {
		for _, r := range resources() {
			if r.kind != tt.kind {
				continue
			}
			got, err := r.chosen(listed(), tt.names)
			is := strings.Join(got.Refs(), " ")
			if err != nil {
				is = err.Error()
			}
			if is != tt.want {
				t.Errorf("get %s %v: %s, want %s", tt.kind, tt.names, is, tt.want)
			}
		}
	}
}

func TestEventsFor(t *testing.T) {
	for about, want := range map[string]string{
		"":                "approval/0123456789ab link/east/west revision/0123456789abcdef link/west/north",
		"link/west/north": "link/west/north", "cluster/east": "link/east/west", "cluster/north": "link/west/north",
		"link/west/east": `link "west/east" not found`, "cluster/south": `cluster "south" not found`,
		"link/west": "write link/SOURCE/TARGET, cluster/NAME, revision/COMMIT or approval/HASH", "mesh/x": "write link/SOURCE/TARGET", "cluster": "write link/SOURCE/TARGET",
		"revision/0123456": "revision/0123456789abcdef", "revision/fedcba9": `revision "fedcba9" not found`, "revision/01": "write link/SOURCE/TARGET", "approval/0123": "approval/0123456789ab", "approval/ff": "",
	} {
		o := listed()
		o.Approvals = []report.Decision{{Kind: "Approve", Object: "0123456789ab", By: "ann", At: o.Revision.Since}}
		f, err := eventsFor(about)
		if err == nil {
			err = f.exists(o)
		}
		got := strings.Join(o.EventList().Only(f.matches).Refs(), " ")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("--for %q: %s, want %s", about, got, want)
		}
	}
}

// --watch shows the list, and then only what changes. That time goes by is no change.
func TestListPrinter(t *testing.T) {
	var out strings.Builder
	l := &listFlags{}
	l.out.Format = report.Text
	p := &listPrinter{out: &out, flags: l, list: func(o report.Overview) (report.Listing, error) { return o.LinkList(), nil }}
	prints := func(o report.Overview, want string) {
		t.Helper()
		out.Reset()
		if err := p.print(o); err != nil || out.String() != want {
			t.Errorf("%v: %q, want %q", err, out.String(), want)
		}
	}
	later, changed := listed(), listed()
	later.At = later.At.Add(time.Hour)
	changed.Links[1].Conditions = changed.Links[0].Conditions
	prints(listed(), "SOURCE  TARGET  READY  STATUS   AGE  MESSAGE\neast    west    True   Ready    60m\nwest    north   False  Stalled  59m  GatewayNotAlive: no address\n")
	prints(later, "")
	prints(changed, "west  north  True  Ready  60m\n")
	l.out.Format = report.JSON
	out.Reset()
	if err := p.print(listed()); err != nil || outputschema.Check([]byte(out.String())) != nil || !strings.Contains(out.String(), `"kind": "Link"`) {
		t.Errorf("%v: want a link alone:\n%s", err, out.String())
	}
}

// A link that goes away while it is watched prints nothing, and no other link; headers come with the first row.
func TestListPrinterOfNames(t *testing.T) {
	var out strings.Builder
	l := &listFlags{}
	l.out.Format = report.Text
	links := resources()[0]
	p := &listPrinter{out: &out, flags: l, list: func(o report.Overview) (report.Listing, error) { return links.chosen(o, []string{"west/north"}) }}
	gone, empty := listed(), listed()
	gone.Links, empty.Links = gone.Links[:1], nil
	for i, tt := range []struct {
		o    report.Overview
		want string
	}{
		{listed(), "SOURCE  TARGET  READY  STATUS   AGE  MESSAGE\nwest    north   False  Stalled  59m  GatewayNotAlive: no address\n"},
		{gone, ""},
		{listed(), "west  north  False  Stalled  59m  GatewayNotAlive: no address\n"},
	} {
		out.Reset()
		if err := p.print(tt.o); err != nil || out.String() != tt.want {
			t.Errorf("%d: %v, %q, want %q", i, err, out.String(), tt.want)
		}
	}
	p = &listPrinter{out: &out, flags: l, list: func(o report.Overview) (report.Listing, error) { return o.LinkList(), nil }}
	out.Reset()
	if err := errors.Join(p.print(empty), p.print(gone)); err != nil || !strings.HasPrefix(out.String(), "SOURCE  TARGET  ") {
		t.Errorf("%v: the first row has no headers: %q", err, out.String())
	}
}

// TestGet: inventories list links, clusters, revisions and events; every answer is as its schema says.
func TestGet(t *testing.T) {
	t.Parallel()
	l := newLab(t, "east", "west")
	l.commit(l.clusters() + link("west", "east", ""))
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	before, head := l.writes(), l.headOf()
	for _, tt := range []struct {
		args []string
		code int
		want string // a regular expression
	}{
		{[]string{"get", "links"}, cli.ExitDone, `^SOURCE +TARGET +READY +STATUS +AGE +MESSAGE\nwest +east +False +Progressing +\d+s\n`},
		{[]string{"get", "link", "west/east", "--no-headers", "-o", "wide"}, cli.ExitDone, `^west +east +False +Progressing +\d+s +20.*Z +Recorded +Recorded\n$`},
		{[]string{"get", "clusters"}, cli.ExitDone, `^NAME +READY +STATUS +REVISION +LINKS +MESSAGE\neast +True +Ready +` + head[:12] + ` +0/1\nwest +True +Ready +` + head[:12] + ` +0/1\n$`},
		{[]string{"get", "gateways"}, cli.ExitDone, `^SOURCE +TARGET +ALIVE +SERVICES +READY +MESSAGE\nwest +east +Unknown +0 +0 +NoMirrors: no mirror has an address`},
		{[]string{"get", "revisions"}, cli.ExitDone, `^REVISION +STATE +AGE +CLUSTERS +MESSAGE\n` + head[:12] + ` +Applied +\d+s +east,west\n$`},
		{[]string{"get", "links", "-o", "name"}, cli.ExitDone, `^link/west/east\n$`},
		{[]string{"get", "links", "-o", "jsonpath={.items[*].status}"}, cli.ExitDone, `^Progressing$`},
		{[]string{"get", "links", "-o", "custom-columns=FROM:.source,TO:.target,X:.x"}, cli.ExitDone, `^FROM  TO    X\nwest  east  <none>\n$`},
		{[]string{"get", "link", "east/west"}, cli.ExitError, `link "east/west" not found \(did you mean west/east\?\): it is not declared, or no sync has written it yet: linkwright get links lists what there is\n$`},
		{[]string{"events"}, cli.ExitDone, `^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n(?s:.*)\d+s +Warning +Progressing +link/west/east +Ready is False`},
		{[]string{"events", "--for", "cluster/east"}, cli.ExitDone, `link/west/east`},
		{[]string{"describe", "link", "west/east"}, cli.ExitDone, `^Link: +west/east\nReady: +False\nStatus: +Progressing\n(?s:.*)\nEvents (?s:.*)link/west/east +Ready is False(?s:.*)\nNext step: `},
		{[]string{"describe", "cluster", "east"}, cli.ExitDone, `^Cluster: +east\nReady: +True\n(?s:.*)west +east +False +Progressing`},
		{[]string{"describe", "cluster", "north"}, cli.ExitError, `cluster "north" not found`},
	} {
		if code, out := l.bare(tt.args...); code != tt.code || !regexp.MustCompile(tt.want).MatchString(out) {
			t.Errorf("%v: exit code %d, want %d and %s\n%s", tt.args, code, tt.code, tt.want, out)
		}
	}
	if n := l.writes() - before; n != 0 {
		t.Errorf("they write %d times", n)
	}
	for _, a := range answersOfClusters() {
		l.answers(a)
	}
}

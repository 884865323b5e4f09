package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// A decision suspends a cluster with all its links, also those to its second names, or one link. One that is over suspends nothing. A cluster that is
// paused from inside is suspended like that, too.
func TestOverviewOfSuspensions(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	pair := func(target api.ClusterName) api.Pair { return api.Pair{Source: "west", Target: target} }
	o := report.Overview{Opening: report.Opening{At: now}, Clusters: []report.RecordedCluster{{Name: "east"}, {Name: "north"}, {Name: "south"}, {Name: "west"}}}
	for _, target := range []api.ClusterName{"east-gw", "north", "south"} {
		o.Links = append(o.Links, report.RecordedLink{Pair: pair(target)})
	}
	installed{owner: "linkwright", namespace: "linkwright"}.suspended(&o, inventory.Record{
		Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {Names: []api.ClusterName{"east-gw"}}},
		Decisions: []inventory.Decision{
			{Kind: inventory.Reconcile, Cluster: "west", By: "bob"},
			{Kind: inventory.Suspend, Cluster: "east", By: "alice"},
			{Kind: inventory.Suspend, Source: "west", Target: "north", By: "bob", Until: now.Add(time.Hour)},
			{Kind: inventory.Suspend, Cluster: "south", By: "carol", Until: now.Add(-time.Hour)},
		},
	}, map[api.ClusterName]bool{"south": true})
	var got []string
	for _, c := range o.Clusters {
		if c.Suspended != nil {
			got = append(got, string(c.Name)+": "+c.Suspended.Message)
		}
	}
	for _, l := range o.Links {
		if l.Suspended != nil {
			got = append(got, l.Pair.String()+": "+l.Suspended.Message)
		}
	}
	const paused = "cluster south is paused from inside, so linkwright leaves it as it is: " +
		"to resume, run there kubectl -n linkwright-access annotate configmap linkwright.base linkwright.dev/paused-"
	want := []string{
		"east: cluster east is suspended by alice: to resume, run linkwright resume east",
		"south: " + paused,
		"west→east-gw: cluster east is suspended by alice: to resume, run linkwright resume east",
		"west→north: suspended until 2026-11-28T13:00:00Z by bob: to resume, run linkwright resume west/north",
		"west→south: " + paused,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A link is recorded by the inventories of both its ends. If one is missing, its cluster was not read, or nothing is left there.
func TestRecordedLinks(t *testing.T) {
	we, wn := api.Pair{Source: "west", Target: "east"}, api.Pair{Source: "west", Target: "north"}
	ne, we2 := api.Pair{Source: "north", Target: "east"}, api.Pair{Source: "away", Target: "west"}
	second := api.Pair{Source: "west", Target: "east-gw"}
	at := func(c api.ClusterName, p api.Pair) object.End { return object.End{Cluster: c, Link: p} }
	ready := []object.Condition{{Type: object.Ready, Status: object.True}}
	denial := []object.Condition{{Type: object.Ready, Status: object.False, Reason: "Denied"}}
	secret := object.Key{Kind: "Secret", Namespace: "linkerd", Name: "cluster-credentials-east"}
	got := recordedLinks([]report.RecordedCluster{{Name: "east"}, {Name: "north", Why: object.Because(reason.Unreachable, "")}, {Name: "west"}}, []clusterInventories{
		{inventories: []inventory.Inventory{{End: object.End{Cluster: "east"}}, {End: at("east", ne), Conditions: denial}, {End: at("east", we)}}},
		{},
		{missing: map[object.Key]bool{secret: true}, inventories: []inventory.Inventory{
			{End: at("north", ne)},
			{End: at("west", we2)},
			{End: at("west", we), Conditions: ready, Entries: []object.Key{{Kind: "Secret", Name: "a"}, secret}},
			{End: at("west", wn), Leaving: true},
			{End: at("west", second)},
		}},
	}, map[api.ClusterName]inventory.KnownCluster{"east": {Names: []api.ClusterName{"east-gw"}}})
	want := []report.RecordedLink{
		{Pair: we2, Source: report.UnknownEnd, Target: report.RecordedEnd},
		{Pair: ne, Source: report.UnknownEnd, Target: report.RecordedEnd, Denied: &denial[0]},
		{Pair: we, Source: report.RecordedEnd, Target: report.RecordedEnd, Conditions: ready, Missing: []object.Key{secret}},
		{Pair: second, Source: report.RecordedEnd, Target: report.AbsentEnd},
		{Pair: wn, Source: report.LeavingEnd, Target: report.UnknownEnd},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("links: -want +got\n%s", diff)
	}
	o := report.Overview{Clusters: []report.RecordedCluster{{Name: "east"}, {Name: "west"}}, Links: []report.RecordedLink{
		{Pair: we2, Source: report.UnknownEnd, Target: report.LeavingEnd}, {Pair: wn, Source: report.RecordedEnd, Target: report.UnknownEnd, Conditions: ready},
	}}
	if o.Clusters = withUnrecorded(o); len(o.Clusters) != 2 || o.AsDeclared() {
		t.Errorf("a source that leaves, and a target that was never written: %+v, clean %t", o.Clusters, o.AsDeclared())
	}
	if o.Links = o.Links[1:]; !o.AsDeclared() {
		t.Error("a target that was never written is no fault")
	}
	o.Links = append(o.Links, report.RecordedLink{Pair: ne, Source: report.UnknownEnd, Target: report.RecordedEnd})
	o.Clusters = withUnrecorded(o)
	if len(o.Clusters) != 3 || o.Clusters[1].Name != "north" || o.Clusters[1].Why == nil || o.AsDeclared() {
		t.Errorf("a cluster that nobody remembers: %+v, clean %t", o.Clusters, o.AsDeclared())
	}
}

// bare runs the program without a repository. It gives its answer, or without one what it writes to standard error, where it may also
// show what it waits for.
func (l *lab) bare(args ...string) (int, string) {
	l.t.Helper()
	out, err := exec.CommandContext(l.t.Context(), "linkwright", append(args, "--kubeconfig", l.managementConfig())...).Output()
	failed, ok := err.(*exec.ExitError) //nolint:errorlint // it is what exec gives
	switch {
	case !ok:
		return cli.ExitDone, string(out)
	case len(out) == 0:
		return failed.ExitCode(), string(failed.Stderr)
	}
	return failed.ExitCode(), string(out)
}

// apart is bare, with standard output and standard error apart.
func (l *lab) apart(args ...string) (code int, stdout, stderr string) {
	l.t.Helper()
	var out, said strings.Builder
	c := exec.CommandContext(l.t.Context(), "linkwright", append(args, "--kubeconfig", l.managementConfig())...)
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); c.ProcessState == nil {
		l.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), said.String()
}

// TestStatusWithoutRepository: inventories alone say how links are; a command that reads them writes nothing.
func TestStatusWithoutRepository(t *testing.T) {
	t.Parallel()
	l := newLab(t, "east", "west")
	if code, out := l.bare("status"); code != cli.ExitError || !strings.Contains(out, "no record of installation linkwright in namespace linkwright of the management cluster https://") ||
		!strings.Contains(out, l.managementConfig()+"): ConfigMap linkwright/linkwright-fleet is missing; check --context") {
		t.Errorf("before anything: %d %s", code, out)
	}
	l.commit(l.clusters() + link("west", "east", ""))
	l.must(cli.ExitPartial, []string{"management cluster: https://"}, "status")
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	before := l.writes()
	code, out := l.bare("status", "-o", "json")
	var doc struct {
		Links []struct {
			Source, Target, Ready string
			Reason                object.Reason
			SourceEnd, TargetEnd  output.End
			Since                 time.Time
		}
		Clusters []struct{ Ready string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Links) != 1 || len(doc.Clusters) != 2 {
		t.Fatalf("%d %v: %s", code, err, out)
	}
	if got := doc.Links[0]; code != cli.ExitPartial || got.Ready != object.False || got.Reason.Code != reason.Progressing || time.Since(got.Since) > time.Hour ||
		got.SourceEnd.Inventory != "Recorded" || got.TargetEnd.Inventory != "Recorded" {
		t.Errorf("nobody leads yet: %d %s", code, out)
	}
	if _, out := l.bare("status", "-o", "wide"); !regexp.MustCompile(`west +east +False +Progressing`).MatchString(out) ||
		!strings.HasPrefix(out, "Revision "+l.headOf()[:12]+" is applied in all 2 clusters. The last sync, by ") {
		t.Errorf("-o wide: %s", out)
	}
	for _, args := range [][]string{{"get", "links"}, {"describe", "link", "west/east"}} {
		if code, out, said := l.apart(args...); code != cli.ExitDone || !strings.Contains(said, "No process syncs: this is as recorded ") {
			t.Errorf("%v after a sync: %d %s%s", args, code, out, said)
		}
	}
	if code, out := l.bare("status", "--namespace", "default"); code != cli.ExitError || !strings.Contains(out, "no record") {
		t.Errorf("in another namespace: %d %s", code, out)
	}
	if n := l.writes() - before; n != 0 {
		t.Errorf("it writes %d times", n)
	}
	l.watched()
}

// secretGone: somebody deletes a link's Secret of the control plane in west while no daemon runs. Status names it.
func (l *lab) secretGone() {
	l.t.Helper()
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	if code, out := l.bare("status"); code != cli.ExitDone {
		l.t.Fatalf("before: exit code %d\n%s", code, out)
	}
	if err := l.client("west").CoreV1().Secrets("linkerd").Delete(l.t.Context(), "cluster-credentials-east", metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	if code, out := l.bare("status"); code != cli.ExitPartial || !strings.Contains(out, "SecretMissing: Secret linkerd/cluster-credentials-east is missing") {
		l.t.Errorf("a Secret of the control plane is gone: exit code %d\n%s", code, out)
	}
}

// watched: --watch shows a link that is made meanwhile, and ends well when it is interrupted.
func (l *lab) watched() {
	l.t.Helper()
	c := exec.CommandContext(l.t.Context(), "linkwright", "status", "--watch", "--kubeconfig", l.Cluster("west").Kubeconfig)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	until := func(begins string) {
		for lines.Scan() {
			if strings.HasPrefix(strings.Join(strings.Fields(lines.Text()), " "), begins) {
				return
			}
		}
		l.t.Errorf("--watch never shows %q: %v", begins, lines.Err())
	}
	until("west east False Progressing")
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	until("east west False Progressing")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		l.t.Fatal(err)
	}
	for lines.Scan() { // so that it is not blocked
	}
	if err := c.Wait(); err != nil {
		l.t.Errorf("--watch was interrupted: %v", err)
	}
}

// For a link only its clusters are read, by any of their names, so that no other one that is down delays it. If they do not have it, all are read.
func TestReadsClustersOfLinks(t *testing.T) {
	known := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {Names: []api.ClusterName{"orient"}}, "north": {}, "west": {}}}
	for _, tt := range []struct{ about, reads string }{
		{"", "[east north west]"}, {"west/east", "[east west]"}, {"west/orient", "[east west]"}, {"west/south", "[west]"}, {"south/pole", "[]"},
	} {
		var c installed
		if p, ok := cli.ParsePair(tt.about); ok {
			c.about = []api.Pair{p}
		}
		if got := fmt.Sprint(c.toRead(known)); got != tt.reads {
			t.Errorf("%q: %s, want %s", tt.about, got, tt.reads)
		}
	}
	others := []report.RecordedLink{{Pair: api.Pair{Source: "north", Target: "east"}}, {Pair: api.Pair{Source: "west", Target: "east"}}}
	if got := (installed{about: []api.Pair{{Source: "west", Target: "east"}}}).asked(slices.Clone(others)); len(got) != 1 || got[0].Pair.Source != "west" {
		t.Errorf("of one link it shows %v", got)
	}
	if got := (installed{}).asked(others); len(got) != 2 {
		t.Errorf("of all links it shows %v", got)
	}
	unread := report.Overview{Clusters: []report.RecordedCluster{{Name: "west", Why: object.Because(reason.Timeout, "")}}}
	for about, want := range map[string]bool{"": false, "west/north": false, "east/west": false, "west/east": true} {
		var c installed
		if p, ok := cli.ParsePair(about); ok {
			c.about = []api.Pair{p}
		}
		if got := c.lacks(listed()); got != want {
			t.Errorf("%q: other clusters may say more: %t", about, got)
		}
		if got := c.lacks(unread); got != (about != "") {
			t.Errorf("%q, and nothing was read: other clusters may say more: %t", about, got)
		}
	}
}

// That time goes by, and that a leader renews its lease, is no change to who watches; that it died is.
func TestStatusPrinter(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	status := func(renewed, now time.Duration) report.Overview {
		return report.Overview{Ages: true, Opening: report.Opening{Leader: &report.Leader{Holder: "pod", Renewed: at.Add(renewed), Lasts: 15 * time.Second}, At: at.Add(now)}}
	}
	var out strings.Builder
	p := &statusPrinter{out: &out, format: report.Text}
	for i, tt := range []struct {
		status report.Overview
		want   string
	}{
		{status(0, 0), "pod leads."},
		{status(9*time.Second, 10*time.Second), ""},
		{
			status(10*time.Second, 20*time.Second),
			"\npod leads, but it last renewed its Lease 10s ago: it may be gone, and then nothing is repaired. A standby takes over 15s after the last renewal, and a new process 15s after its start.",
		},
		{status(10*time.Second, 22*time.Second), ""},
		{status(10*time.Second, 30*time.Second), "\nNo process syncs: pod had the lease and has not renewed it since 2026-11-22T15:04:15Z, 20s ago. Start it again, or run linkwright sync --repo URL."},
		{status(10*time.Second, 40*time.Second), ""},
		{status(50*time.Second, 50*time.Second), "\npod leads."},
	} {
		out.Reset()
		if err := p.print(tt.status); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(strings.TrimSuffix(out.String(), "\n"), "\n\nno link"); got != tt.want {
			t.Errorf("%d: %q, want %q", i, got, tt.want)
		}
	}
}

// TestMarkDenied: a denied removal of a link, or of one of its clusters, marks the link; fewer selectors do not.
func TestMarkDenied(t *testing.T) {
	pair := api.Pair{Source: "west", Target: "east"}
	for name, tt := range map[string]struct {
		denied *inventory.Denial
		want   bool
	}{
		"nothing":       {nil, false},
		"the link":      {&inventory.Denial{Units: []inventory.Unit{inventory.LinkUnit(pair)}}, true},
		"its target":    {&inventory.Denial{Units: []inventory.Unit{{Kind: inventory.UnitCluster, Cluster: "east"}}}, true},
		"its selectors": {&inventory.Denial{Units: []inventory.Unit{{Kind: inventory.UnitSelectors, Source: "west", Target: "east"}}}, false},
	} {
		links := []report.RecordedLink{{Pair: pair}}
		if markDenied(links, tt.denied); links[0].RemovalDenied != tt.want {
			t.Errorf("%s: %v, want %v", name, links[0].RemovalDenied, tt.want)
		}
	}
}

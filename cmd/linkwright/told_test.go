package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
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
)

// Of a link the inventories of both its ends tell; where one is missing, its cluster was not read, or nothing is left there.
func TestLinksTold(t *testing.T) {
	we, wn := api.Pair{Source: "west", Target: "east"}, api.Pair{Source: "west", Target: "north"}
	ne, we2 := api.Pair{Source: "north", Target: "east"}, api.Pair{Source: "away", Target: "west"}
	second := api.Pair{Source: "west", Target: "east-gw"}
	at := func(c api.ClusterName, p api.Pair) object.End { return object.End{Cluster: c, Link: p} }
	ready := []object.Condition{{Type: object.Ready, Status: object.True}}
	denial := []object.Condition{{Type: object.Ready, Status: object.False, Reason: "Denied"}}
	secret := object.Key{Kind: "Secret", Namespace: "linkerd", Name: "cluster-credentials-east"}
	got := linksTold([]report.ToldCluster{{Name: "east"}, {Name: "north", Why: object.Because(reason.Unreachable, "")}, {Name: "west"}}, []heard{
		{inventories: []inventory.Inventory{{End: object.End{Cluster: "east"}}, {End: at("east", ne), Conditions: denial}, {End: at("east", we)}}},
		{},
		{missing: map[object.Key]bool{secret: true}, inventories: []inventory.Inventory{
			{End: at("north", ne)},
			{End: at("west", we2)},
			{End: at("west", we), Conditions: ready, Entries: []object.Key{{Kind: "Secret", Name: "a"}, secret}},
			{End: at("west", wn), Leaving: true},
			{End: at("west", second)},
		}},
	}, map[api.ClusterName]inventory.Known{"east": {Names: []api.ClusterName{"east-gw"}}})
	want := []report.ToldLink{
		{Pair: we2, Source: report.UnknownEnd, Target: report.Recorded},
		{Pair: ne, Source: report.UnknownEnd, Target: report.Recorded, Denied: &denial[0]},
		{Pair: we, Source: report.Recorded, Target: report.Recorded, Conditions: ready, Missing: []object.Key{secret}},
		{Pair: second, Source: report.Recorded, Target: report.Absent},
		{Pair: wn, Source: report.LeavingEnd, Target: report.UnknownEnd},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("links: -want +got\n%s", diff)
	}
	told := report.Told{Clusters: []report.ToldCluster{{Name: "east"}, {Name: "west"}}, Links: []report.ToldLink{
		{Pair: we2, Source: report.UnknownEnd, Target: report.LeavingEnd}, {Pair: wn, Source: report.Recorded, Target: report.UnknownEnd, Conditions: ready},
	}}
	if told.Clusters = forgotten(told); len(told.Clusters) != 2 || told.Clean() {
		t.Errorf("a source that leaves, and a target that was never written: %+v, clean %t", told.Clusters, told.Clean())
	}
	if told.Links = told.Links[1:]; !told.Clean() {
		t.Error("a target that was never written is no fault")
	}
	told.Links = append(told.Links, report.ToldLink{Pair: ne, Source: report.UnknownEnd, Target: report.Recorded})
	told.Clusters = forgotten(told)
	if len(told.Clusters) != 3 || told.Clusters[1].Name != "north" || told.Clusters[1].Why == nil || told.Clean() {
		t.Errorf("a cluster that nobody remembers: %+v, clean %t", told.Clusters, told.Clean())
	}
}

// bare runs the program without a repository.
func (l *lab) bare(args ...string) (int, string) {
	l.t.Helper()
	args = append(args, "--kubeconfig", l.homeConfig())
	out, err := exec.CommandContext(l.t.Context(), "linkwright", args...).CombinedOutput()
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // it is what exec gives
		return failed.ExitCode(), string(out)
	}
	return 0, string(out)
}

// TestToldWithoutRepository: inventories alone tell how links stand; nothing is written by who asks.
func TestToldWithoutRepository(t *testing.T) {
	t.Parallel()
	l := newLab(t, "east", "west")
	if code, out := l.bare("status"); code != cli.ExitError || !strings.Contains(out, "no record of installation linkwright in namespace linkwright") || !strings.Contains(out, "linkwright-fleet") {
		t.Errorf("before anything: %d %s", code, out)
	}
	l.commit(l.clusters() + link("west", "east", ""))
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	before := l.writes()
	code, out := l.bare("status", "-o", "json")
	var doc struct {
		Links []struct {
			Source, Target, Ready, Reason, SourceEnd, TargetEnd string
			Since                                               time.Time
		}
		Clusters []struct{ Read bool }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Links) != 1 || len(doc.Clusters) != 2 {
		t.Fatalf("%d %v: %s", code, err, out)
	}
	if got := doc.Links[0]; code != cli.ExitPartial || got.Ready != object.False || got.Reason != "Progressing" || time.Since(got.Since) > time.Hour ||
		got.SourceEnd != "Recorded" || got.TargetEnd != "Recorded" {
		t.Errorf("nobody leads yet: %d %s", code, out)
	}
	if _, out := l.bare("status", "-o", "wide"); !regexp.MustCompile(`west +east +False +Progressing`).MatchString(out) ||
		!strings.HasPrefix(out, "Revision "+l.headOf()[:12]+" is applied in all 2 clusters. The last sync, by ") {
		t.Errorf("-o wide: %s", out)
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

// watched: --watch shows a link that is made meanwhile, and ends well when it is told to.
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
		l.t.Errorf("--watch was told to end: %v", err)
	}
}

// That time goes by, and that a leader renews its lease, is no news to who watches; that it died is.
func TestRetold(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	told := func(renewed, now time.Duration) report.Told {
		return report.Told{Ages: true, Opening: report.Opening{Leader: &report.Leader{Holder: "pod", Renewed: at.Add(renewed), Lasts: 15 * time.Second}, At: at.Add(now)}}
	}
	last := ""
	for i, tt := range []struct {
		told report.Told
		want string
	}{
		{told(0, 0), "pod leads."},
		{told(9*time.Second, 10*time.Second), ""},
		{told(10*time.Second, 30*time.Second), "\nNo process syncs: pod had the lease and has not renewed it since 2026-11-22 15:04:15Z, 20s ago."},
		{told(10*time.Second, 40*time.Second), ""},
		{told(50*time.Second, 50*time.Second), "\npod leads."},
	} {
		var out strings.Builder
		var err error
		if last, err = retold(&out, report.Text, tt.told, last); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(strings.TrimSuffix(out.String(), "\n"), "\n\nno link"); got != tt.want {
			t.Errorf("%d: %q, want %q", i, got, tt.want)
		}
	}
}

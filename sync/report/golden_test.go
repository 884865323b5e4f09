package report

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// golden compares formats with testdata/NAME.txtar, whose first line says the behaviour in words.
func golden(t *testing.T, name string, formats []Format, write func(*strings.Builder, Format) error) {
	t.Helper()
	file := "testdata/" + name + ".txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if archive == nil {
		archive = &txtar.Archive{Comment: []byte("TODO: say the behaviour in words.\n\n")}
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	archive.Files = nil
	for _, f := range slices.DeleteFunc(own(formats), func(f Format) bool { return f == YAML }) { // which is the same document as JSON
		var out strings.Builder
		if err := write(&out, f); err != nil {
			t.Fatal(err)
		}
		if f == JSON {
			inSchema(t, name, out.String())
		}
		archive.Files = append(archive.Files, txtar.File{Name: string(f), Data: []byte(out.String())})
		if diff := cmp.Diff(want[string(f)], out.String()); diff != "" && !*update {
			t.Errorf("%s as %s: -want +got\n%s", name, f, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// own are the formats that need no argument.
func own(formats []Format) []Format {
	return slices.DeleteFunc(slices.Clone(formats), func(f Format) bool { return f == JSONPath || f == CustomColumns })
}

const commit = api.Commit("0123456789abcdef0123456789abcdef01234567")

func link(source, target api.ClusterName) api.Pair { return api.Pair{Source: source, Target: target} }

func at(cluster api.ClusterName, p api.Pair) object.End { return object.End{Cluster: cluster, Link: p} }

func base(cluster api.ClusterName) plan.Row {
	return plan.Row{End: object.End{Cluster: cluster}, Phase: plan.Ready}
}

func key(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: "linkerd-multicluster", Name: name}
}

func wrote(end object.End, a object.Action, k object.Key, err error) object.Outcome {
	return object.Outcome{Err: err, Change: object.Change{
		End: end, Action: a, Key: k, Why: object.Reason{Code: reason.Missing, Message: "it does not exist yet"},
	}}
}

func step(cluster api.ClusterName, rows ...plan.Row) plan.Step {
	return plan.Step{Cluster: cluster, Commit: commit, Rows: append([]plan.Row{base(cluster)}, rows...)}
}

func inPlace(cluster api.ClusterName, p api.Pair) plan.Row {
	return plan.Row{End: at(cluster, p), Phase: plan.Ready}
}

// steady is a fleet of two clusters, linked both ways, with nothing to do.
func steady() Report {
	we, ew := link("west", "east"), link("east", "west")
	return Report{Commit: commit, Clusters: []Cluster{
		{Name: "east", Step: step("east", inPlace("east", ew), inPlace("east", we))},
		{Name: "west", Step: step("west", inPlace("west", ew), inPlace("west", we))},
	}}
}

// first is the first pass of a fleet of three: one link written, one held, one leaving, a cluster that is down.
func first() Report {
	we, ew, wn, gone := link("west", "east"), link("east", "west"), link("west", "north"), link("west", "old")
	held := object.Because(reason.CredentialNotIssued, "the token of west is not there yet")
	down := object.Because(reason.Unreachable, "dial tcp 192.0.2.7:6443: i/o timeout (check that the API server is up and reachable from linkwright)")
	denied := errors.New(`create Service linkerd-multicluster/probe-gateway-east: services is forbidden: user "linkwright" cannot patch | <b>` + "\nsecond line")
	later := errors.New("not written, because an earlier write of this end failed")
	return Report{
		Commit: commit, Took: 1500 * time.Millisecond,
		Problems: []api.Problem{{
			Pos: api.Pos{File: "clusters.yaml", Line: 3, Col: 9}, Warning: true,
			Message: `cluster "us-east" ends in "-east"`, Hint: "rename one of them",
		}},
		Clusters: []Cluster{
			{Name: "east", Step: step("east", plan.Row{End: at("east", ew), Phase: plan.Blocked, Why: held}, inPlace("east", we)), Outcomes: []object.Outcome{
				wrote(at("east", we), object.Create, object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}, nil),
			}},
			{Name: "north", Step: plan.Step{Cluster: "north", Denied: down, Rows: []plan.Row{{End: at("north", wn), Phase: plan.Blocked, Why: down}}}},
			{Name: "old", Step: step("old", plan.Row{
				End: at("old", gone), Phase: plan.Waiting, Leaving: true, Deleting: []object.Key{key("ServiceAccount", "linkwright.west")},
				Why: object.Because(reason.Waiting, "the access of cluster west stays until it has removed its end of the link"),
			})},
			{Name: "west", Step: step("west",
				inPlace("west", ew), plan.Row{End: at("west", we), Phase: plan.Changing}, inPlace("west", wn),
				plan.Row{End: at("west", gone), Phase: plan.Waiting, Leaving: true, Why: object.Because(reason.Waiting, "mirrors: 2 not gone yet, the first is Service shop/web-old")},
			), Outcomes: []object.Outcome{
				wrote(at("west", we), object.Create, object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "linkerd-multicluster", Name: "east"}, nil),
				wrote(at("west", we), object.Create, key("Service", "probe-gateway-east"), denied),
				wrote(at("west", we), object.Create, key("Service", "probe-gateway-east"), denied),
				wrote(at("west", we), object.Create, key("Deployment", "controller-east"), later),
				wrote(at("west", gone), object.Delete, key("Deployment", "controller-old"), nil),
			}},
		},
	}
}

// planned is a pass that may not write.
func planned() Report {
	we := link("west", "east")
	r := Report{Commit: commit, ReadOnly: true}
	changing := plan.Row{End: at("west", we), Phase: plan.Changing}
	s := step("west", changing)
	s.Ahead = []object.Change{wrote(at("west", we), object.Create, object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: "linkwright.west.east"}, nil).Change}
	s.Changes = []object.Change{wrote(at("west", we), object.Update, key("Service", "probe-gateway-east"), nil).Change}
	r.Clusters = []Cluster{{Name: "east", Step: step("east", inPlace("east", we))}, {Name: "west", Step: s}}
	return r
}

// asDeclared is a fleet of which parts are suspended, and a cluster has left: nothing is wrong with it.
func asDeclared() Report {
	we, ew := link("west", "east"), link("east", "west")
	cluster := object.Because(reason.Suspended, "cluster east has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend; 2 changes wait")
	other := object.Because(reason.Suspended, "the link's other end cannot be removed: cluster east has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend")
	left := object.Because(reason.CleanupComplete, "cluster north holds nothing of linkwright any more: you can remove its declaration")
	return Report{Commit: commit, Clusters: []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Rows: []plan.Row{
			{End: at("east", api.Pair{}), Phase: plan.Suspended, Why: object.Because(reason.Suspended, "cluster east has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend")},
			{End: at("east", ew), Phase: plan.Suspended, Why: cluster, Held: 2},
			{End: at("east", we), Phase: plan.Suspended, Leaving: true, Why: cluster, Held: 2},
		}}},
		{Name: "north", Step: plan.Step{Cluster: "north", Rows: []plan.Row{
			{End: at("north", api.Pair{}), Phase: plan.Removed, Leaving: true, Why: left},
		}}},
		{Name: "west", Step: step("west", inPlace("west", ew), plan.Row{End: at("west", we), Phase: plan.Suspended, Leaving: true, Why: other})},
	}}
}

// bases is a fleet whose links are in place, and whose bases are not.
func bases() Report {
	base := func(cluster api.ClusterName, s plan.Phase, why *object.Reason) Cluster {
		return Cluster{Name: cluster, Step: plan.Step{Cluster: cluster, Rows: []plan.Row{{End: at(cluster, api.Pair{}), Phase: s, Why: why}}}}
	}
	r := Report{Commit: commit, Clusters: []Cluster{
		base("east", plan.Blocked, object.Because(reason.KindNotServed, "the cluster does not serve ServiceMonitor monitoring.coreos.com/v1")),
		base("north", plan.Changing, nil),
		base("south", plan.Waiting, object.Because(reason.Waiting, "objects of the cluster: 1 not gone yet")),
		base("west", plan.Waiting, object.Because(reason.WaitingForLinks, "linkwright is still removing links of this cluster")),
	}}
	r.Clusters[1].Outcomes = []object.Outcome{wrote(at("north", api.Pair{}), object.Create, key("NetworkPolicy", "gateway"), nil)}
	r.Clusters[2].Step.Rows[0].Leaving = true
	return r
}

// unready is a fleet of which everything is written, and not all of it ready: what will be by waiting, and what will not.
// What is said of that, others wrote.
func unready() Report {
	we, ew := link("west", "east"), link("east", "west")
	gives := plan.Unready{
		Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-east"}, Failed: true,
		Why: `Progressing is False: ProgressDeadlineExceeded: ReplicaSet "controller-east-5d" has timed out progressing.`,
	}
	waits := plan.Unready{
		Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-west"},
		Why: "0 of 2 replicas are available",
	}
	other := plan.Unready{
		Key: object.Key{Group: "policy.linkerd.io", Kind: "Server", Namespace: "linkerd-multicluster", Name: "gateway"},
		Why: "Ready is False: Odd: \x1b[2Jone line\nand | <b>another",
	}
	row := func(end object.End, u ...plan.Unready) plan.Row {
		var said []string
		for _, one := range u {
			said = append(said, one.Key.String()+": "+one.Why)
		}
		return plan.Row{End: end, Phase: plan.Waiting, Why: object.Because(reason.NotReady, "%s", strings.Join(said, "; ")), Unready: u}
	}
	return Report{Commit: commit, Clusters: []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Commit: commit, Rows: []plan.Row{
			row(at("east", api.Pair{}), other), row(at("east", ew), waits, other), inPlace("east", we),
		}}},
		{Name: "west", Step: step("west", inPlace("west", ew), row(at("west", we), gives))},
	}}
}

// TestInterruptedSum: a sync that ended before it read the clusters does not know which links there are.
func TestInterruptedSum(t *testing.T) {
	unread, read := Cluster{Name: "east"}, Cluster{Name: "west", Step: step("west")}
	for _, tt := range []struct {
		clusters []Cluster
		want     string
	}{
		{[]Cluster{unread}, "no cluster was read"},
		{[]Cluster{unread, read}, "no links in the clusters that were read; nothing can be written now; 1 cluster Unknown"},
		{[]Cluster{read}, "no links; nothing to write"},
	} {
		if got := (Report{Clusters: tt.clusters, Err: "interrupted before the end"}).document().sum(); got != tt.want {
			t.Errorf("%d clusters: got %q, want %q", len(tt.clusters), got, tt.want)
		}
	}
}

// rewound is a head that is not in force: the last good one is kept up.
func rewound() Report {
	r := steady()
	r.Head = "89abcdef0123456789abcdef0123456789abcdef"
	r.Err = "commit 89abcdef0123 does not descend from 0123456789ab"
	return r
}

// refusedWhole is a cluster that cannot be read: what its base lacks is nothing beside that.
func refusedWhole() Report {
	why := object.Because(reason.Unreachable, "down")
	we := link("west", "east")
	return Report{Clusters: []Cluster{{Name: "east", Step: plan.Step{Cluster: "east", Denied: why, Rows: []plan.Row{
		{End: at("east", api.Pair{}), Phase: plan.Blocked, Why: why}, {End: at("east", we), Phase: plan.Blocked, Why: why},
	}}}}}
}

func TestClean(t *testing.T) {
	tests := []struct {
		name   string
		report Report
		want   bool
		counts Counts
	}{
		{"steady", steady(), true, Counts{Ready: 4}},
		{"suspended and left", asDeclared(), true, Counts{Ready: 1, Suspended: 4}},
		{"refused", refusedWhole(), false, Counts{Blocked: 1, ClustersUnknown: 1}},
		{"bases", bases(), false, Counts{Written: 1, Changing: 1, Blocked: 1, Waiting: 1}},
		{"not ready", unready(), false, Counts{Ready: 2, Waiting: 3}},
		{"owing", owing(), false, Counts{ClustersUnknown: 1, Cleanup: 5}},
	}
	for _, tt := range tests {
		if got := tt.report.Clean(); got != tt.want || tt.report.Counts() != tt.counts {
			t.Errorf("%s: clean %t, %+v; want %t, %+v", tt.name, got, tt.report.Counts(), tt.want, tt.counts)
		}
	}
}

func TestWrite(t *testing.T) {
	for name, r := range map[string]Report{
		"steady": steady(), "first": first(), "planned": planned(), "as-declared": asDeclared(), "bases": bases(), "rewound": rewound(),
		"not-ready": unready(), "owing": owing(),
		"no-fleet": {Err: "the declarations are invalid", Problems: []api.Problem{
			{Pos: api.Pos{File: "links.yaml", Line: 4, Col: 3}, Message: `unknown field "sorce"`, Hint: `did you mean "source"?`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, Formats(), func(b *strings.Builder, f Format) error { return r.Write(b, f) })
		})
	}
}

func TestStatus(t *testing.T) {
	golden(t, "status", Formats(), func(b *strings.Builder, f Format) error { return first().StatusAnswer().Write(b, f) })
	var wide strings.Builder
	if err := first().StatusAnswer().Write(&wide, Wide); err != nil || !strings.Contains(wide.String(), "SOURCE END") {
		t.Errorf("status -o wide with a repository shows how ends are: %v\n%s", err, wide.String())
	}
	golden(t, "status-owing", Formats(), func(b *strings.Builder, f Format) error { return owing().StatusAnswer().Write(b, f) })
	golden(t, "status-suspended-and-left", Formats(), func(b *strings.Builder, f Format) error { return asDeclared().StatusAnswer().Write(b, f) })
}

func TestFormat(t *testing.T) {
	if err := steady().Write(nil, "xml"); err == nil || !strings.Contains(err.Error(), `format "xml"`) {
		t.Errorf("Write(xml): %v", err)
	}
	if f, err := ParseFormat("", Formats()); f != Text || err != nil {
		t.Errorf("ParseFormat(): %v %v", f, err)
	}
}

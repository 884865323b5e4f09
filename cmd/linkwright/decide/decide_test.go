package decide

import (
	"context"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/record"
)

// managed is a management cluster with a record of east and west.
func managed(t *testing.T) record.ManagementCluster {
	t.Helper()
	at := memcluster.New(memcluster.Options{}, "management").Cluster("management")
	if err := at.Put("kubectl", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}); err != nil {
		t.Fatal(err)
	}
	r := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {UID: "e"}, "west": {UID: "w"}}}
	o, err := r.Object(object.DefaultOwner, "linkwright")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.Write(t.Context(), object.Change{Action: object.Create, Key: o.Key, Object: o}); err != nil {
		t.Fatal(err)
	}
	return record.ManagementCluster{Cluster: at, Namespace: "linkwright"}
}

// Many who decide at once lose nothing of each other, and two of the same thing see each other.
func TestManyDecideAtOnce(t *testing.T) {
	management := managed(t)
	var all gosync.WaitGroup
	people := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, by := range people {
		all.Go(func() {
			d := deciding{reason: "incident"}
			err := management.Amend(t.Context(), object.DefaultOwner, func(r *inventory.Record) error {
				d.record(r, by, "", inventory.Decision{Kind: inventory.Suspend, Cluster: "east"})
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r, err := management.Record(t.Context(), object.DefaultOwner)
	if err != nil || len(r.Decisions) != len(people) || len(r.Clusters) != 2 {
		t.Errorf("%d decisions of %d people, %d clusters, %v", len(r.Decisions), len(people), len(r.Clusters), err)
	}
}

// Of another installation, or before anything was applied, there is no record: nothing is created, and the error says so.
func TestDecideWithoutRecord(t *testing.T) {
	management := managed(t)
	err := management.Amend(t.Context(), "blue", func(*inventory.Record) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "linkwright-blue-fleet") || !strings.Contains(err.Error(), "installation blue") {
		t.Errorf("of another installation: %v", err)
	}
}

// refusing is a management cluster that lets nobody write.
type refusing struct {
	object.Cluster
	times *int
}

func (r refusing) Write(context.Context, object.Change) (object.Record, error) {
	*r.times++
	return object.Record{}, context.DeadlineExceeded
}

// Only what somebody else was quicker with is tried again.
func TestDecideThatFails(t *testing.T) {
	management, times := managed(t), 0
	management.Cluster = refusing{management.Cluster, &times}
	err := management.Amend(t.Context(), object.DefaultOwner, func(*inventory.Record) error { return nil })
	if err == nil || times != 1 {
		t.Errorf("tried %d times: %v", times, err)
	}
}

// What commands record, say and refuse, one after the other, over one record.
func TestDecisionsOfCommands(t *testing.T) {
	d := deciding{management: cli.ManagementFlags{Owner: "blue"}, reason: "why"}
	r := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {UID: "e"}, "west": {UID: "w"}}}
	steps := []struct {
		what string
		do   func() (outcome, error)
		says []string
		left []string
	}{
		{"accept", func() (outcome, error) {
			return d.accept(&r, "alice", inventory.Decision{Kind: inventory.AcceptCluster, Cluster: "east", UID: "1"})
		}, []string{"recorded: AcceptCluster east=1, by alice", ": why", "linkwright accept cluster east --withdraw --owner blue"}, []string{"AcceptCluster east=1"}},
		{"accept again", func() (outcome, error) {
			return d.accept(&r, "bob", inventory.Decision{Kind: inventory.AcceptCluster, Cluster: "east", UID: "2"})
		}, []string{"east=2", "replaces: AcceptCluster east=1, by alice"}, []string{"AcceptCluster east=2"}},
		{"accept a new name", func() (outcome, error) {
			return d.accept(&r, "bob", inventory.Decision{Kind: inventory.AcceptCluster, Cluster: "new", UID: "2"})
		}, []string{"Note: the record has no cluster new: linkwright wrote only to east, west"}, []string{"AcceptCluster east=2", "AcceptCluster new=2"}},
		{
			"reconcile all", func() (outcome, error) { return d.reconcile(&r, "bob", nil) },
			[]string{"Reconcile east", "Reconcile west", "To see the result: linkwright status --watch --owner blue"},
			[]string{"AcceptCluster east=2", "AcceptCluster new=2", "Reconcile east", "Reconcile west"},
		},
		{
			"reconcile one that is not there", func() (outcome, error) { return d.reconcile(&r, "bob", []string{"east", "eats"}) },
			[]string{"the record has no cluster eats (did you mean east?): linkwright wrote only to east, west"},
			[]string{"AcceptCluster east=2", "AcceptCluster new=2", "Reconcile east", "Reconcile west"},
		},
		{
			"reconcile a link with a hyphen", func() (outcome, error) { return d.reconcile(&r, "bob", []string{"east-west"}) },
			[]string{"the record has no cluster east-west (did you mean east/west?): linkwright wrote only to east, west"},
			[]string{"AcceptCluster east=2", "AcceptCluster new=2", "Reconcile east", "Reconcile west"},
		},
		{
			"reconcile, and nobody follows", func() (outcome, error) {
				out, err := d.reconcile(&r, "bob", []string{"east"})
				out.following = ByNobody
				if strings.Contains(out.text(cli.Writing{}), "To see the result") {
					t.Error("reconcile says how to see a result that does not come")
				}
				return out, err
			}, []string{"nothing follows it yet"}, []string{"AcceptCluster east=2", "AcceptCluster new=2", "Reconcile east", "Reconcile west"},
		},
		{"suspend a link", func() (outcome, error) {
			back := d.suspend(&r, "alice", []string{"east/west"}, []inventory.Decision{{Kind: inventory.Suspend, Source: "east", Target: "west"}})
			_, err := d.resume(&r, "alice", nil)
			return back, err
		}, []string{"recorded: Suspend east/west, by alice"}, []string{"AcceptCluster east=2", "AcceptCluster new=2", "Reconcile east", "Reconcile west", "Resume east/west"}},
		{"resume what is not suspended", func() (outcome, error) {
			return d.resume(&r, "alice", []inventory.Decision{{Kind: inventory.Suspend, Cluster: "east"}})
		}, []string{"east is not suspended by linkwright suspend\n"}, []string{"AcceptCluster east=2", "AcceptCluster new=2", "Reconcile east", "Reconcile west", "Resume east/west"}},
	}
	for _, step := range steps {
		out, err := step.do()
		text := out.text(cli.Writing{})
		if err != nil {
			text = err.Error()
		}
		for _, word := range step.says {
			if !strings.Contains(text, word) {
				t.Errorf("%s: does not say %q:\n%s", step.what, word, text)
			}
		}
		var left []string
		for _, one := range r.Decisions {
			what, _, _ := strings.Cut(one.String(), ",")
			left = append(left, what)
		}
		if diff := cmp.Diff(step.left, left); diff != "" {
			t.Errorf("%s: -want +got\n%s", step.what, diff)
		}
	}
}

// Resumed is what is named, whoever suspended it. What is not suspended is no error, unless the record does not know it. Nothing is written if
// nothing changes.
func TestResume(t *testing.T) {
	all := []inventory.Decision{
		{Kind: inventory.Suspend, Cluster: "east", By: "a"},
		{Kind: inventory.Suspend, Cluster: "east", By: "b"},
		{Kind: inventory.Suspend, Source: "west", Target: "east", By: "a"},
		{Kind: inventory.Reconcile, Cluster: "east", By: "a"},
	}
	const notWest = "west is not suspended by linkwright suspend\n"
	for _, tt := range []struct {
		args    string // first command, and the same once more
		left    int
		resumed string // what the record shows as resumed
		says    string
		says2nd string
		writes  int
		err     string
	}{
		{"east", 2, "east", "taken back: Suspend east, by b", "east is not suspended by linkwright suspend\nsuspended: west/east, by a\n", 1, ""},
		{"west/east", 3, "west/east", "taken back: Suspend west/east", "west/east is not suspended by linkwright suspend\nsuspended: east, by a\nsuspended: east, by b\n", 1, ""},
		{"west→east", 3, "west/east", "taken back: Suspend west/east", "west/east is not suspended by linkwright suspend\nsuspended: east, by a\nsuspended: east, by b\n", 1, ""},
		{"east west/east", 1, "east west/east", "taken back: Suspend east, by b", "east, west/east are not suspended by linkwright suspend\n", 1, ""},
		{"east west", 2, "east", notWest, "east, west are not suspended by linkwright suspend\nsuspended: west/east, by a\n", 1, ""},
		{"", 1, "east west/east", "taken back: Suspend west/east", "nothing is suspended by linkwright suspend", 1, ""},
		{"west", 4, "", notWest, notWest, 0, ""},
		{"east north", 4, "", "", "", 0, "the record has no cluster north"},
	} {
		management := managed(t)
		r, err := management.Record(t.Context(), object.DefaultOwner)
		if err != nil {
			t.Fatal(err)
		}
		r.Decide(all...)
		named, err := suspensions(strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		again := func() string {
			out, err := amend(t.Context(), management, object.DefaultOwner, amendment{func(now *inventory.Record) (outcome, error) {
				now.Decisions = r.Decisions
				out, err := (&deciding{}).resume(now, "carol", named)
				r.Decisions = now.Decisions
				return out, err
			}, func(context.Context, object.Change) error { writes++; return nil }})
			if err != nil {
				return err.Error()
			}
			checkFollowed(t, out)
			return out.text(cli.Writing{})
		}
		first, second := again(), again()
		if !strings.Contains(first, tt.says+tt.err) || !strings.Contains(second, tt.says2nd+tt.err) || writes != tt.writes || len(Decisions(r, "", time.Now())) != tt.left {
			t.Errorf("resume %q: %d writes, %d left, it says\n%s\nand again\n%s", tt.args, writes, len(Decisions(r, "", time.Now())), first, second)
		}
		var resumed []string
		for _, s := range Suspensions(r) {
			if s.Kind == string(inventory.Resume) && s.By == "carol" && !s.At.IsZero() {
				resumed = append(resumed, s.Object)
			}
		}
		if got := strings.Join(resumed, " "); got != tt.resumed {
			t.Errorf("resume %q: the record shows %q as resumed, want %q", tt.args, got, tt.resumed)
		}
	}
}

// checkFollowed holds that a command asks which process follows what it changed, and only then.
func checkFollowed(t *testing.T, out outcome) {
	t.Helper()
	if out.followed != (len(out.changes) > 0) {
		t.Errorf("it asks which process follows: %t, of changes %v", out.followed, out.changes)
	}
}

func TestEnding(t *testing.T) {
	now := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	for until, want := range map[string]time.Time{
		"": {}, "2h": now.Add(2 * time.Hour), "2026-11-25T05:00:00+01:00": {}, "2026-11-25T06:00:00+01:00": now.Add(time.Hour),
		"-1h": {}, "0s": {}, "tomorrow": {}, "2026-11-25T03:59:59Z": {},
	} {
		got, err := parseUntil(until, now)
		if wrong := want.IsZero() && until != ""; !got.Equal(want) || (err != nil) != wrong {
			t.Errorf("--until %q: %s, %v; want %s", until, got, err, want)
		}
	}
}

// An approval that this release does not understand is listed, as a decision is.
func TestUnreadApprovalIsTold(t *testing.T) {
	got := Decisions(inventory.Record{Unread: []string{`{"hash":5}`}}, "", time.Now())
	if len(got) != 1 || !got[0].Unread || got[0].Kind != "Approval" || got[0].Object != `{"hash":5}` {
		t.Errorf("listed: %v", got)
	}
}

// A cluster that the record does not have is refused with those that it has.
func TestCheckRecorded(t *testing.T) {
	r := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {Names: []api.ClusterName{"east-gw"}}, "west": {}}}
	for name, want := range map[api.ClusterName]string{
		"east": "", "east-gw": "east-gw is a second name of cluster east: use that name", "south": "the record has no cluster south: linkwright wrote only to east, west",
		"wets": "the record has no cluster wets (did you mean west?): linkwright wrote only to east, west",
	} {
		if err := checkRecorded(r, name); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := checkRecorded(inventory.Record{}, "east"); err == nil || err.Error() != "the record has no cluster east: linkwright has not written to any cluster yet" {
		t.Errorf("an empty record: %v", err)
	}
}

// Before a person abandons a cluster, the command shows what stays there: what the record lists as pending, by the names of the objects.
func TestAbandonShowsWhatStays(t *testing.T) {
	links := []api.Pair{{Source: "east", Target: "west"}, {Source: "west", Target: "east"}}
	r := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": inventory.KnownCluster{}.AddPending(time.Now(), links...)}}
	one := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: "east"}
	out := (&deciding{}).record(&r, "alice", "", one)
	out.details = staysBehind("east", out.stays)
	var json strings.Builder
	if err := cli.Write(&json, "json", out.answer(cli.Writing{})); err != nil || strings.Count(json.String(), `"left": `) != 2 || !strings.Contains(json.String(), `"stays": [`) {
		t.Errorf("JSON: %v\n%s", err, json.String())
	}
	if shown := Decisions(r, "", time.Now()); len(shown) != 1 || len(shown[0].Stays) != 2 {
		t.Errorf("status shows %v", shown)
	}
	for _, mode := range []cli.Writing{{}, {Mode: cli.DryRunClient}} {
		text := out.text(mode)
		for _, word := range []string{
			"This stays in cluster east", "of link east/west: Linkerd Link west, its controller",
			"of link west/east: ServiceAccount linkwright-access/linkwright.west, its Secrets, ClusterRoleBinding linkwright-access.linkwright.west",
		} {
			if !strings.Contains(text, word) {
				t.Errorf("does not say %q:\n%s", word, text)
			}
		}
	}
	if none := staysBehind("east", nil); !strings.Contains(none[0], "no pending cleanup of cluster east") {
		t.Errorf("with nothing pending: %q", none)
	}
}

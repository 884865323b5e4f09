package sync

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/state"
)

// Why a revision is not applied has a code, and of errors in declarations the first one's place.
func TestUnapplied(t *testing.T) {
	lost := errors.New("no route to host")
	wrong := []api.Problem{{Warning: true, Message: "w"}, {Pos: api.Pos{File: "a.yaml", Line: 3, Col: 2}, Message: "x"}, {Message: "y"}, {Message: "z"}}
	for name, tt := range map[string]struct {
		head polled
		why  error
		want string // empty: it is nothing about revisions
	}{
		"declarations": {polled{Declaration: Declaration{Commit: "b", Problems: wrong}, err: ErrInvalid}, ErrInvalid, "InvalidDeclarations: a.yaml:3:2: x (and 2 more errors: run linkwright validate --repo URL)"},
		"one of two":   {polled{Declaration: Declaration{Commit: "b", Problems: wrong[:3]}, err: ErrInvalid}, ErrInvalid, "InvalidDeclarations: a.yaml:3:2: x (and 1 more error: run linkwright validate --repo URL)"},
		"no commit":    {polled{err: lost}, lost, "RepositoryNotRead: no route to host"},
		"no tree":      {polled{Declaration: Declaration{Commit: "b"}, err: lost}, lost, "RevisionNotRead: no route to host"},
		"history":      {polled{Declaration: Declaration{Commit: "b"}}, errors.Join(DeniedRevision{fmt.Errorf("behind: %w", lost)}, lost), string(reason.NonFastForward) + ": behind: no route to host"},
		"another":      {polled{Declaration: Declaration{Commit: "b"}}, lost, ""},
	} {
		got := ""
		if r := unapplied(tt.head, tt.why); r != nil {
			got = string(r.Code) + ": " + r.Message
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	const all = "the declarations are invalid:\na.yaml:3:2: x\ny\nz\nwarning: w"
	if got := invalid(wrong); got.Error() != all || !errors.Is(got, ErrInvalid) {
		t.Errorf("invalid: %q, want %q: errors come before warnings", got, all)
	}
	if !errors.Is(DeniedRevision{lost}, lost) {
		t.Error("what is refused hides its cause")
	}
}

// noted returns a term over a management cluster in memory, in which commit a is applied.
func noted(t *testing.T) (*engine, *memcluster.Cluster) {
	t.Helper()
	home := memcluster.New(memcluster.Options{}, "home").Cluster("home")
	if err := home.Put("kubectl", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}); err != nil {
		t.Fatal(err)
	}
	l := &Loop{Options: Options{Owner: "linkwright", Holder: "pod"}, Management: record.ManagementCluster{Cluster: home, Namespace: "linkwright"}, Log: slog.New(slog.DiscardHandler)}
	tt := newEngine(l, 1)
	tt.store.SetRecord(inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"east": {UID: "1"}}})
	tt.store.Apply(&fleet.Fleet{Commit: "a"})
	tt.store.Declared.Observe("a")
	home.Requests()
	return tt, home
}

func applied(commit api.Commit) polled { return polled{Declaration: Declaration{Commit: commit}} }

// A repository that does not answer once is no outage to a daemon, which asks again; a sync says so at once. What cannot be written is written with
// the next sync; nothing is by who only reads, adopts, or applies no revision.
func TestRecordRevision(t *testing.T) {
	ctx, lost := t.Context(), errors.New("no route to host")
	tt, home := noted(t)
	count := func(want int, when string) {
		t.Helper()
		if n := len(memcluster.Written(home.Requests())); n != want {
			t.Errorf("%s: %d writes, want %d", when, n, want)
		}
	}
	tt.patience = unresponsiveTimeout
	tt.revisions.recordRevision(ctx, applied("a"), tt.daemon(), nil)
	count(1, "the first")
	tt.revisions.recordRevision(ctx, polled{err: lost}, tt.daemon(), lost)
	tt.revisions.recordRevision(ctx, applied("a"), tt.daemon(), nil)
	count(0, "one poll in vain")
	tt.revisions.recordRevision(ctx, polled{err: lost}, tt.daemon(), lost)
	tt.revisions.recordRevision(ctx, polled{err: lost}, tt.daemon(), lost)
	tt.revisions.recordRevision(ctx, polled{err: errors.New("other words")}, tt.daemon(), lost)
	count(1, "an outage")
	if r := tt.store.Record.Last().Revision; r.Observed != "a" || r.Why == nil || r.Why.Code != reason.RepositoryNotRead {
		t.Errorf("an outage: %+v", r)
	}
	tt.revisions.recordRevision(ctx, applied("a"), tt.daemon(), nil)
	count(1, "it is over")
	r := tt.store.Record.Last()
	r.Revision = inventory.Revision{Applied: "b"}.Recorded("another process", r.Revision.Since)
	tt.store.SetRecord(r)
	tt.revisions.recordRevision(ctx, applied("a"), tt.daemon(), nil)
	count(0, "another process says otherwise, and that is no news here")

	for name, change := range map[string]func(*Loop){
		"only reads": func(l *Loop) { l.ReadOnly = true }, "adopts": func(l *Loop) { l.Adopt = map[api.Pair]bool{} },
		"releases": func(l *Loop) { l.Release = &state.Releasing{} }, "applies none": func(l *Loop) { l.Holder = "" },
	} {
		tt, home = noted(t)
		change(tt.loop)
		tt.revisions.recordRevision(ctx, applied("a"), tt.daemon(), nil)
		tt.revisions.flush(ctx)
		count(0, name)
	}
	tt, home = noted(t)
	tt.revisions.recordRevision(ctx, polled{err: lost}, tt.daemon(), lost)
	count(1, "a sync in vain")
}

// An applied revision that cannot be loaded any more stays recorded beside why the observed one is not applied.
func TestRecordRevisionThatIsGone(t *testing.T) {
	tt, _ := noted(t)
	tt.revisions.recordRevision(t.Context(), applied("a"), tt.daemon(), nil)
	tt.store.Declared.Withdraw("a")
	tt.store.Declared.Observe("b")
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), DeniedRevision{errors.New("history was rewritten")})
	got := tt.store.Record.Last().Revision
	if got.Applied != "a" || got.Observed != "b" || got.Why == nil || got.Why.Code != reason.NonFastForward || got.Why.Message != "history was rewritten" {
		t.Errorf("recorded: %+v, %v", got, got.Why)
	}
}

// A sync that applies a revision ends that an uninstall began, and one that applies none does not.
func TestRecordAfterUninstall(t *testing.T) {
	tt, _ := noted(t)
	r, began := tt.store.Record.Last(), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	r.Revision = inventory.Revision{Applied: "a", Observed: "a", UninstallSince: began}
	tt.store.SetRecord(r)
	tt.store.Declared.Withdraw("a")
	tt.store.Declared.Observe("b")
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), DeniedRevision{errors.New("history was rewritten")})
	if r := tt.store.Record.Last().Revision; r.Why == nil || !r.UninstallSince.Equal(began) {
		t.Errorf("a sync that applies nothing: %+v", r)
	}
	tt.store.Apply(&fleet.Fleet{Commit: "b"})
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), nil)
	if r := tt.store.Record.Last().Revision; r.Applied != "b" || !r.UninstallSince.IsZero() {
		t.Errorf("a sync: %+v", r)
	}
}

// The first revision waits for the first cluster that is recorded: that is one write. What could not be written is tried again.
func TestRecordRevisionWithTheFirstCluster(t *testing.T) {
	tt, home := noted(t)
	tt.store.SetRecord(inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{}})
	tt.revisions.recordRevision(t.Context(), applied("a"), tt.daemon(), nil)
	if n := len(home.Requests()); n != 0 {
		t.Errorf("before any cluster: %d requests", n)
	}
	if err := tt.record.Remember(t.Context(), fleet.Cluster{Name: "east"}, "1", plan.Step{}); err != nil {
		t.Fatal(err)
	}
	tt.revisions.flush(t.Context())
	if r := tt.store.Record.Last(); len(r.Clusters) != 1 || r.Revision.Applied != "a" || strings.Join(memcluster.Written(home.Requests()), "; ") != "create ConfigMap linkwright/linkwright-fleet" {
		t.Errorf("together: %+v", r)
	}
	home.Fault(func(f *memcluster.Faults) { f.Down = true })
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), errors.New("it is nothing about revisions"))
	tt.store.Apply(&fleet.Fleet{Commit: "b"})
	tt.store.Declared.Observe("b")
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), nil)
	home.Fault(func(f *memcluster.Faults) { f.Down = false })
	home.Requests()
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), nil)
	tt.revisions.recordRevision(t.Context(), applied("b"), tt.daemon(), nil)
	if n := len(memcluster.Written(home.Requests())); n != 1 || tt.store.Record.Last().Revision.Applied != "b" {
		t.Errorf("after a write that failed: %d writes, %+v", n, tt.store.Record.Last().Revision)
	}
}

// What a revision writes nothing of is named: whole clusters, and links that are suspended for themselves.
func TestCountWritten(t *testing.T) {
	cluster := "---\napiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %[1]s}}, suspend: %t}\n"
	link := "---\napiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %[1]s, target: %[2]s, suspend: %[3]t}\n"
	text := fmt.Sprintf(cluster, "a", false) + fmt.Sprintf(cluster, "b", false) + fmt.Sprintf(cluster, "c", true) +
		fmt.Sprintf(link, "a", "b", false) + fmt.Sprintf(link, "b", "a", true) + fmt.Sprintf(link, "a", "c", true)
	f, problems := fleet.Load("1", fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		t.Fatal(problems)
	}
	written, clusters, links := countWritten(f)
	if written != 1 || fmt.Sprint(clusters) != "[c]" || fmt.Sprint(links) != "[b→a]" {
		t.Errorf("%d written, suspended are clusters %v and links %v", written, clusters, links)
	}
}

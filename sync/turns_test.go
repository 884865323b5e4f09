package sync

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// rig is a daemon over clusters in memory, inside a bubble.
type rig struct {
	*memcluster.Clusters
	t     *testing.T
	poke  chan struct{}
	ended func() // once the term is over

	mu      sync.Mutex
	fleet   *fleet.Fleet
	reports []report.Report
}

// Follow implements Clusters: all of them are open.
func (r *rig) Follow(context.Context, []fleet.Cluster) map[api.ClusterName]error { return nil }

func (r *rig) WithCluster(_ context.Context, name api.ClusterName, f func(Cluster) error) error {
	return f(r.Cluster(name))
}

func (r *rig) Token(ctx context.Context, name api.ClusterName, q object.TokenRequest) (object.Secret, error) {
	return r.Cluster(name).Token(ctx, q)
}

// Next implements Declared.
func (r *rig) Next(context.Context) (Declaration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Declaration{Commit: r.fleet.Commit, Fleet: r.fleet}, nil
}

func (*rig) At(context.Context, api.Commit) (Declaration, error) { return Declaration{}, errSkipped }

func (*rig) Follows(context.Context, api.Commit, api.Commit) error { return nil }

const rigMesh = "---\napiVersion: " + api.GroupVersion + "\nkind: Mesh\nmetadata: {name: m}\nspec: {clusters: {matchLabels: {}}}\n"

func rigLink(source, target string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %[2]s, target: %[3]s}\n", api.GroupVersion, source, target)
}

// declare commits what links there are.
func (r *rig) declare(commit, links string) {
	r.t.Helper()
	text := links + "---\napiVersion: " + api.GroupVersion + "\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {interval: 1m}\n"
	for _, name := range r.Names() {
		if name != "home" {
			text += fmt.Sprintf("---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %[2]s}}}\n", api.GroupVersion, name)
		}
	}
	f, problems := fleet.Load(api.Commit(commit), fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		r.t.Fatalf("load: %v", problems)
	}
	r.mu.Lock()
	r.fleet = f
	r.mu.Unlock()
	tell(r.poke)
}

// turns runs a daemon over east, north and west, with what links are declared at first.
func turns(t *testing.T, o memcluster.Options, links string, f func(*rig)) {
	t.Helper()
	begun(t, o, links, func(*rig) {}, f)
}

// begun is turns where something is wrong from the beginning.
func begun(t *testing.T, o memcluster.Options, links string, before, f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{Clusters: memcluster.New(o, "east", "north", "west", "home"), t: t, poke: make(chan struct{}, 1)}
		for i, name := range r.Names() {
			ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}
			if err := r.Cluster(name).Put("kubectl", ns); err != nil {
				t.Fatal(err)
			}
			if err := r.Cluster(name).Dress(testbed.Dressing{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}); err != nil {
				t.Fatal(err)
			}
		}
		r.declare("c1", links)
		before(r)
		l := &Loop{
			Owner: "linkwright", Declared: r, Clusters: r, Changes: r, Home: Home{Cluster: r.Cluster("home"), Namespace: "linkwright"},
			Renderer: render.Renderer{Owner: "linkwright"}, Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy}, Explain: cluster.Explain, Immutable: cluster.Immutable,
			Patience: time.Minute, Log: slog.New(slog.DiscardHandler),
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- l.Run(ctx, 1, r.poke, func(p report.Report) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.reports = append(r.reports, p)
			})
		}()
		defer stop() // also where f gives up
		f(r)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if r.ended != nil {
			r.ended()
		}
	})
}

// told are the reports since this was asked last.
func (r *rig) told() []report.Report {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.reports
	r.reports = nil
	return out
}

// clean waits a while, after which all of the last report must be in place.
func (r *rig) clean(after time.Duration, ends int) report.Report {
	r.t.Helper()
	time.Sleep(after)
	all := r.told()
	if len(all) == 0 {
		r.t.Fatal("no report")
	}
	last := all[len(all)-1]
	if c := last.Counts(); !last.Clean() || c.InPlace != ends {
		r.t.Fatalf("%+v, want %d in place: %s%s", c, ends, last.Err, rows(last))
	}
	return last
}

func rows(p report.Report) (out string) {
	for _, c := range p.Clusters {
		if c.Step.Refused != nil {
			out += fmt.Sprintf("\n%s: %v", c.Name, *c.Step.Refused)
		}
		for _, row := range c.Step.Rows {
			if row.Why != nil {
				out += fmt.Sprintf("\n%s: %s: %v", row.End, row.Standing, *row.Why)
			}
		}
		for _, o := range c.Outcomes {
			if o.Err != nil {
				out += "\n" + o.Err.Error()
			}
		}
	}
	return out
}

// asked are the requests of all clusters since this was asked last: looks at what watches show are none.
func (r *rig) asked() (out []string) {
	synctest.Wait()
	for _, name := range r.Names() {
		for _, q := range r.Cluster(name).Requests() {
			if q != "live" {
				out = append(out, string(name)+": "+q)
			}
		}
	}
	return out
}

var probe = object.Key{Kind: "Service", Namespace: "linkerd-multicluster", Name: "probe-east"}

func (r *rig) edit(name api.ClusterName, k object.Key, i int) {
	r.t.Helper()
	if err := r.Cluster(name).Edit("hand", k, func(c map[string]any) {
		labels := c["metadata"].(map[string]any)["labels"].(map[string]any) //nolint:forcetypeassert // ours
		for label := range labels {
			if !strings.HasPrefix(label, "linkwright.dev/") {
				labels[label] = fmt.Sprint("edit-", i)
			}
		}
	}); err != nil {
		r.t.Fatal(err)
	}
}

// ours are objects of links in a cluster, at least as many that none is edited often.
func (r *rig) ours(name api.ClusterName) (out []object.Key) {
	r.t.Helper()
	for _, k := range r.Cluster(name).Keys() {
		labels, _ := r.Cluster(name).Object(k)["metadata"].(map[string]any)["labels"].(map[string]any)
		if labels[object.OwnerLabel] != nil && len(labels) > 1 && k.Namespace == probe.Namespace && k.Kind != "Secret" && k.Kind != "Link" {
			out = append(out, k)
		}
	}
	if len(out) < 50/often {
		r.t.Fatalf("only %d objects: %v", len(out), out)
	}
	return out
}

// An unchanged fleet costs no request, pass after pass, and its rows are told again.
func TestSettled(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(30*time.Second, 12)
		r.asked()
		time.Sleep(5 * time.Minute)
		all := r.told()
		if len(all) < 4 || len(all) > 6 {
			t.Errorf("%d reports in five minutes", len(all))
		}
		for _, p := range all {
			if c := p.Counts(); !p.Clean() || c.InPlace != 12 || c.Written > 0 || p.Between {
				t.Errorf("a pass over what is settled: %+v %s", c, rows(p))
			}
		}
		if got := r.asked(); len(got) > 0 {
			t.Errorf("it asked %q", got)
		}
	})
}

// What somebody changes or deletes is repaired from the watch, by one write, and told.
func TestDriftIsRepaired(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(30*time.Second, 12)
		for what, move := range map[string]func(){
			"an edit":    func() { r.edit("west", probe, 1) },
			"a deletion": func() { _ = r.Cluster("west").Remove(probe) },
		} {
			r.asked()
			r.told()
			move()
			time.Sleep(100 * time.Millisecond)
			if got := r.asked(); len(got) != 1 || !strings.HasPrefix(got[0], "west: ") || !strings.HasSuffix(got[0], probe.String()) {
				t.Errorf("%s: it asked %q", what, got)
			}
			time.Sleep(2 * time.Second)
			if all := r.told(); len(all) != 1 || !all[0].Between || all[0].Counts().Written != 1 || !all[0].Clean() {
				t.Errorf("%s: told %+v", what, all)
			}
			time.Sleep(time.Second)
		}
		if got := r.asked(); len(got) > 0 {
			t.Errorf("afterwards it asked %q", got)
		}
	})
}

// Many edits are repaired each within a quarter of a second, and told at most every second.
func TestManyEdits(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(50*time.Second, 12)
		for _, name := range r.Names() {
			r.Cluster(name).Fault(func(f *memcluster.Faults) { f.Slow = 5 * time.Millisecond })
		}
		r.asked()
		keys := r.ours("west")
		for i := range 50 {
			r.edit("west", keys[i%len(keys)], i)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		writes := 0
		for _, q := range r.asked() {
			if strings.Contains(q, " update ") {
				writes++
			}
			if strings.Contains(q, "observe") {
				t.Errorf("it asked %s", q)
			}
		}
		if writes != 50 {
			t.Errorf("%d writes for 50 edits", writes)
		}
		if n := len(r.told()); n > 5 {
			t.Errorf("%d reports in 2 s", n)
		}
	})
}

// A cluster that hangs delays neither links nor drift of the others, nor their reports; it has its turn when it answers.
func TestHanging(t *testing.T) {
	turns(t, memcluster.Options{Timeout: 30 * time.Second}, rigLink("west", "north"), func(r *rig) {
		r.clean(30*time.Second, 2)
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true })
		r.declare("c2", rigLink("west", "north")+rigLink("north", "west"))
		time.Sleep(4 * time.Second)
		all := r.told()
		if len(all) != 1 || all[0].Commit != "c2" || all[0].Counts().InPlace != 4 || all[0].Between {
			t.Fatalf("told of the commit: %d reports %s", len(all), rows(all[0]))
		}
		k := probe
		k.Name = "probe-north"
		r.asked()
		r.edit("west", k, 1)
		time.Sleep(50 * time.Millisecond)
		if got := r.asked(); len(got) != 1 || !strings.HasPrefix(got[0], "west: update") {
			t.Errorf("while east hangs, for an edit in west it asked %q", got)
		}
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = false })
		r.clean(3*time.Minute, 4)
	})
}

// At its beginning a term reads all clusters before it writes to any, but does not wait for long for one that hangs.
func TestHangingFromTheBeginning(t *testing.T) {
	hang := func(r *rig) { r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true }) }
	begun(t, memcluster.Options{Timeout: 30 * time.Second}, rigLink("west", "north"), hang, func(r *rig) {
		time.Sleep(1900 * time.Millisecond)
		for _, q := range r.asked() {
			if strings.Contains(q, " ") && !strings.HasSuffix(q, ": observe") && !strings.HasPrefix(q, "home") {
				t.Errorf("before it is known who is who: %s", q)
			}
		}
		time.Sleep(10 * time.Second)
		all := r.told()
		if len(all) == 0 || all[0].Counts().InPlace != 2 || all[0].Clusters[0].State() != report.Unread {
			t.Fatalf("told %d times: %s", len(all), rows(all[0]))
		}
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = false })
		r.declare("c2", rigMesh)
		r.clean(3*time.Minute, 12)
	})
}

// Told to stop in the middle, a term ends once the writes under way have, and begins no others.
func TestStopped(t *testing.T) {
	slow := func(r *rig) {
		for _, name := range []api.ClusterName{"east", "north", "west"} {
			r.Cluster(name).Fault(func(f *memcluster.Faults) { f.Slow = time.Second })
		}
	}
	var set *memcluster.Clusters
	var stopped time.Time
	begun(t, memcluster.Options{}, rigMesh, slow, func(r *rig) {
		set = r.Clusters
		time.Sleep(2500 * time.Millisecond)
		if writes := memcluster.Written(r.asked()); len(writes) == 0 {
			t.Error("nothing was written yet: the test proves nothing")
		}
		stopped = time.Now()
		r.ended = func() {
			if took := time.Since(stopped); took > 2*time.Second {
				t.Errorf("it took %v to end", took)
			}
			for _, name := range set.Names() {
				for _, q := range memcluster.Written(set.Cluster(name).Requests()) {
					t.Errorf("%s: %s, although it was told to stop", name, q)
				}
			}
		}
	})
}

// What takes something away is done only on what requests showed in the same pass.
func TestLookIsObeyed(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(30*time.Second, 12)
		r.asked()
		r.declare("c2", rigLink("west", "north")+rigLink("north", "west")+rigLink("east", "north")+rigLink("north", "east")+rigLink("east", "west"))
		time.Sleep(50 * time.Second)
		seen := map[string]bool{}
		for _, q := range r.asked() {
			name, what, _ := strings.Cut(q, ": ")
			seen[name] = seen[name] || what == "observe"
			if strings.HasPrefix(what, "delete") && !seen[name] {
				t.Errorf("%s before it was read by requests", q)
			}
		}
		if got := slices.Sorted(maps.Keys(seen)); !seen["west"] || !seen["east"] {
			t.Errorf("read by requests: %v", got)
		}
		r.clean(time.Minute, 10)
	})
}

// What somebody changes again and again is left alone for a while, and then corrected once more.
func TestContested(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(30*time.Second, 12)
		r.asked()
		fight := func(times int) (writes int) {
			for i := range times {
				r.edit("west", probe, i)
				time.Sleep(500 * time.Millisecond)
			}
			return len(memcluster.Written(r.asked()))
		}
		if n := fight(12); n != often+1 {
			t.Errorf("%d writes for 12 edits, want %d", n, often+1)
		}
		last := r.told()
		if c := last[len(last)-1].Counts(); c.InPlace == 12 {
			t.Errorf("nothing is told of it: %s", rows(last[len(last)-1]))
		}
		time.Sleep(2 * time.Minute)
		if n := len(memcluster.Written(r.asked())); n != 1 {
			t.Errorf("%d writes in two minutes, want one once it was left alone", n)
		}
		if n := fight(6); n != 0 {
			t.Logf("%d writes afterwards", n)
		}
	})
}

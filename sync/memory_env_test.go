package sync

import (
	"context"
	"fmt"
	"log/slog"
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
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/store"
)

// memoryEnv is a daemon over clusters in memory, inside a bubble.
type memoryEnv struct {
	*memcluster.Clusters
	t     *testing.T
	poke  chan struct{}
	ended func() // once the term is over

	mu        sync.Mutex
	fleet     *fleet.Fleet
	reports   []report.Report
	meanwhile []report.Report // of syncs under way
	wholes    map[api.ClusterName]int
}

// counting notes plans of whole clusters.
type counting struct {
	render.Renderer
	rig *memoryEnv
}

// Complete implements plan.Renderer.
func (c counting) Complete(of fleet.Cluster, ends []object.Desired) []object.Desired {
	c.rig.mu.Lock()
	defer c.rig.mu.Unlock()
	if f := c.rig.fleet; len(ends) > 1 && len(ends) == len(f.Out(of.Name))+len(f.In(of.Name)) {
		c.rig.wholes[of.Name]++
	}
	return c.Renderer.Complete(of, ends)
}

// wholly returns how often a cluster was planned whole since this was asked last.
func (r *memoryEnv) wholly(name api.ClusterName) int {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.wholes[name]
	r.wholes[name] = 0
	return n
}

// Next implements Declared.
func (r *memoryEnv) Next(context.Context) (Declaration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Declaration{Commit: r.fleet.Commit, Fleet: r.fleet}, nil
}

func (*memoryEnv) At(context.Context, api.Commit) (Declaration, error) {
	return Declaration{}, apply.ErrSkipped
}

func (*memoryEnv) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error { return nil }

const memoryMesh = "---\napiVersion: " + api.GroupVersion + "\nkind: Mesh\nmetadata: {name: m}\nspec: {clusters: {matchLabels: {}}}\n"

func memoryLink(source, target string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %[2]s, target: %[3]s}\n", api.GroupVersion, source, target)
}

// declare commits what links there are.
func (r *memoryEnv) declare(commit, links string) {
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

// newMemoryEnv has east, north and west, with what links are declared at first; it is made in a bubble.
func newMemoryEnv(t *testing.T, o memcluster.Options, links string) *memoryEnv {
	t.Helper()
	r := &memoryEnv{Clusters: memcluster.New(o, "east", "north", "west", "home"), t: t, poke: make(chan struct{}, 1), wholes: map[api.ClusterName]int{}}
	for i, name := range r.Names() {
		ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}
		if err := r.Cluster(name).Put("kubectl", ns); err != nil {
			t.Fatal(err)
		}
		if err := r.Cluster(name).InstallLinkerd(testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}); err != nil {
			t.Fatal(err)
		}
	}
	r.declare("c1", links)
	return r
}

// loop returns that of a process that was just started, and reads by requests.
func (r *memoryEnv) loop() *Loop {
	return &Loop{
		Options: Options{Owner: "linkwright", Patience: time.Minute}, Declared: r, Clusters: r, Management: record.ManagementCluster{Cluster: r.Cluster("home"), Namespace: "linkwright"},
		Renderer: counting{render.Renderer{Owner: "linkwright"}, r}, Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy}, Errors: Errors{Explain: cluster.Explain, Rejection: cluster.Rejection},
		Log: slog.New(slog.DiscardHandler),
	}
}

// turns runs a daemon over east, north and west, with what links are declared at first.
func turns(t *testing.T, o memcluster.Options, links string, f func(*memoryEnv)) {
	t.Helper()
	begun(t, o, links, func(*memoryEnv) {}, f)
}

// begun is turns where something is wrong from the beginning.
func begun(t *testing.T, o memcluster.Options, links string, before, f func(*memoryEnv)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newMemoryEnv(t, o, links)
		before(r)
		l := r.loop()
		l.Changes = r
		stop := r.run(l)
		defer stop() // also where f gives up
		f(r)
		stop()
		if r.ended != nil {
			r.ended()
		}
	})
}

// run has a daemon run until the returned function is called.
func (r *memoryEnv) run(l *Loop) (stop func()) {
	return r.runPublishing(l, func(p report.Report) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if p.When == report.Syncing {
			r.meanwhile = append(r.meanwhile, p)
			return
		}
		r.reports = append(r.reports, p)
	})
}

// runPublishing has a daemon run until the returned function is called.
func (r *memoryEnv) runPublishing(l *Loop, publish func(report.Report)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, 1, r.poke, publish) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

// reported returns the reports since this was asked last.
func (r *memoryEnv) reported() []report.Report {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.reports
	r.reports = nil
	return out
}

// clean waits a while, after which all of the last report must be in place.
func (r *memoryEnv) clean(after time.Duration, ends int) report.Report {
	r.t.Helper()
	time.Sleep(after)
	all := r.reported()
	if len(all) == 0 {
		r.t.Fatal("no report")
	}
	last := all[len(all)-1]
	if c := last.Counts(); !last.Clean() || c.Ready != ends {
		r.t.Fatalf("%+v, want %d in place: %s%s", c, ends, last.Err, rows(last))
	}
	return last
}

func rows(p report.Report) (out string) {
	for _, c := range p.Clusters {
		if c.Step.Denied != nil {
			out += fmt.Sprintf("\n%s: %v", c.Name, *c.Step.Denied)
		}
		for _, row := range c.Step.Rows {
			if row.Why != nil {
				out += fmt.Sprintf("\n%s: %s: %v", row.End, row.Phase, *row.Why)
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

// asked returns the requests of all clusters since this was asked last: reads what watches show are none.
func (r *memoryEnv) asked() (out []string) {
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

func (r *memoryEnv) edit(name api.ClusterName, k object.Key, i int) {
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
func (r *memoryEnv) ours(name api.ClusterName) (out []object.Key) {
	r.t.Helper()
	for _, k := range r.Cluster(name).Keys() {
		labels, _ := r.Cluster(name).Object(k)["metadata"].(map[string]any)["labels"].(map[string]any)
		if labels[object.OwnerLabel] != nil && len(labels) > 1 && k.Namespace == probe.Namespace && k.Kind != "Secret" && k.Kind != "Link" {
			out = append(out, k)
		}
	}
	if len(out) < 50/store.MaxCorrections {
		r.t.Fatalf("only %d objects: %v", len(out), out)
	}
	return out
}

package sync_test

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// nonFastForward is a real history, and three clusters in memory at its last commit, of which west is the management cluster; links that its first
// commit declares, the last declares too. The command is tried on real ones (cmd/linkwright).
type nonFastForward struct {
	t, all      *testing.T // of what is tested now, and of all of it
	set         *memcluster.Clusters
	h           *history
	first, last api.Commit
	leadership  *sync.Leadership
}

func newNonFastForward(t *testing.T) *nonFastForward {
	t.Helper()
	r := &nonFastForward{t: t, all: t, set: memcluster.New(memcluster.Options{}, "east", "north", "west"), h: newHistory(t)}
	for i, name := range r.set.Names() {
		ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}
		if err := r.set.Cluster(name).Put("kubectl", ns); err != nil {
			t.Fatal(err)
		}
		if err := r.set.Cluster(name).InstallLinkerd(testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}); err != nil {
			t.Fatal(err)
		}
	}
	r.first = r.h.push("", r.declarations(link("west", "east")))
	r.last = r.h.push(r.first, r.declarations(mesh))
	r.begin()
	if got := r.syncOnce(); got.Err != "" || !got.Clean() || got.Commit != r.last || got.Head != r.last {
		t.Fatalf("at first: %s\n%s", got.Err, dump(got))
	}
	return r
}

// declarations returns the clusters, and whatever links are declared beside them.
func (r *nonFastForward) declarations(links string) (text string) {
	for _, name := range r.set.Names() {
		text += strings.Replace(clusterDoc(string(name)), "}\nspec:", ", labels: {mesh: \"yes\"}}\nspec:", 1)
	}
	return text + links
}

// TestNonFastForward forces branches back in every way, and looks that the applied commit is kept up.
func TestNonFastForward(t *testing.T) {
	r := newNonFastForward(t)
	for name, push := range map[string]func() api.Commit{
		"back to an ancestor": func() api.Commit { r.h.force(r.first); return r.first },
		"sideways":            func() api.Commit { return r.h.push(r.first, r.declarations(link("north", "east"))) },
		"another history":     func() api.Commit { return r.h.push("", r.declarations("")) },
		"forgotten":           func() api.Commit { r.h.force(r.first); r.h.collect(); return r.first },
	} {
		t.Run(name, func(t *testing.T) { r.t, r.h.t = t, t; r.forced(t, push) })
	}
	t.Run("Git is down", func(t *testing.T) { r.t, r.h.t = t, t; r.unreachable(t) })
	t.Run("invalid, at a restart", func(t *testing.T) { r.t, r.h.t = t, t; r.invalid(t) })
	t.Run("a cluster is down meanwhile", func(t *testing.T) { r.t, r.h.t = t, t; r.meanwhile(t) })
	t.Run("one cluster is ahead, and comes back", func(t *testing.T) { r.t, r.h.t = t, t; r.returns(t) })
	t.Run("one cluster is behind", func(t *testing.T) { r.t, r.h.t = t, t; r.behind(t) })
	t.Run("one cluster carries what nobody knows", func(t *testing.T) { r.t, r.h.t = t, t; r.orphan(t) })
}

// begin is a new process.
func (r *nonFastForward) begin(only ...api.ClusterName) {
	r.leadership = sync.Begin(r.all, &sync.Loop{
		Options: sync.Options{Owner: object.DefaultOwner, Only: only}, Declared: r.h, Clusters: r.set,
		Management: record.ManagementCluster{Cluster: r.set.Cluster("west"), Namespace: "linkwright"},
		Renderer:   render.Renderer{Owner: object.DefaultOwner}, Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy},
		Errors: sync.Errors{Explain: cluster.Explain}, Log: slog.New(slog.NewTextHandler(r.t.Output(), nil)),
	}, 1)
}

func (r *nonFastForward) syncOnce() report.Report {
	r.t.Helper()
	got, _ := r.leadership.Sync(r.t.Context()) // the report says it, too
	return got
}

// writes returns what was written since this was asked last.
func (r *nonFastForward) writes() (out []string) {
	for _, name := range r.set.Names() {
		for _, q := range memcluster.Written(r.set.Cluster(name).Requests()) {
			out = append(out, string(name)+": "+q)
		}
	}
	return out
}

// controllers returns a cluster's Deployments that are linkwright's.
func (r *nonFastForward) controllers(name api.ClusterName) (out []object.Key) {
	for _, k := range r.set.Cluster(name).Keys() {
		if k.Kind == "Deployment" && strings.HasPrefix(k.Name, "controller-") {
			out = append(out, k)
		}
	}
	return out
}

// drifts changes a field of linkwright in a cluster, which only a sync over what is in force repairs.
func (r *nonFastForward) drifts(cluster api.ClusterName, controller object.Key) {
	r.t.Helper()
	more := map[string]any{"spec": map[string]any{"replicas": 3}}
	if err := r.set.Cluster(cluster).Patch("hand", controller, more); err != nil {
		r.t.Fatal(err)
	}
}

// keptUp makes a sync that must repair what drifted, and nothing else.
func (r *nonFastForward) keptUp(what string, head api.Commit, words ...string) {
	r.t.Helper()
	controller := object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-east"}
	r.drifts("west", controller)
	r.writes()
	got := r.syncOnce()
	sent := deeds(got, r.writes())
	if !slices.Equal(sent, []string{"west: update " + controller.String()}) || got.Counts().Ready != 12 {
		r.t.Errorf("%s: writes %q, %+v\n%s\n%s", what, sent, got.Counts(), got.Err, dump(got))
	}
	if got.Commit != r.last || got.Head != head || got.Clean() {
		r.t.Errorf("%s: in force is %s, want %s; head %s, want %s; clean: %t", what, got.Commit, r.last, got.Head, head, got.Clean())
	}
	r.reportContains(what, got, words...)
}

func (r *nonFastForward) reportContains(what string, got report.Report, words ...string) {
	r.t.Helper()
	for _, w := range words {
		if !strings.Contains(got.Err, w) {
			r.t.Errorf("%s: the report does not say %q:\n%s", what, w, got.Err)
		}
	}
}

// untouched makes a sync that must write nothing.
func (r *nonFastForward) untouched(what string, words ...string) report.Report {
	r.t.Helper()
	r.writes()
	got := r.syncOnce()
	if sent := deeds(got, r.writes()); len(sent) > 0 || got.Clean() {
		r.t.Errorf("%s: clean: %t, writes %v", what, got.Clean(), sent)
	}
	r.reportContains(what, got, words...)
	return got
}

// deeds are writes but those that tell nothing but conditions.
func deeds(r report.Report, sent []string) []string {
	conditions := map[string]bool{}
	for _, c := range r.Clusters {
		for _, o := range c.Outcomes {
			conditions[string(c.Name)+": "+o.Change.Action.String()+" "+o.Change.Key.String()] = o.Change.Why.Code == reason.ConditionsChanged
		}
	}
	return slices.DeleteFunc(sent, func(w string) bool { return conditions[w] })
}

// onwards: with a commit on top of the last one, all is as ever.
func (r *nonFastForward) onwards(what string) {
	r.t.Helper()
	r.last = r.h.push(r.last, r.declarations(mesh)+"# "+what)
	if got := r.syncOnce(); got.Err != "" || !got.Clean() || got.Commit != r.last || got.Counts().Ready != 12 {
		r.t.Errorf("%s, and then a commit on top: %s\n%s", what, got.Err, dump(got))
	}
}

// forced: a forced push that unlinks nearly everything.
func (r *nonFastForward) forced(t *testing.T, push func() api.Commit) {
	head := push()
	words := []string{string(head), r.last.Short(), "allow non-fast-forward"}
	r.keptUp("in the same term", head, words...)
	asked := r.h.asked
	r.keptUp("once more", head, words...)
	if n := r.h.asked - asked; n != 1 {
		t.Errorf("a pass asks %d times whether the head follows", n)
	}
	r.begin()
	r.keptUp("after a restart", head, words...)
	if err := os.RemoveAll(r.h.cache); err != nil {
		t.Fatal(err)
	}
	r.begin()
	if _, err := r.h.try(r.h.remote, "cat-file", "-e", string(r.last)); err != nil {
		r.untouched("after a restart, without a cache", append(words, "nothing is written meanwhile")...)
	} else {
		r.keptUp("after a restart, without a cache", head, words...)
	}
	r.onwards("forced")
}

// unreachable: what bases carry is kept up from linkwright's own store.
func (r *nonFastForward) unreachable(t *testing.T) {
	r.h.down = true
	defer func() { r.h.down = false }()
	r.keptUp("in the same term", r.last, "connection refused")
	r.begin()
	r.keptUp("after a restart", "", "connection refused")
	if err := os.RemoveAll(r.h.cache); err != nil {
		t.Fatal(err)
	}
	r.begin()
	r.untouched("after a restart, without a cache", "connection refused")
	r.h.down = false
	r.onwards("down")
}

func (r *nonFastForward) invalid(t *testing.T) {
	head := r.h.push(r.last, "kind: Nothing\n")
	r.begin()
	r.keptUp("after a restart", head, sync.ErrInvalid.Error())
	r.h.force(r.last)
	if got := r.syncOnce(); got.Err != "" || !got.Clean() {
		t.Errorf("forced back to what is in force: %s\n%s", got.Err, dump(got))
	}
}

// meanwhile: a cluster that is down when the head is forced back is kept as it was, too, once it is back.
func (r *nonFastForward) meanwhile(t *testing.T) {
	r.pause("north")
	r.h.force(r.first)
	r.begin()
	got := r.untouched("while north is down", "allow non-fast-forward")
	if got.Commit != r.last || got.Counts().ClustersUnknown != 1 {
		t.Errorf("while north is down: in force is %s, %+v", got.Commit, got.Counts())
	}
	r.resume("north")
	r.keptUp("once north is back", r.first, "allow non-fast-forward")
	r.onwards("down meanwhile")
}

// returns: north alone got a commit, and is down while the head goes back to what all others carry.
func (r *nonFastForward) returns(t *testing.T) {
	ahead := r.h.push(r.last, r.declarations(mesh)+"# ahead")
	r.begin("north")
	if got := r.syncOnce(); got.Err != "" || got.Commit != ahead {
		t.Fatalf("only north: %s\n%s", got.Err, dump(got))
	}
	r.pause("north")
	head := r.h.push(r.last, r.declarations(link("west", "east")+link("north", "east"))) // a cluster without north's other links
	r.begin()
	if got := r.syncOnce(); got.Err != "" || got.Commit != head {
		t.Fatalf("while north is down: in force is %s, want %s: %s\n%s", got.Commit, head, got.Err, dump(got))
	}
	r.resume("north")
	before := r.controllers("north")
	got := r.syncOnce()
	for _, c := range got.Clusters {
		if why := c.Step.Denied; (c.Name == "north") != (why != nil && why.Code == reason.NonFastForward) {
			t.Errorf("%s is refused for %v", c.Name, why)
		}
	}
	if after := r.controllers("north"); !slices.Equal(before, after) {
		t.Errorf("north: controllers %v, then %v", before, after)
	}
	r.last = r.h.push(ahead, r.declarations(mesh)) // what both follow
	r.h.git(r.h.work, "checkout", "-q", "--detach", string(r.last))
	r.h.git(r.h.work, "merge", "-q", "-s", "ours", "-m", "both", string(head))
	r.last = api.Commit(r.h.git(r.h.work, "rev-parse", "HEAD"))
	r.h.force(r.last)
	if got := r.syncOnce(); got.Err != "" || !got.Clean() || got.Counts().Ready != 12 {
		t.Errorf("what follows both: %s\n%s", got.Err, dump(got))
	}
}

// behind: a cluster at an older commit is brought up; while the head is forced back, to what most carry.
func (r *nonFastForward) behind(t *testing.T) {
	older := r.last
	r.last = r.h.push(older, r.declarations(mesh)+"# newer")
	r.begin("east", "west")
	if got := r.syncOnce(); got.Err != "" || got.Commit != r.last {
		t.Fatalf("only east and west: %s\n%s", got.Err, dump(got))
	}
	r.h.force(older)
	r.begin()
	got := r.syncOnce() // north gets what the others have
	if got.Commit != r.last || got.Head != older || !strings.Contains(got.Err, "allow non-fast-forward") || got.Counts().Ready != 12 {
		t.Errorf("forced back to what north carries: in force is %s: %s\n%s", got.Commit, got.Err, dump(got))
	}
	r.keptUp("and then", older, "allow non-fast-forward")
	r.onwards("behind")
}

// orphan: one cluster's word does not decide what all others get, nor stop what is in force.
func (r *nonFastForward) orphan(t *testing.T) {
	evil := r.h.push(r.last, r.declarations("")) // of a pull request, say: it is in the repository, and was never its head
	r.h.force(r.last)
	r.rebase("east", r.last, evil)
	r.h.git(r.h.remote, "update-ref", "refs/pull/1/head", string(evil))
	r.begin()
	got := r.untouched("with a stray cluster", "allow non-fast-forward", "east")
	if got.Commit != r.last {
		t.Errorf("with a stray cluster: in force is %q", got.Commit)
	}
	r.last = r.h.push(r.last, strings.Replace(r.declarations(mesh), "spec: {", "spec: {suspend: true, ", 1)) // of east
	if got := r.syncOnce(); got.Commit != r.last || got.Err != "" {
		t.Errorf("with a stray cluster suspended: in force is %q, %s", got.Commit, got.Err)
	}
	r.rebase("east", evil, r.last)
	r.begin()
	r.onwards("stray")
}

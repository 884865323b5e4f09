package sync_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync"
)

const agent = "linkwright-test"

// TestLinkLifecycle walks the whole road: a mesh, nothing to do, a changed gateway, an unlink, and nothing left.
func TestLinkLifecycle(t *testing.T) {
	b := newClusterEnv(t)
	b.policy = policy("prune: {maxClusters: 2, maxLinks: 100%, drainDeadline: 0s}") // it takes a mesh down to single links
	d := &declaredText{}
	d.set(b.declarations(mesh))
	l := b.loop(d, agent)

	r := b.once(l)
	if c := r.Counts(); c.Ready != 12 || !r.Clean() {
		t.Fatalf("first pass of a mesh of three: %+v\n%s", c, dump(r))
	}
	b.mirrored("west", "web-of-east-east")

	t.Run("nothing changed, nothing sent", func(t *testing.T) { b.t = t; b.noRequests(t, l) })
	t.Run("a gateway moves, its sources follow", func(t *testing.T) { b.t = t; b.gatewayChanges(t, l) })
	t.Run("drift is taken back", func(t *testing.T) { b.t = t; b.drift(t, l) })
	t.Run("a paused cluster stops nobody", func(t *testing.T) { b.t = t; b.paused(t, l) })
	t.Run("an unlinked pair leaves nothing", func(t *testing.T) {
		b.t = t
		d.set(b.declarations(link("west", "north") + link("east", "west") + link("east", "north") + link("north", "west") + link("north", "east")))
		b.unlinked(t, l)
	})
	t.Run("a fleet without clusters prunes nothing", func(t *testing.T) {
		b.t = t
		d.set(mesh)
		before := b.writes()
		if _, err := l.Once(t.Context(), 1); !errors.Is(err, sync.ErrInvalid) {
			t.Errorf("a fleet without clusters: %v", err)
		}
		if sent := b.writes()[len(before):]; len(sent) > 0 {
			t.Errorf("it sent writes: %v", sent)
		}
	})
	t.Run("federated services and their secrets", func(t *testing.T) { b.t = t; b.federation(t, l, d) })
	t.Run("the user's chart runs the controller", func(t *testing.T) { b.t = t; b.external(t, l, d) })
	t.Run("clusters leave the fleet", func(t *testing.T) { b.t = t; b.departs(t, l, d) })
}

// noRequests: syncs send nothing but what is reported about links that settle, and then nothing at all.
func (b *clusterEnv) noRequests(t *testing.T, l *sync.Loop) {
	before := len(b.writes())
	last := b.once(l)
	for begun := time.Now(); last.Counts().Written > 0 && time.Since(begun) < patience; {
		last = b.once(l)
	}
	if last.Counts().Written > 0 || !last.Clean() {
		t.Errorf("passes over an unchanged fleet: %+v\n%s", last.Counts(), dump(last))
	}
	if sent := aside(b.writes()[before:]); len(sent) > 0 {
		t.Errorf("passes over an unchanged fleet sent writes: %v", sent)
	}
}

func (b *clusterEnv) gatewayChanges(t *testing.T, l *sync.Loop) {
	if err := testbed.SetGateway(t.Context(), b.Cluster("east").Config, "192.0.2.77"); err != nil {
		t.Fatal(err)
	}
	before := b.writes()
	if r := b.once(l); !r.Clean() {
		t.Fatal(dump(r))
	}
	for _, source := range []string{"north", "west"} {
		if got := b.linkField(source, "east", "gatewayAddress"); got != "192.0.2.77" {
			t.Errorf("Link east in %s has gatewayAddress %q", source, got)
		}
	}
	var written []string
	for _, w := range aside(b.writes()[len(before):]) {
		written = append(written, w.Verb+" "+w.Resource+" "+w.Name)
	}
	if diff := cmp.Diff([]string{"patch links east", "patch links east"}, written); diff != "" {
		t.Errorf("writes after a gateway moved: -want +got\n%s", diff)
	}
}

func (b *clusterEnv) drift(t *testing.T, l *sync.Loop) {
	deployments := b.client("west").AppsV1().Deployments("linkerd-multicluster")
	patch := []byte(`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"controller","image":"evil"}]}}}}`)
	if _, err := deployments.Patch(t.Context(), "controller-east", types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "hand"}); err != nil {
		t.Fatal(err)
	}
	if err := b.client("west").RbacV1().Roles("linkerd-multicluster").Delete(t.Context(), "controller-read-remote-creds-east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := len(b.writes())
	r := b.once(l)
	if sent := aside(b.writes()[before:]); len(sent) != 2 || !r.Clean() {
		t.Errorf("after drift: %+v\n%s", sent, dump(r))
	}
	live, err := deployments.Get(t.Context(), "controller-east", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if image := live.Spec.Template.Spec.Containers[0].Image; *live.Spec.Replicas != 1 || image == "evil" {
		t.Errorf("after drift: %d replicas of %s", *live.Spec.Replicas, image)
	}
}

// paused: north accepts connections and never answers, while the others lose a link and get it back.
func (b *clusterEnv) paused(t *testing.T, l *sync.Loop) {
	if err := b.Cluster("north").Pause(); err != nil {
		t.Fatal(err)
	}
	if err := b.client("west").CoreV1().Services("linkerd-multicluster").Delete(t.Context(), "probe-east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := len(b.writes())
	r := b.once(l)
	if err := b.Cluster("north").Resume(); err != nil {
		t.Fatal(err)
	}
	c := r.Counts()
	if sent := aside(b.writes()[before:]); c.ClustersUnknown != 1 || c.Failed != 0 || len(sent) != 1 {
		t.Errorf("with north paused: %+v\n%s", sent, dump(r))
	}
	if r := b.once(l); !r.Clean() || r.Counts().Ready != 12 {
		t.Errorf("with north back: %+v\n%s", r.Counts(), dump(r))
	}
}

// unlinked: west→east is no longer declared; its ends go, mirrors included, and nothing else does.
func (b *clusterEnv) unlinked(t *testing.T, l *sync.Loop) {
	b.mirrored("west", "web-of-north-north")
	b.lookalikes(t)
	b.restored(t)
	r := b.once(l)
	if c := r.Counts(); c.Ready != 10 || !r.Clean() {
		t.Fatalf("unlink: %+v\n%s", c, dump(r))
	}
	b.unharmed(t)
	b.alone(t, r)
	if left := b.left("west", "east"); len(left) > 0 {
		t.Errorf("left of west→east: %v", left)
	}
	b.mirrored("west", "web-of-north-north")
	b.noRequests(t, l)
}

// aside leaves out the inventories of links: what is told there of a link that settles is written when it does.
func aside(sent []testbed.Request) []testbed.Request {
	return slices.DeleteFunc(sent, func(r testbed.Request) bool {
		return r.Verb == "patch" && r.Resource == "configmaps" && strings.Count(r.Name, ".") == 2
	})
}

// writes lists what servers saw of linkwright's writes, in these clusters or in all, in order of time.
func (b *clusterEnv) writes(in ...string) []testbed.Request {
	b.t.Helper()
	var out []testbed.Request
	for _, c := range b.Clusters {
		if len(in) > 0 && !slices.Contains(in, c.Name) {
			continue
		}
		all, err := c.Requests(agent)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, r := range all {
			if !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(x, y testbed.Request) int { return x.Received.Compare(y.Received) })
	return out
}

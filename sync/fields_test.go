package sync_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// overlays plays package overlay: what it holds for a cluster comes into the cluster's base.
type overlays struct {
	render.Renderer
	extras map[api.ClusterName][]object.Object
}

func (o overlays) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	ends = o.Renderer.Complete(c, ends)
	for i, want := range ends {
		if want.End.IsBase() {
			ends[i].Objects = o.extras[c.Name]
		}
	}
	return ends
}

// extra returns an object as an overlay brings it in.
func extra(t *testing.T, k object.Key, spec string) object.Object {
	t.Helper()
	content := map[string]any{
		"apiVersion": k.Group + "/v1", "kind": k.Kind,
		"metadata": map[string]any{"name": k.Name, "namespace": k.Namespace},
	}
	if err := json.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o, err := object.Seal(object.Spec{Key: k, Version: "v1", Phase: object.PhaseExtras, Owner: "linkwright"}, content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func gatewayPolicy(t *testing.T) object.Object {
	t.Helper()
	k := object.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: testbed.Multicluster, Name: "gateway"}
	return extra(t, k, `{"spec":{"podSelector":{"matchLabels":{"app":"linkerd-gateway"}},"policyTypes":["Ingress"]}}`)
}

// as adds fields to the spec of a declared cluster.
func as(declarations, cluster, fields string) string {
	at := fmt.Sprintf("metadata: {name: %s, labels: {mesh: \"yes\"}}\nspec:\n", cluster)
	return strings.Replace(declarations, at, at+"  "+fields+"\n", 1)
}

func policy(spec string) string {
	return "---\napiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {" + spec + "}\n"
}

// sent returns the writes in one cluster since there were so many.
func (b *clusterEnv) sent(cluster string, before int) []string {
	b.t.Helper()
	all, err := b.Cluster(cluster).Requests(agent)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, r := range all[before:] {
		if !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			out = append(out, r.Verb+" "+r.Resource+" "+r.Name)
		}
	}
	return out
}

func (b *clusterEnv) asked(cluster string) int {
	b.t.Helper()
	all, err := b.Cluster(cluster).Requests(agent)
	if err != nil {
		b.t.Fatal(err)
	}
	return len(all)
}

// rowOf returns the status of an end in a report.
func rowOf(t *testing.T, r report.Report, end object.End) plan.Row {
	t.Helper()
	for _, c := range r.Clusters {
		for _, row := range c.Step.Rows {
			if row.End == end {
				return row
			}
		}
	}
	t.Fatalf("no row of %s\n%s", end, dump(r))
	return plan.Row{}
}

// TestFields: what declarations can say beside links: overlays, ignored fields, suspend, and a cluster that leaves.
func TestFields(t *testing.T) {
	b := newClusterEnv(t)
	d := &declaredText{}
	l := b.loop(d, agent)
	o := overlays{render.Renderer{Owner: "linkwright"}, map[api.ClusterName][]object.Object{}}
	l.Renderer = o
	d.set(b.declarations(mesh))
	b.clean(l, 12)

	t.Run("an overlay's objects", func(t *testing.T) { b.t = t; b.extras(t, l, o) })
	t.Run("ignored fields", func(t *testing.T) { b.t = t; b.ignored(t, l, d) })
	t.Run("immutable fields", func(t *testing.T) { b.t = t; b.immutables(t, l, d, o) })
	t.Run("a suspended link", func(t *testing.T) { b.t = t; b.suspendedLink(t, l, d) })
	t.Run("a suspended cluster", func(t *testing.T) { b.t = t; b.suspendedCluster(t, l, d) })
	t.Run("a leaving cluster", func(t *testing.T) { b.t = t; b.leaving(t, l, d, o) })
}

// extras are applied, repaired, held alone where their kind is not served, and pruned.
func (b *clusterEnv) extras(t *testing.T, l *sync.Loop, o overlays) {
	o.extras["west"] = []object.Object{gatewayPolicy(t)}
	monitor := object.Key{Group: "monitoring.coreos.com", Kind: "ServiceMonitor", Namespace: testbed.Multicluster, Name: "gateway"}
	o.extras["east"] = []object.Object{extra(t, monitor, `{"spec":{}}`)}
	r := b.once(l)
	if c := r.Counts(); c.Ready != 12 || c.Blocked != 1 || c.Failed != 0 || r.Clean() {
		t.Errorf("with a kind that east does not serve: %+v\n%s", c, dump(r))
	}
	if row := rowOf(t, r, object.End{Cluster: "east"}); row.Phase != plan.Blocked || row.Why.Code != reason.KindNotServed {
		t.Errorf("east's base is %s, %v", row.Phase, row.Why)
	}
	delete(o.extras, "east")
	b.noRequests(t, l)

	policies := b.client("west").NetworkingV1().NetworkPolicies(testbed.Multicluster)
	patch := []byte(`{"spec":{"policyTypes":["Egress"]}}`)
	if _, err := policies.Patch(t.Context(), "gateway", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "hand"}); err != nil {
		t.Fatal(err)
	}
	if r := b.clean(l, 12); r.Counts().Written != 1 {
		t.Errorf("after drift: %+v", r.Counts())
	}
	live, err := policies.Get(t.Context(), "gateway", metav1.GetOptions{})
	if err != nil || !slices.Equal(live.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress"}) {
		t.Errorf("after drift: %v, %v", live.Spec.PolicyTypes, err)
	}

	delete(o.extras, "west")
	if r := b.clean(l, 12); r.Counts().Written != 2 { // it, and what is recorded
		t.Errorf("without the overlay: %+v", r.Counts())
	}
	if _, err := policies.Get(t.Context(), "gateway", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the overlay's object, which nobody declares any more: %v", err)
	}
	b.noRequests(t, l)
}

// ignored: an autoscaler sets the replicas of a controller, and nobody takes them back.
func (b *clusterEnv) ignored(t *testing.T, l *sync.Loop, d *declaredText) {
	d.set(b.declarations(mesh) + policy("ignore: [{kind: Deployment, fields: [spec.replicas]}]"))
	b.clean(l, 12)
	deployments := b.client("west").AppsV1().Deployments(testbed.Multicluster)
	scale, err := deployments.GetScale(t.Context(), "controller-east", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 1 {
		t.Errorf("what nobody sets is %d, not the API server's default", scale.Spec.Replicas)
	}
	scale.Spec.Replicas = 3
	if _, err := deployments.UpdateScale(t.Context(), "controller-east", scale, metav1.UpdateOptions{FieldManager: "hpa"}); err != nil {
		t.Fatal(err)
	}
	b.noRequests(t, l)
	replicas := func() int32 {
		live, err := deployments.Get(t.Context(), "controller-east", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return *live.Spec.Replicas
	}
	if got := replicas(); got != 3 {
		t.Errorf("%d replicas: they were taken back", got)
	}
	d.set(b.declarations(mesh))
	b.clean(l, 12)
	if got := replicas(); got != 1 {
		t.Errorf("%d replicas, declared again", got)
	}
}

// suspendedLink: of a suspended link nothing is written but the conditions in its source's inventory, whatever is missing; that is reported, and no
// failure.
func (b *clusterEnv) suspendedLink(t *testing.T, l *sync.Loop, d *declaredText) {
	d.set(b.declarations(mesh + "---\n" + linkWith("west", "east", ", suspend: true")))
	b.once(l) // the commit is recorded
	services := b.client("west").CoreV1().Services(testbed.Multicluster)
	if err := services.Delete(t.Context(), "probe-east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := b.writes()
	r := b.once(l)
	if c := r.Counts(); !r.Clean() || c.Ready != 10 || c.Suspended != 2 {
		t.Errorf("%+v\n%s", c, dump(r))
	}
	row := rowOf(t, r, object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}})
	if row.Phase != plan.Suspended || !strings.Contains(row.Why.Message, "1 change waits") {
		t.Errorf("it is %s, %v", row.Phase, row.Why)
	}
	for _, sent := range b.writes()[len(before):] {
		if sent.Resource != "configmaps" || sent.Name != "linkwright.west.east" {
			t.Errorf("it sent a write: %v", sent)
		}
	}
	d.set(b.declarations(mesh))
	b.clean(l, 12)
	if _, err := services.Get(t.Context(), "probe-east", metav1.GetOptions{}); err != nil {
		t.Errorf("no longer suspended: %v", err)
	}
}

// suspendedCluster: nothing at all is written in north, and no unlink with it begins.
func (b *clusterEnv) suspendedCluster(t *testing.T, l *sync.Loop, d *declaredText) {
	before := b.asked("north")
	d.set(as(b.declarations(link("west", "east")+link("east", "west")), "north", "suspend: true"))
	r := b.once(l)
	if c := r.Counts(); !r.Clean() || c.Ready != 4 || c.Suspended != 9 { // 4 links at both ends, and the base
		t.Errorf("%+v\n%s", c, dump(r))
	}
	if sent := b.sent("north", before); len(sent) > 0 {
		t.Errorf("writes in a suspended cluster: %v", sent)
	}
	b.mirrored("west", "web-of-north-north")
	d.set(b.declarations(mesh))
	b.clean(l, 12)
}

// leaving: east leaves with all its links, whatever the bounds; then nothing is ever written there again.
func (b *clusterEnv) leaving(t *testing.T, l *sync.Loop, d *declaredText, o overlays) {
	o.extras["east"] = []object.Object{gatewayPolicy(t)}
	b.clean(l, 12)
	tight := policy("prune: {maxLinks: 0%, minAllowed: 0}")
	d.set(as(b.declarations(mesh), "east", "state: Leaving") + tight)
	r := b.clean(l, 4)
	if row := rowOf(t, r, object.End{Cluster: "east"}); row.Phase != plan.Removed || row.Why == nil || row.Why.Code != reason.CleanupComplete {
		t.Errorf("east's base is %s, %v", row.Phase, row.Why)
	}
	for _, p := range [][2]string{{"west", "east"}, {"east", "west"}, {"north", "east"}, {"east", "north"}} {
		if left := b.left(p[0], p[1]); len(left) > 0 {
			t.Errorf("left of %v: %v", p, left)
		}
	}
	if all, err := b.client("east").NetworkingV1().NetworkPolicies("").List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) > 0 {
		t.Errorf("left of the overlay: %v, %v", all, err)
	}
	if all, err := b.client("east").CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{LabelSelector: "linkwright.dev/owner"}); err != nil || len(all.Items) > 0 {
		t.Errorf("left of what was recorded: %v, %v", all, err)
	}
	before := b.asked("east")
	d.set(as(b.declarations(mesh), "east", "state: Leaving") + tight + "# another commit\n")
	b.clean(l, 4)
	if sent := b.sent("east", before); len(sent) > 0 {
		t.Errorf("writes in a cluster that has left: %v", sent)
	}
	before = b.asked("east")
	without := b.declarations(mesh)
	d.set(without[strings.Index(without, "---\n")+4:] + tight)
	b.clean(l, 4)
	if now := b.asked("east"); now != before {
		t.Errorf("the declaration is gone, and %d requests went to the cluster", now-before)
	}
}

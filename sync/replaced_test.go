package sync_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// written returns the writes of one object in west since there were so many requests, with how they were answered.
func (b *clusterEnv) written(name string, before int) (out []string) {
	b.t.Helper()
	all, err := b.Cluster("west").Requests(agent)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range all[before:] {
		if r.Name == name && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			out = append(out, fmt.Sprintf("%s %s %d", r.Verb, r.Resource, r.Code))
		}
	}
	return out
}

// immutables: an overlay's ConfigMap that must not change and does, and a Deployment with the selector of another version of linkwright, hold their
// ends; where the SyncPolicy lets them, each is deleted and created again, once.
func (b *clusterEnv) immutables(t *testing.T, l *sync.Loop, d *declaredText, o overlays) {
	l.Rejection = cluster.Rejection
	settings := object.Key{Kind: "ConfigMap", Namespace: testbed.Multicluster, Name: "settings"}
	content := func(v string) []object.Object {
		return []object.Object{extra(t, settings, `{"apiVersion":"v1","immutable":true,"data":{"v":"`+v+`"}}`)}
	}
	o.extras["west"] = content("1")
	b.clean(l, 12)
	o.extras["west"] = content("2")
	b.olderSelector(t)

	before := b.asked("west")
	r := b.once(l)
	westEast := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
	for end, kind := range map[object.End]string{{Cluster: "west"}: "ConfigMap", westEast: "Deployment"} {
		row := rowOf(t, r, end)
		if row.Phase != plan.Blocked || row.Why.Code != reason.ImmutableField || !strings.Contains(row.Why.Message, "spec.replace: [{kind: "+kind+"}]") {
			t.Errorf("%s is %s, %v", end, row.Phase, row.Why)
		}
	}
	b.same(t, "held", []string{"patch configmaps 422"}, b.written("settings", before))
	b.same(t, "held", []string{"patch deployments 422"}, b.written("controller-east", before))

	d.set(b.declarations(mesh) + policy("replace: [{kind: ConfigMap}, {kind: Deployment}]"))
	before = b.asked("west")
	r = b.clean(l, 12)
	b.same(t, "replaced", []string{"patch configmaps 422", "delete configmaps 200", "patch configmaps 201"}, b.written("settings", before))
	b.same(t, "replaced", []string{"patch deployments 422", "delete deployments 200", "patch deployments 201"}, b.written("controller-east", before))
	reported := 0
	for _, c := range r.Clusters {
		for _, o := range c.Outcomes {
			if o.Change.Action == object.Replace && strings.Contains(o.Change.Why.Message, "the SyncPolicy allows linkwright to replace a "+o.Change.Key.Kind) {
				reported++
			}
		}
	}
	var text strings.Builder
	if err := r.Write(&text, report.Text); err != nil || reported != 2 || strings.Count(text.String(), "allows linkwright to replace") != 2 {
		t.Errorf("%d are told with a reason (%v)\n%s", reported, err, text.String())
	}
	live, err := b.client("west").AppsV1().Deployments(testbed.Multicluster).Get(t.Context(), "controller-east", metav1.GetOptions{})
	if err != nil || live.Spec.Selector.MatchLabels["older"] != "" {
		t.Errorf("the Deployment: %v, %v", err, live.Spec.Selector)
	}
	b.noRequests(t, l)
	delete(o.extras, "west")
	d.set(b.declarations(mesh))
	b.clean(l, 12)
}

// olderSelector makes the controller for east again, as another version of linkwright with another selector would have.
func (b *clusterEnv) olderSelector(t *testing.T) {
	t.Helper()
	deployments := b.client("west").AppsV1().Deployments(testbed.Multicluster)
	was, err := deployments.Get(t.Context(), "controller-east", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: was.Name, Namespace: was.Namespace, Labels: was.Labels, Annotations: was.Annotations,
		},
		Spec: was.Spec,
	}
	now.Annotations[object.DigestAnnotation] = "0000000000000000"
	now.Spec.Selector.MatchLabels["older"], now.Spec.Template.Labels["older"] = "yes", "yes"
	body, err := json.Marshal(now)
	if err == nil {
		err = deployments.Delete(t.Context(), was.Name, metav1.DeleteOptions{})
	}
	if err == nil {
		_, err = deployments.Patch(t.Context(), was.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "linkwright"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *clusterEnv) same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: wrote %q, want %q", what, got, want)
	}
}

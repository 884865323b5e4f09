package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

func observe(t *testing.T, c *Client, watches ...object.Watch) object.Observation {
	t.Helper()
	observed, err := c.Observe(t.Context(), watches)
	if err != nil {
		t.Fatal(err)
	}
	return observed
}

func names[V any](of iter.Seq2[object.Key, V]) []string {
	var out []string
	for k := range of {
		out = append(out, k.Kind+" "+k.Name)
	}
	slices.Sort(out)
	return out
}

func TestObserveDepths(t *testing.T) {
	c, foreign, ns := east(t)
	mine := secret(t, ns, "mine", corev1.SecretTypeOpaque)
	write(t, c, create(mine))
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{"app": "x"}}, StringData: map[string]string{"k": "v"}}
	if _, err := foreign.CoreV1().Secrets(ns).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w := object.Watch{Version: "v1", Kind: "Secret", Namespace: ns}
	reduced := observe(t, c, w)
	want := []string{"Secret mine", "Secret theirs"}
	if got, bodies := names(reduced.Records()), names(reduced.Bodies()); !slices.Equal(got, want) || len(bodies) != 0 {
		t.Errorf("reduced: got %v with bodies of %v, want %v without", got, bodies, want)
	}
	w.Depth = object.Metadata
	meta := observe(t, c, w)
	w.Depth = object.Whole
	whole := observe(t, c, w)
	records := []map[object.Key]object.Record{maps.Collect(reduced.Records()), maps.Collect(meta.Records()), maps.Collect(whole.Records())}
	if !maps.Equal(records[0], records[1]) || !maps.Equal(records[0], records[2]) {
		t.Errorf("records differ by depth: %+v", records)
	}
	if r := whole.Record(mine.Key); r.Mark != object.Ours || !mine.Covered(r) || r.Digest != mine.Digest {
		t.Errorf("record of ours: got %+v", r)
	}
	body, _ := meta.Body(mine.Key)
	text := string(body.Bytes())
	if !strings.HasPrefix(text, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"mine"`) || strings.Contains(text, "data\":{\"kubeconfig") || strings.Contains(text, "managedFields") {
		t.Errorf("metadata body: got %s", text)
	}
	body, _ = whole.Body(mine.Key)
	text = string(body.Bytes())
	if !strings.HasPrefix(text, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"mine"`) || !strings.Contains(text, `"data":{"kubeconfig":"aHVzaA=="}`) || strings.Contains(text, "managedFields") {
		t.Errorf("whole body: got %s", text)
	}
	w.Selector = "app=x"
	if got := names(observe(t, c, w).Bodies()); !slices.Equal(got, []string{"Secret theirs"}) {
		t.Errorf("selector: got %v", got)
	}
}

func TestObserveUnitesOverlappingWatches(t *testing.T) {
	c, _, ns := east(t)
	for _, name := range []string{"a", "b"} {
		write(t, c, create(configMap(t, ns, name, map[string]string{"k": name})))
	}
	all := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: ns}
	one := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: ns, Names: []string{"a", "absent"}, Depth: object.Whole}
	for _, watches := range [][]object.Watch{{all, one}, {one, all}} {
		observed := observe(t, c, watches...)
		own, bodies := names(observed.Records()), names(observed.Bodies())
		own = slices.DeleteFunc(own, func(s string) bool { return s == "ConfigMap kube-root-ca.crt" })
		if !slices.Equal(own, []string{"ConfigMap a", "ConfigMap b"}) || !slices.Equal(bodies, []string{"ConfigMap a"}) {
			t.Errorf("got %v, bodies of %v", own, bodies)
		}
	}
}

func TestObserveTheAbsent(t *testing.T) {
	c, _, _ := east(t)
	observed := observe(t, c,
		object.Watch{Version: "v1", Kind: "Secret", Namespace: "no-such-namespace"},
		object.Watch{Version: "v1", Kind: "Secret", Namespace: "no-such-namespace", Names: []string{"a"}, Depth: object.Whole},
		object.Watch{Version: "v1", Kind: "Namespace", Names: []string{"no-such-namespace"}},
		object.Watch{Group: "example.com", Version: "v1", Kind: "Widget"},
		object.Watch{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
		object.Watch{Group: "apps", Version: "v1", Kind: "Widget", Namespace: "default"},
		object.Watch{Version: "v1", Kind: "Widget"},
		object.Watch{Group: "example.com", Kind: "Widget", Namespace: "default"},
		object.Watch{Group: "apps", Kind: "Deployment", Namespace: "no-such-namespace"})
	want := []string{"Deployment.v1beta1.apps", "Widget.example.com", "Widget.v1.", "Widget.v1.apps", "Widget.v1.example.com"}
	if diff := cmp.Diff(want, observed.Unserved); diff != "" || observed.Len() != 0 {
		t.Errorf("unserved: -want +got\n%s%v", diff, names(observed.Records()))
	}
}

// crd makes the server serve widgets, or no longer.
func crd(t *testing.T, group string) (serve, drop func()) {
	t.Helper()
	d := dynamic.NewForConfigOrDie(live.As("foreign"))
	crds := d.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	name := "widgets." + group
	body := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}
	discovery := kubernetes.NewForConfigOrDie(live.As("foreign")).Discovery()
	until := func(want bool) {
		for {
			list, err := discovery.ServerResourcesForGroupVersion(group + "/v1")
			served := err == nil && len(list.APIResources) > 0
			groups, err := discovery.ServerGroups() // a group is listed a moment longer than it is served
			if err != nil {
				t.Fatal(err)
			}
			listed := slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == group })
			if served == want && listed == want {
				return
			}
			if t.Context().Err() != nil {
				t.Fatal("the server does not follow")
			}
		}
	}
	serve = func() {
		if _, err := crds.Create(t.Context(), &unstructured.Unstructured{Object: body}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		until(true)
	}
	drop = func() {
		if err := crds.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		until(false)
	}
	return serve, drop
}

func TestObserveFollowsKindsThatComeAndGo(t *testing.T) {
	c, _, ns := east(t)
	group := ns + ".example.com"
	serve, drop := crd(t, group)
	w := object.Watch{Group: group, Version: "v1", Kind: "Widget", Namespace: ns, Depth: object.Whole}
	loose := w // in whichever version
	loose.Version = ""
	for _, w := range []object.Watch{w, loose} {
		if observed := observe(t, c, w); !slices.Equal(observed.Unserved, []string{w.KindName()}) {
			t.Fatalf("before: unserved %v", observed.Unserved)
		}
	}
	serve()
	widgets := dynamic.NewForConfigOrDie(live.As("foreign")).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"})
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}}}
	if _, err := widgets.Namespace(ns).Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []object.Watch{loose, w} {
		if observed := observe(t, c, w); len(observed.Unserved) != 0 || len(names(observed.Bodies())) != 1 {
			t.Fatalf("while served: unserved %v, bodies of %v", observed.Unserved, names(observed.Bodies()))
		}
	}
	// A create takes nothing over of custom kinds, too.
	key := object.Key{Group: group, Kind: "Widget", Namespace: ns, Name: "a"}
	mine := object.Object{Key: key, Version: "v1", Body: object.NewBody(
		[]byte(`{"apiVersion":"` + group + `/v1","kind":"Widget","metadata":{"name":"a","labels":{"linkwright.dev/owner":"linkwright"}},"spec":{"n":1}}`))}
	if _, err := c.Write(t.Context(), create(mine)); !errors.Is(err, ErrExists) {
		t.Errorf("create over a foreign widget: got %v, want ErrOccupied", err)
	}
	rec := observe(t, c, w).Record(key)
	write(t, c, object.Change{Action: object.Delete, Was: rec, Key: key})
	if rec = write(t, c, create(mine)); rec.Mark != object.Ours || !mine.Covered(rec) {
		t.Errorf("create of a widget: got %+v, want ours and covered", rec)
	}
	drop()
	write(t, c, object.Change{Action: object.Delete, Was: rec, Key: key})
	for _, w := range []object.Watch{loose, w} {
		if observed := observe(t, c, w); len(observed.Unserved) != 1 || observed.Len() != 0 {
			t.Errorf("after: unserved %v, %v", observed.Unserved, names(observed.Records()))
		}
	}
}

func TestObserveTellsEveryRefusal(t *testing.T) {
	_, foreign, ns := east(t)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}}
	bound := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: ns}},
	}
	if _, err := foreign.RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.RbacV1().RoleBindings(ns).Create(t.Context(), bound, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg := rest.CopyConfig(live.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: ns, Groups: []string{"system:authenticated"}}
	c, _ := dial(t, cfg, Options{})
	_, err := c.Observe(t.Context(), []object.Watch{
		{Version: "v1", Kind: "Secret", Namespace: ns},
		{Version: "v1", Kind: "ConfigMap", Namespace: ns},
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: ns},
	})
	why := Explain(err)
	for _, part := range []string{"read Secret in namespace " + ns, `cannot list resource "secrets"`, `cannot list resource "deployments"`} {
		if why.Code != reason.Forbidden || !strings.Contains(why.Message, part) || strings.Contains(why.Message, "configmaps") {
			t.Errorf("Explain: got %+v, want %s that says %q", why, reason.Forbidden, part)
		}
	}
}

func TestObserveCostsOneListPerWatch(t *testing.T) {
	_, _, ns := east(t)
	c, count := dial(t, live.Config, Options{})
	watches := []object.Watch{
		{Version: "v1", Kind: "Secret", Namespace: ns, Depth: object.Whole},
		{Version: "v1", Kind: "ConfigMap", Namespace: ns},
		{Version: "v1", Kind: "Service", Depth: object.Metadata},
		{Version: "v1", Kind: "Namespace", Names: []string{"kube-system"}},
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: ns},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role", Namespace: ns},
	}
	lists := []string{
		"GET /api/v1/namespaces/" + ns + "/configmaps", "GET /api/v1/namespaces/" + ns + "/secrets", "GET /api/v1/namespaces/kube-system",
		"GET /api/v1/services", "GET /apis/apps/v1/namespaces/" + ns + "/deployments", "GET /apis/rbac.authorization.k8s.io/v1/namespaces/" + ns + "/roles",
	}
	slices.Sort(lists)
	observe(t, c, watches...)
	cold := append([]string{"GET /api/v1", "GET /apis/apps/v1", "GET /apis/rbac.authorization.k8s.io/v1"}, lists...)
	slices.Sort(cold)
	if diff := cmp.Diff(cold, count.taken()); diff != "" {
		t.Errorf("first observation: -want +got\n%s", diff)
	}
	observe(t, c, watches...)
	if diff := cmp.Diff(lists, count.taken()); diff != "" {
		t.Errorf("next observation: -want +got\n%s", diff)
	}
	observe(t, c, object.Watch{Group: "example.com", Version: "v1", Kind: "Widget"})
	if diff := cmp.Diff([]string{"GET /apis", "GET /apis/example.com/v1"}, count.taken()); diff != "" {
		t.Errorf("unserved kind: -want +got\n%s", diff)
	}
}

func TestObservePages(t *testing.T) {
	c, foreign, ns := east(t)
	err := each(t.Context(), pageSize+1, func(ctx context.Context, i int) error {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%d", i), Labels: map[string]string{"many": ""}}}
		_, err := foreign.CoreV1().ConfigMaps(ns).Create(ctx, m, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: ns, Selector: "many"}
	if got := observe(t, c, w).Len(); got != pageSize+1 {
		t.Errorf("reduced: got %d objects, want %d", got, pageSize+1)
	}
	w.Depth = object.Whole
	if got := len(names(observe(t, c, w).Bodies())); got != pageSize+1 {
		t.Errorf("whole: got %d bodies, want %d", got, pageSize+1)
	}
}

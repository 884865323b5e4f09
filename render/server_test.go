package render

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// A real API server takes every object of every golden as it stands, strictly; and what it would then
// show of it counts as ours to the last field, so that nothing is ever written for nothing.
func TestServerTakesGoldens(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	client := dressedServer(t)
	known := map[string]bool{}
	for _, file := range archives(t) {
		for _, end := range read(t, file).ends {
			for _, o := range end.Objects {
				body := string(o.Body.Bytes())
				if known[body] {
					continue
				}
				known[body] = true
				ensureNamespace(t, client, o.Key.Namespace)
				taken(t, client, file, o)
			}
		}
	}
	if len(known) < 40 {
		t.Errorf("only %d objects were tried", len(known))
	}
}

func dressedServer(t *testing.T) dynamic.Interface {
	t.Helper()
	testbed.Need(t)
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"east"}, Light: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	east := bed.Cluster("east")
	if err := testbed.Dress(t.Context(), east.Config, testbed.Dressing{}); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(east.As("render"))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ensureNamespace makes what no dry run would leave.
func ensureNamespace(t *testing.T, client dynamic.Interface, name string) {
	t.Helper()
	if name == "" {
		return
	}
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Apply(t.Context(), name, ns, metav1.ApplyOptions{FieldManager: "test", Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

func taken(t *testing.T, client dynamic.Interface, file string, o object.Object) {
	t.Helper()
	live, err := dryRun(t.Context(), client, o)
	if err != nil {
		t.Errorf("%s: %s: %v", file, o.Key, err)
		return
	}
	owner := live.GetLabels()[object.OwnerLabel]
	m := &metav1.ObjectMeta{
		UID: live.GetUID(), Labels: live.GetLabels(), Annotations: live.GetAnnotations(), ManagedFields: live.GetManagedFields(),
	}
	r := object.Reduce(m, owner)
	if r.Mark != object.Ours || r.Digest != o.Digest || !o.Covered(r) {
		t.Errorf("%s: %s: it is %s, digest %x of %x, covered %t", file, o.Key, r.Mark, r.Digest, o.Digest, o.Covered(r))
	}
}

func dryRun(ctx context.Context, client dynamic.Interface, o object.Object) (*unstructured.Unstructured, error) {
	kind := schema.GroupVersionKind{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	force := true
	return client.Resource(resource).Namespace(o.Key.Namespace).Patch(ctx, o.Key.Name, types.ApplyPatchType, o.Body.Bytes(),
		metav1.PatchOptions{
			FieldManager: object.Manager(ownerOf(o)), Force: &force, DryRun: []string{metav1.DryRunAll},
			FieldValidation: metav1.FieldValidationStrict,
		})
}

func ownerOf(o object.Object) string {
	var u unstructured.Unstructured
	if u.UnmarshalJSON(o.Body.Bytes()) != nil {
		return ""
	}
	return u.GetLabels()[object.OwnerLabel]
}

// Every kind that ends hold is one that is looked for, in the version it is written in.
func TestKindsCoverGoldens(t *testing.T) {
	missing := map[string]bool{}
	for _, file := range archives(t) {
		for _, end := range read(t, file).ends {
			for _, o := range end.Objects {
				if VersionOf(o.Key.Group, o.Key.Kind) != o.Version {
					missing[o.Key.Kind] = true
				}
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("Kinds() lacks %v", slices.Sorted(maps.Keys(missing)))
	}
}

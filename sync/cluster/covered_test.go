package cluster

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// at returns the object as anybody may change it.
func at(t *testing.T, c *Client, o object.Object) dynamic.ResourceInterface {
	t.Helper()
	r, err := c.target(t.Context(), create(o))
	if err != nil {
		t.Fatal(err)
	}
	where := dynamic.NewForConfigOrDie(live.As("foreign")).Resource(r.GroupVersion().WithResource(r.plural))
	if !r.namespaced {
		return where
	}
	return where.Namespace(o.Key.Namespace)
}

// path is where a value stands in an object.
type path []string

func TestForeignChangesShowInTheRecord(t *testing.T) {
	c, _, ns := east(t)
	tests := []struct {
		object object.Object
		value  path // a value of linkwright that may be changed
		to     any
	}{
		{configMap(t, ns, "a", map[string]string{"k": "v"}), path{"data", "k"}, "w"},
		{secret(t, ns, "a", corev1.SecretTypeOpaque), path{"data", "kubeconfig"}, "b3RoZXI="},
		{account(t, ns, "a"), path{"metadata", "labels", object.OwnerLabel}, "other"},
		{service(t, ns, "a"), path{"spec", "selector", "app"}, "other"},
		{role(t, ns, "a"), path{"rules"}, []any{}},
		{binding(t, ns, "a", "a"), path{"subjects"}, []any{}},
		{clusterBinding(t, ns, ns), path{"subjects"}, []any{}},
		{budget(t, ns, "a"), path{"spec", "maxUnavailable"}, int64(2)},
		{deployment(t, ns, "a"), path{"spec", "replicas"}, int64(3)},
	}
	for _, tt := range tests {
		t.Run(tt.object.Key.Kind, func(t *testing.T) {
			write(t, c, create(tt.object))
			live := at(t, c, tt.object)
			covered(t, c, tt.object, "apply", true)

			patch(t, live, tt.object, path{"metadata", "annotations", "example.com/note"}, "hello")
			covered(t, c, tt.object, "foreign annotation", true)

			patch(t, live, tt.object, tt.value, tt.to)
			covered(t, c, tt.object, "merge patch of a value of ours", false)

			write(t, c, update(tt.object, object.Record{}))
			covered(t, c, tt.object, "another apply", true)

			put(t, live, tt)
			covered(t, c, tt.object, "PUT of a value of ours", false)
			write(t, c, update(tt.object, object.Record{}))
			covered(t, c, tt.object, "another apply", true)
		})
	}
}

// covered checks a fresh record; the digest always stays ours.
func covered(t *testing.T, c *Client, o object.Object, after string, want bool) {
	t.Helper()
	r := observed(t, c, o)
	if r.Digest != o.Digest {
		t.Errorf("after %s: digest %x, want %x", after, r.Digest, o.Digest)
	}
	if got := o.Covered(r); got != want {
		t.Errorf("after %s: covered is %v, want %v\nfields: %s\nbody: %s", after, got, want, r.Fields.Value(), o.Body.Bytes())
	}
}

func patch(t *testing.T, live dynamic.ResourceInterface, o object.Object, p path, to any) {
	t.Helper()
	change := map[string]any{}
	if err := unstructured.SetNestedField(change, to, p...); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Patch(t.Context(), o.Key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "foreign"}); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, live dynamic.ResourceInterface, tt struct {
	object object.Object
	value  path
	to     any
},
) {
	t.Helper()
	for {
		got, err := live.Get(t.Context(), tt.object.Key.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(got.Object, tt.to, tt.value...); err != nil {
			t.Fatal(err)
		}
		_, err = live.Update(t.Context(), got, metav1.UpdateOptions{FieldManager: "foreign"})
		if err == nil {
			return
		}
		if Explain(err).Code != reason.Conflict { // a controller wrote in between
			t.Fatal(err)
		}
	}
}

// What a re-apply would not write, Covered says so: a foreign write of the same value, and list items of
// others beside ours.
func TestCoveredAgreesWithTheServer(t *testing.T) {
	c, _, ns := east(t)
	o := service(t, ns, "a")
	write(t, c, create(o))
	live := at(t, c, o)
	patch(t, live, o, path{"spec", "selector", "app"}, "a")
	covered(t, c, o, "the same value by somebody else", true)
	add := []byte(`[{"op":"add","path":"/spec/ports/-","value":{"name":"theirs","port":1}}]`)
	if _, err := live.Patch(t.Context(), "a", types.JSONPatchType, add, metav1.PatchOptions{FieldManager: "foreign"}); err != nil {
		t.Fatal(err)
	}
	covered(t, c, o, "a foreign port", true)
	was := observed(t, c, o)
	if now := write(t, c, update(o, was)); now.ResourceVersion != was.ResourceVersion {
		t.Errorf("the re-apply wrote: version %s became %s", was.ResourceVersion, now.ResourceVersion)
	}
	drop := []byte(`[{"op":"remove","path":"/spec/ports/0"}]`)
	if _, err := live.Patch(t.Context(), "a", types.JSONPatchType, drop, metav1.PatchOptions{FieldManager: "foreign"}); err != nil {
		t.Fatal(err)
	}
	covered(t, c, o, "a port of ours removed", false)
}

func TestRivalsAreNamed(t *testing.T) {
	c, _, ns := east(t)
	o := configMap(t, ns, "a", map[string]string{"k": "v"})
	write(t, c, create(o))
	patch(t, at(t, c, o), o, path{"data", "k"}, "w")
	if got := observed(t, c, o).ForeignManagers.Value(); got != "foreign" {
		t.Errorf("rivals: got %q, want foreign", got)
	}
}

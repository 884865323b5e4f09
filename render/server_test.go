package render

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// A real API server takes every object of every golden as it stands, strictly; and what it would then
// show of it counts as ours to the last field, so that nothing is ever written for nothing.
func TestServerTakesGoldens(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	client := serverWithLinkerd(t)
	known := map[string]object.Record{}
	for _, file := range archives(t) {
		for _, end := range read(t, file).ends {
			for _, o := range end.Objects {
				body := string(o.Body.Bytes())
				if _, tried := known[body]; tried {
					continue
				}
				ensureNamespace(t, client, o.Key.Namespace)
				known[body] = applied(t, client, file, o)
			}
		}
	}
	if len(known) < 40 {
		t.Errorf("only %d objects were tried", len(known))
	}
	managed(t, known)
}

// managed holds what the server lists as ours of the objects of one golden, for tests without a server.
func managed(t *testing.T, known map[string]object.Record) {
	t.Helper()
	const name = "remote-discovery.txtar"
	got := &txtar.Archive{Comment: []byte("What an API server lists as ours of the objects of " + name + ".\n")}
	for _, end := range read(t, filepath.Join("../testdata/render", name)).ends {
		for _, o := range end.Objects {
			got.Files = append(got.Files, txtar.File{
				Name: path.Join(string(end.End.Cluster), o.Key.Kind, o.Key.Namespace, o.Key.Name),
				Data: []byte(known[string(o.Body.Bytes())].Fields.Value() + "\n"),
			})
		}
	}
	file := filepath.Join("../testdata/render", "managed", name)
	if *update {
		if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(want.Files), texts(got.Files)); diff != "" {
		t.Errorf("managed fields of an applied link: -want +got\n%s", diff)
	}
}

func serverWithLinkerd(t *testing.T) dynamic.Interface {
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
	if err := testbed.InstallLinkerd(t.Context(), east.Config, testbed.Linkerd{}); err != nil {
		t.Fatal(err)
	}
	cfg := east.As("render")
	cfg.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(cfg)
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

// applied tries one object and gives the record of what would be there.
func applied(t *testing.T, client dynamic.Interface, file string, o object.Object) object.Record {
	t.Helper()
	live, err := dryRun(t.Context(), client, o)
	if err != nil {
		t.Errorf("%s: %s: %v", file, o.Key, err)
		return object.Record{}
	}
	owner := live.GetLabels()[object.OwnerLabel]
	m := &metav1.ObjectMeta{
		UID: live.GetUID(), Labels: live.GetLabels(), Annotations: live.GetAnnotations(), ManagedFields: live.GetManagedFields(),
	}
	r := object.Reduce(m, owner)
	if r.Mark != object.Ours || r.Digest != o.Digest || !o.Covered(r) {
		t.Errorf("%s: %s: it is %s, digest %x of %x, covered %t", file, o.Key, r.Mark, r.Digest, o.Digest, o.Covered(r))
	}
	return r
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
				older := o.Key.Kind == "Link" && slices.Contains(linkerd.LinkVersions(), o.Version) // looked for as linkerd.OlderWatches say
				if VersionOf(o.Key.Group, o.Key.Kind) != o.Version && !older {
					missing[o.Key.Kind] = true
				}
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("Kinds() lacks %v", slices.Sorted(maps.Keys(missing)))
	}
}

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

const olderLink = "v1alpha2"

// What we say of an object that a storage migration rewrote, whose entry may be in terms of an older version, is what the
// server says: exactly then a re-apply writes nothing. But for one case: what the version that was stored does not know is
// dropped without a trace, since the entry still lists it.
func TestServerAgreesAfterAStorageMigration(t *testing.T) {
	j := &agreement{T: t, client: serverWithLinkerd(t)}
	j.store(olderLink)
	tests := []struct {
		name, body string
		by         string // the version in which we applied it
		says       bool   // that no write is needed
		excused    bool   // the server does not
	}{
		{"applied in our version", `"gatewayPort":"4143","probeSpec":{"path":"/ready"},"selector":{"matchLabels":{"a":"b"}}`, linkerd.LinkVersion, true, false},
		{"applied in the older version", `"gatewayPort":"4143","probeSpec":{"path":"/ready"},"selector":{"matchLabels":{"a":"b"}}`, olderLink, false, false},
		{"applied in ours, with what only that has", `"gatewayPort":"4143","excludedLabels":["a","b"]`, linkerd.LinkVersion, true, true},
	}
	wanted := make([]object.Object, len(tests))
	for i, tt := range tests {
		wanted[i] = linkOf(t, fmt.Sprintf("l%d", i), tt.body)
		j.applyAs(wanted[i], tt.by)
	}
	j.store(linkerd.LinkVersion)
	for i, tt := range tests {
		o, before := wanted[i], j.served(wanted[i])
		after, err := j.resource(o).Update(t.Context(), before, metav1.UpdateOptions{FieldManager: "storage-version-migrator"})
		if err != nil || after.GetResourceVersion() == before.GetResourceVersion() {
			t.Fatalf("%s: rewritten: %v, at %s before and after", tt.name, err, before.GetResourceVersion())
		}
		for i, says := range []bool{tt.says, true} { // once it was applied again, nothing is left to do
			live := j.served(o)
			now, err := j.apply(o)
			if err != nil {
				t.Fatal(err)
			}
			said, nothing := j.covered(o, live), now.GetResourceVersion() == live.GetResourceVersion()
			if said != says || nothing != (says && (i > 0 || !tt.excused)) {
				t.Errorf("%s: no write needed: we say %v, want %v; the server %v\nlive:  %s\nafter: %s", tt.name, said, says, nothing, encoded(live), encoded(now))
			}
		}
	}
}

// linkOf is a wanted Linkerd Link with a spec.
func linkOf(t *testing.T, name, spec string) object.Object {
	t.Helper()
	content := map[string]any{}
	if err := json.Unmarshal(fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":"Link","metadata":{"name":"%s","namespace":"linkerd-multicluster"},"spec":{%s}}`,
		linkerd.Group, linkerd.LinkVersion, name, spec), &content); err != nil {
		t.Fatal(err)
	}
	o, err := object.Seal(object.Spec{
		Key:     object.Key{Group: linkerd.Group, Kind: "Link", Namespace: "linkerd-multicluster", Name: name},
		Version: linkerd.LinkVersion, Owner: object.DefaultOwner,
	}, content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// applyAs applies an object in another version of its kind, as far as that knows its fields; the digest stays.
func (j *agreement) applyAs(o object.Object, version string) {
	j.Helper()
	older := o
	older.Version = version
	body := bytes.Replace(o.Body.Bytes(), []byte(o.APIVersion()), []byte(older.APIVersion()), 1)
	if _, err := j.resource(older).Patch(j.Context(), o.Key.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: object.Manager(object.DefaultOwner), Force: new(true), FieldValidation: metav1.FieldValidationIgnore}); err != nil {
		j.Fatal(err)
	}
}

// served is an object as it is, once a server that installs its kind anew serves it again.
func (j *agreement) served(o object.Object) *unstructured.Unstructured {
	j.Helper()
	for range 500 {
		if live := j.live(o); live != nil {
			return live
		}
	}
	j.Fatalf("%s is gone", o.Key)
	return nil
}

// store has Links stored in a version from now on.
func (j *agreement) store(version string) {
	j.Helper()
	crds := j.client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd, err := crds.Get(j.Context(), "links."+linkerd.Group, metav1.GetOptions{})
	if err != nil {
		j.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		j.Fatal(err)
	}
	for _, v := range versions {
		v := v.(map[string]any) //nolint:forcetypeassert // a CRD's
		v["storage"] = v["name"] == version
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		j.Fatal(err)
	}
	if _, err := crds.Update(j.Context(), crd, metav1.UpdateOptions{}); err != nil {
		j.Fatal(err)
	}
	for stored := []string(nil); !slices.Contains(stored, version); {
		if crd, err = crds.Get(j.Context(), crd.GetName(), metav1.GetOptions{}); err != nil {
			j.Fatal(err)
		}
		stored, _, _ = unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	}
}

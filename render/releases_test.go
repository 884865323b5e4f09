package render

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// Every row of the table has its golden, whose Links are of that row's version.
func TestReleasesHaveGoldens(t *testing.T) {
	for _, r := range linkerd.Releases() {
		if o := linkOfRelease(t, r); o.Version != r.Link {
			t.Errorf("%s: its Link is of %s, want %s", r, o.Version, r.Link)
		}
	}
}

// An API server with the Links of each release takes that release's Link strictly, one after the other: an upgrade in place leaves it
// ours, the same object, with all that was in it and nothing of the version before; a second apply writes nothing.
func TestServerTakesEachRelease(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
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
	cfg := bed.Cluster("east").As("render")
	cfg.WarningHandler = rest.NoWarnings{}
	u := upgrades{T: t, client: dynamic.NewForConfigOrDie(cfg)}
	for _, r := range linkerd.Releases() {
		versions := slices.DeleteFunc(linkerd.LinkVersions(), func(v string) bool { return v > r.Link })
		slices.Sort(versions)
		if err := testbed.InstallLinkerd(t.Context(), bed.Cluster("east").Config, testbed.Linkerd{LinkerdVersion: r.String() + ".0", LinkVersions: versions}); err != nil {
			t.Fatal(err)
		}
		u.to(r)
	}
}

// upgrades is one Link on a server whose Linkerd becomes newer.
type upgrades struct {
	*testing.T
	client dynamic.Interface
	was    *unstructured.Unstructured
}

func (u *upgrades) to(r linkerd.Release) {
	u.Helper()
	o := linkOfRelease(u.T, r)
	if u.was != nil && u.was.GroupVersionKind().Version != o.Version {
		u.between(r)
	}
	live := u.applied(o)
	if u.was != nil && live.GetUID() != u.was.GetUID() {
		u.Errorf("%s: it is another object", r)
	}
	m := &metav1.ObjectMeta{UID: live.GetUID(), Labels: live.GetLabels(), Annotations: live.GetAnnotations(), ManagedFields: live.GetManagedFields()}
	if got := object.Reduce(m, object.DefaultOwner); got.Mark != object.Ours || got.Digest != o.Digest || !o.Covered(got) {
		u.Errorf("%s: it is %s, covered %t", r, got.Mark, o.Covered(got))
	}
	if len(live.GetManagedFields()) != 1 {
		u.Errorf("%s: fields are managed by %d", r, len(live.GetManagedFields()))
	}
	var want struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(o.Body.Bytes(), &want); err != nil {
		u.Fatal(err)
	}
	for name := range want.Spec {
		if _, ok, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", name); !ok {
			u.Errorf("%s: the server dropped %s", r, name)
		}
	}
	if again := u.applied(o); again.GetResourceVersion() != live.GetResourceVersion() {
		u.Errorf("%s: a second apply writes", r)
	}
	u.strict(o)
	u.was = live
}

// between is the write that comes first after an upgrade: in the new version, without what only that knows.
func (u *upgrades) between(r linkerd.Release) {
	u.Helper()
	body, err := u.was.MarshalJSON()
	if err != nil {
		u.Fatal(err)
	}
	m := &metav1.ObjectMeta{UID: u.was.GetUID(), Labels: u.was.GetLabels(), Annotations: u.was.GetAnnotations(), ManagedFields: u.was.GetManagedFields()}
	last := linkerd.AppliedIn(object.Reduce(m, object.DefaultOwner), object.NewBody(body), r.Link)
	if last != u.was.GroupVersionKind().Version {
		u.Fatalf("%s: applied in %q, it was in %s", r, last, u.was.GroupVersionKind().Version)
	}
	o := linkIn(u.T, r, last)
	now := u.applied(o)
	if linkerd.SelectorsIn(o.Body).Narrows(linkerd.SelectorsIn(object.NewBody(body))) || now.GetUID() != u.was.GetUID() {
		u.Errorf("%s: the first write takes something away", r)
	}
}

// strict shows that the server would refuse a field that the version does not know: what it took, it holds.
func (u *upgrades) strict(o object.Object) {
	u.Helper()
	unknown := map[bool]string{true: "federatedServiceSelector", false: "neverKnown"}[o.Version == "v1alpha1"]
	body := strings.Replace(string(o.Body.Bytes()), `"spec":{`, `"spec":{"`+unknown+`":{},`, 1)
	if _, err := u.patch(u.Context(), o, []byte(body)); err == nil || !strings.Contains(err.Error(), unknown) {
		u.Errorf("%s %s: a field that it does not know: %v", o.Version, unknown, err)
	}
}

// applied applies until the version is served: a server takes a moment to serve a new one.
func (u *upgrades) applied(o object.Object) *unstructured.Unstructured {
	u.Helper()
	var last error
	for range 2000 {
		live, err := u.patch(u.Context(), o, o.Body.Bytes())
		if err == nil {
			return live
		}
		last = err
	}
	u.Fatalf("%s: %v", o.APIVersion(), last)
	return nil
}

func (u *upgrades) patch(ctx context.Context, o object.Object, body []byte) (*unstructured.Unstructured, error) {
	gvr := schema.GroupVersionResource{Group: linkerd.Group, Version: o.Version, Resource: "links"}
	return u.client.Resource(gvr).Namespace(o.Key.Namespace).Patch(ctx, o.Key.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: object.Manager(object.DefaultOwner), Force: new(true), FieldValidation: metav1.FieldValidationStrict,
	})
}

// linkOfRelease is the Link to east in a release's golden.
func linkOfRelease(t *testing.T, r linkerd.Release) object.Object {
	t.Helper()
	return linkIn(t, r, "")
}

// linkIn is as linkOfRelease, on top of one that was last applied in another version.
func linkIn(t *testing.T, r linkerd.Release, last string) object.Object {
	t.Helper()
	for _, end := range readOn(t, filepath.Join("../testdata/render", "linkerd-"+r.String()+".txtar"), last).ends {
		for _, o := range end.Objects {
			if o.Key.Kind == "Link" && o.Key.Name == "east" {
				return o
			}
		}
	}
	t.Fatalf("%s: no Link", r)
	return object.Object{}
}

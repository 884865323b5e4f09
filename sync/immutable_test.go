package sync

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
)

// A binding of linkwright with another role, as another version of linkwright may have left it, cannot be changed in place: once the server said so
// it is created again.
func TestReplacedOnceRefused(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		west, k := r.Cluster("west"), object.Key{
			Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Namespace: probe.Namespace, Name: "controller-read-remote-creds-east",
		}
		was := west.Object(k)
		west.Fault(func(f *memcluster.Faults) { f.Down = true })
		if err := west.Remove(k); err != nil {
			t.Fatal(err)
		}
		meta := was["metadata"].(map[string]any)      //nolint:forcetypeassert // ours
		role := was["roleRef"].(map[string]any)       //nolint:forcetypeassert // ours
		notes := meta["annotations"].(map[string]any) //nolint:forcetypeassert // ours
		name := role["name"]
		role["name"], notes[object.DigestAnnotation] = "older", "0000000000000000"
		for _, f := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
			delete(meta, f)
		}
		if err := west.Apply("linkwright", was); err != nil {
			t.Fatal(err)
		}
		r.asked()
		west.Fault(func(f *memcluster.Faults) { f.Down = false })
		r.clean(3*time.Minute, 12)
		var writes []string
		for _, q := range memcluster.Written(r.asked()) {
			if strings.Contains(q, k.Name) {
				writes = append(writes, q)
			}
		}
		want := []string{"west: update " + k.String(), "west: replace " + k.String()}
		if now := west.Object(k)["roleRef"].(map[string]any)["name"]; now != name || !slices.Equal(writes, want) { //nolint:forcetypeassert // ours
			t.Errorf("its role is %v, it wrote %q", now, writes)
		}
	})
}

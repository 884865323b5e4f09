package cluster_test

import (
	"context"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/contract"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/cluster"
)

// What tests of the loop use instead is held to the same: see package memcluster.
func TestContract(t *testing.T) {
	contract.Test(t, func(t *testing.T) contract.World {
		t.Helper()
		live, ns := cluster.Bed(t)
		registry := cluster.New(cluster.Options{})
		if err := registry.Spawn(t.Context(), "east", live.Config); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := registry.Stop(context.WithoutCancel(t.Context()), "east"); err != nil {
				t.Error(err)
			}
		})
		w := contract.World{Changes: registry, Foreign: foreign{t, dynamic.NewForConfigOrDie(live.As("foreign"))}, Namespace: ns}
		w.Serve = func(group string, served bool) { cluster.Widgets(t, group, served) }
		err := registry.WithClient(t.Context(), "east", func(c *cluster.Client) error {
			w.Client = c // for as long as the registry has it, which is the test
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return w
	})
}

// foreign is somebody else at the real server.
type foreign struct {
	t  *testing.T
	at dynamic.Interface
}

func (f foreign) of(content map[string]any) (dynamic.ResourceInterface, *unstructured.Unstructured) {
	u := &unstructured.Unstructured{Object: content}
	r, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	return f.at.Resource(r).Namespace(u.GetNamespace()), u
}

func (f foreign) key(k object.Key) dynamic.ResourceInterface {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	gv := "v1"
	if k.Group != "" {
		gv = k.Group + "/v1"
	}
	u.SetAPIVersion(gv)
	u.SetKind(k.Kind)
	u.SetNamespace(k.Namespace)
	at, _ := f.of(u.Object)
	return at
}

func (f foreign) Put(content map[string]any) error {
	at, u := f.of(content)
	_, err := at.Create(f.t.Context(), u, metav1.CreateOptions{FieldManager: "foreign"})
	return err
}

func (f foreign) Patch(key object.Key, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = f.key(key).Patch(f.t.Context(), key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "foreign"})
	return err
}

func (f foreign) Remove(key object.Key) error {
	return f.key(key).Delete(f.t.Context(), key.Name, metav1.DeleteOptions{})
}

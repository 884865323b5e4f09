package memcluster

import (
	"testing"

	"github.com/linkwright/linkwright/hack/contract"
	"github.com/linkwright/linkwright/object"
)

func TestContract(t *testing.T) {
	contract.Test(t, func(t *testing.T) contract.World {
		t.Helper()
		s := New(Options{}, "east")
		c := s.Cluster("east")
		w := contract.World{Client: c, Changes: s, Foreign: foreign{c}, Namespace: "test"}
		w.Serve = func(group string, served bool) {
			versions := []string{"v1"}
			if !served {
				versions = nil
			}
			c.Serve(group, "Widget", true, versions...)
		}
		ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": w.Namespace}}
		if err := w.Foreign.Put(ns); err != nil {
			t.Fatal(err)
		}
		return w
	})
}

type foreign struct{ c *Cluster }

func (f foreign) Put(content map[string]any) error { return f.c.Put("foreign", content) }

func (f foreign) Patch(key object.Key, patch map[string]any) error {
	return f.c.Patch("foreign", key, patch)
}

func (f foreign) Remove(key object.Key) error { return f.c.Remove(key) }

package memcluster_test

import (
	"fmt"
	"testing"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
)

// What a write and a read cost decides whether random histories can be played on these clusters.
func BenchmarkCluster(b *testing.B) {
	const objects = 100
	c := memcluster.New(memcluster.Options{}, "east").Cluster("east")
	watch := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: "default"}
	write := func(b *testing.B, i int) {
		key := object.Key{Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprintf("c%d", i%objects)}
		config := coreac.ConfigMap(key.Name, key.Namespace).WithData(map[string]string{"value": fmt.Sprint(i)})
		o, err := object.New(object.Spec{Key: key, Version: "v1", Owner: object.DefaultOwner, Meta: config.ObjectMetaApplyConfiguration, Config: config})
		if err != nil {
			b.Fatal(err)
		}
		change := object.Change{Action: object.Update, Key: key, Object: o}
		if i < objects {
			change.Action = object.Create
		}
		if _, err := c.Write(b.Context(), change); err != nil {
			b.Fatal(err)
		}
	}
	for i := range objects {
		write(b, i)
	}
	b.Run("write", func(b *testing.B) {
		for i := objects; b.Loop(); i++ {
			write(b, i)
		}
	})
	b.Run("read 100 objects", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Observe(b.Context(), []object.Watch{watch}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

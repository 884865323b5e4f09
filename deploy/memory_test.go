package deploy_test

import (
	"testing"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/hack/bound"
	"github.com/linkwright/linkwright/sync/declared"
)

// TestMemoryCarriesTheBound: the memory limit of the manifests, and so of the chart that they are made of, is enough for as many links as a commit
// may declare by default.
func TestMemoryCarriesTheBound(t *testing.T) {
	for file, pod := range map[string][]string{"deployment/deployment.yaml": {"spec", "template", "spec"}, "cronjob/cronjob.yaml": {"spec", "jobTemplate", "spec", "template", "spec"}} {
		o := documents(t, file)[0]
		containers, _, _ := unstructured.NestedSlice(o.Object, append(pod, "containers")...)
		text, _, _ := unstructured.NestedString(containers[0].(map[string]any), "resources", "limits", "memory")
		limit, err := quantity.ParseQuantity(text)
		if err != nil {
			t.Fatalf("%s: limits.memory %q: %v", file, text, err)
		}
		const builds = 2 * 256 << 20
		ours := (limit.Value() - builds) / 10 * 9 // Go's limit, as linkwright sets it
		if needs := bound.Needs(declared.DefaultMaxLinks); ours < needs {
			t.Errorf("%s: limits.memory is %s, and %d links need %d MiB: raise it, or lower the default of --max-links", file, text, declared.DefaultMaxLinks, needs>>20)
		}
	}
}

package overlay

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/linkwright/linkwright/api"
)

// The time of a build grows with the square of its input: these bounds keep the worst valid input to a few seconds.
const (
	maxPatches      = 400   // of one kustomization, in all fields of patches
	maxLabels       = 100   // items of labels
	maxGenerators   = 200   // items of configMapGenerator
	maxReplacements = 200   // replacements and vars together
	maxImages       = 200   // images and replicas together
	maxObjects      = 2_000 // in all resource files of a build, each as often as it is used
	maxExtras       = 500   // the same, of a Component
	// maxSteps bounds objects × changes². Each change adds a line with its origin to each object, and
	// kustomize parses all lines again to add the next: 100 objects and 44 changes take three to seven seconds.
	maxSteps = 200_000
)

const fewerHint = "kustomize needs four times as long for twice as many: use fewer, or plain files"

// checkCounts fails more of anything than kustomize can build in time.
func (k *kustomization) checkCounts() {
	v := &k.value
	for _, b := range []struct {
		field, what string
		n, most     int
	}{
		{"patches", "patches", countPatches(k.value), maxPatches},
		{"labels", "labels", len(v.Labels), maxLabels},
		{"configMapGenerator", "generators", len(v.ConfigMapGenerator), maxGenerators},
		{"replacements", "replacements and vars", len(v.Replacements) + len(v.Vars), maxReplacements},
		{"images", "images and replicas", len(v.Images) + len(v.ImageTags) + len(v.Replicas), maxImages},
	} {
		if b.n > b.most {
			k.fail(fmt.Sprintf("%d %s are declared, and at most %d are allowed", b.n, b.what, b.most), fewerHint, b.field)
		}
	}
}

func countPatches(v types.Kustomization) int {
	return len(v.Patches) + len(v.PatchesStrategicMerge) + len(v.PatchesJson6902)
}

// steps adds the changes of a kustomization to the total cost. Those of a Component apply to the objects of the kustomization
// that uses it.
func (k *kustomization) steps(total cost) cost {
	v := &k.value
	n := countPatches(k.value) + len(v.Labels) + len(v.Images) + len(v.ImageTags) + len(v.Replicas) + len(v.Replacements)
	for _, written := range []bool{
		v.NamePrefix != "", v.NameSuffix != "", v.Namespace != "", len(v.CommonLabels) > 0, len(v.CommonAnnotations) > 0,
	} {
		if written {
			n++
		}
	}
	total.add(cost{objects: int64(len(v.ConfigMapGenerator)), changes: int64(n)})
	if k.kind == types.ComponentKind && len(k.validator.stack) > 1 {
		return total
	}
	total.chain = min(total.chain+total.changes, math.MaxInt16)
	total.add(cost{steps: min(total.objects*total.changes, math.MaxInt32) * total.chain})
	total.changes = 0
	return total
}

// checkTotal fails a build that reads or does too much in total.
func (g *validator) checkTotal(total cost, at api.Pos) {
	objects := int64(maxObjects)
	if g.strict {
		objects = maxExtras
	}
	if total.files > int64(g.limits.Files) || total.bytes > g.limits.Bytes {
		g.fail(at, fmt.Sprintf(
			"the kustomization reads too much: %d files of %d bytes in total, counting each as often as it is used", total.files, total.bytes),
			fmt.Sprintf("at most %d files and %d MiB are read", g.limits.Files, g.limits.Bytes>>20))
	}
	switch {
	case total.objects > objects:
		g.fail(at, fmt.Sprintf("the kustomization builds %d objects, and at most %d are allowed", total.objects, objects), fewerHint)
	case total.steps > maxSteps:
		g.fail(at, fmt.Sprintf("the kustomization makes too many changes to %d objects: objects × changes² may be at most %d", total.objects, maxSteps),
			"write labels, images and patches into the files, or build fewer objects")
	}
}

// objectsIn counts the objects in the documents of a file; a list counts as its items.
func objectsIn(documents []*yaml.Node) (n int64) {
	for _, d := range documents {
		kind, items := childOf(d, "kind"), childOf(d, "items")
		if kind != nil && items != nil && strings.HasSuffix(kind.Value, "List") {
			n += int64(len(items.Content))
		} else {
			n++
		}
	}
	return n
}

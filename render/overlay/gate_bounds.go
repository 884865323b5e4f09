package overlay

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/linkwright/linkwright/api"
)

// What kustomize needs grows with the square of what it is given: these bounds keep the worst that the gate lets
// through to a few seconds.
const (
	maxPatches      = 400   // of one kustomization, in all fields of patches
	maxLabels       = 100   // items of labels
	maxGenerators   = 200   // items of configMapGenerator
	maxReplacements = 200   // replacements and vars together
	maxImages       = 200   // images and replicas together
	maxObjects      = 2_000 // in all resource files of a build, each as often as it is used
	maxExtras       = 500   // the same, of a Component
	// maxSteps bounds objects × changes². Each change leaves a line on each object that says where it came from, and
	// kustomize reads all lines again to write the next: 100 objects and 44 changes take three to seven seconds.
	maxSteps = 200_000
)

const fewer = "kustomize needs four times as long for twice as many: use fewer, or plain files"

// bounded refuses more of anything than kustomize can do in time.
func (k *kustomization) bounded() {
	v := &k.value
	for _, b := range []struct {
		field, what string
		n, most     int
	}{
		{"patches", "patches", k.patchCount(), maxPatches},
		{"labels", "labels", len(v.Labels), maxLabels},
		{"configMapGenerator", "generators", len(v.ConfigMapGenerator), maxGenerators},
		{"replacements", "replacements and vars", len(v.Replacements) + len(v.Vars), maxReplacements},
		{"images", "images and replicas", len(v.Images) + len(v.ImageTags) + len(v.Replicas), maxImages},
	} {
		if b.n > b.most {
			k.refuse(fmt.Sprintf("%d %s are too many: at most %d are built", b.n, b.what, b.most), fewer, b.field)
		}
	}
}

func (k *kustomization) patchCount() int {
	return len(k.value.Patches) + len(k.value.PatchesStrategicMerge) + len(k.value.PatchesJson6902)
}

// steps counts the changes of a kustomization into what everything in it costs. Those of a Component are made where it
// is used, to the objects there.
func (k *kustomization) steps(total cost) cost {
	v := &k.value
	n := k.patchCount() + len(v.Labels) + len(v.Images) + len(v.ImageTags) + len(v.Replicas) + len(v.Replacements)
	for _, written := range []bool{
		v.NamePrefix != "", v.NameSuffix != "", v.Namespace != "", len(v.CommonLabels) > 0, len(v.CommonAnnotations) > 0,
	} {
		if written {
			n++
		}
	}
	total.add(cost{objects: int64(len(v.ConfigMapGenerator)), changes: int64(n)})
	if k.kind == types.ComponentKind && len(k.gate.stack) > 1 {
		return total
	}
	total.chain = min(total.chain+total.changes, math.MaxInt16)
	total.add(cost{steps: min(total.objects*total.changes, math.MaxInt32) * total.chain})
	total.changes = 0
	return total
}

// within refuses a build that reads or does too much altogether.
func (g *gate) within(total cost, at api.Pos) {
	objects := int64(maxObjects)
	if g.strict {
		objects = maxExtras
	}
	if total.files > int64(g.limits.Files) || total.bytes > g.limits.Bytes {
		g.refuse(at, fmt.Sprintf(
			"reads too much: %d files of %d bytes in total, counting each as often as it is used", total.files, total.bytes),
			fmt.Sprintf("at most %d files and %d MiB are read", g.limits.Files, g.limits.Bytes>>20))
	}
	switch {
	case total.objects > objects:
		g.refuse(at, fmt.Sprintf("%d objects are too many: at most %d are built", total.objects, objects), fewer)
	case total.steps > maxSteps:
		g.refuse(at, fmt.Sprintf("makes too many changes to %d objects: objects × changes² may be at most %d", total.objects, maxSteps),
			"write labels, images and patches into the files, or build fewer objects")
	}
}

// objectsIn counts what kustomize makes of the documents of a file: of a list, its items.
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

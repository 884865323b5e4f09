package prune

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Drains says that writing o empties a selector of a live Linkerd Link of ours. Linkerd's controller then
// takes away what that had selected: judged as a delete everywhere.
func Drains(o object.Object, seen object.Observation) bool {
	if o.Key.Kind != "Link" {
		return false
	}
	live := seen.Record(o.Key)
	body, _ := seen.Body(o.Key)
	return live.Mark == object.Ours && live.Digest != o.Digest && linkerd.Drains(body, o.Body)
}

// drain adds what a declared end would lose by its Links' emptied selectors. Which selector a mirror was
// made by is not seen: all of the target's count.
func (in Input) drain(t taking, want object.Wanted) taking {
	for _, o := range want.Objects {
		if Drains(o, in.Seen) {
			t.keys = append(t.keys, o.Key)
			t.mirrors = in.Mirrors()[t.end.Link.Target].Selected()
		}
	}
	return t
}

// all is what would go, ours or not.
func (t taking) all() []object.Key { return slices.Concat(t.keys, t.mirrors) }

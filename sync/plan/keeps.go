package plan

import (
	"slices"

	"github.com/linkwright/linkwright/object"
)

// keeps has Helm leave what it left before: what is replaced loses the word of it, and what else would remember is the inventory
// that is written ahead. From then on whoever makes the object anew says it again, whenever a process dies. Of what is written
// down an object that says it by itself is struck off, and one that is not wanted any more.
//
//	live                   replaced now   else
//	tells Helm to leave it  stays          struck off
//	does not, or is gone    stays          stays, and is told with the next write, of which there is one
func (p *planner) keeps(want object.Wanted, recorded []object.Key, changes []object.Change) ([]object.Key, []object.Change) {
	var kept []object.Key
	for i, c := range changes {
		if c.Action == object.Replace && c.Was.HelmKeeps || !c.Was.HelmKeeps && slices.Contains(recorded, c.Key) {
			changes[i].HelmKeep = true
			kept = append(kept, c.Key)
		}
	}
	for _, o := range want.Objects {
		live := p.side.Seen.Record(o.Key)
		if live.HelmKeeps || !slices.Contains(recorded, o.Key) || slices.Contains(kept, o.Key) {
			continue
		}
		c := change(want.End, object.Update, o, live, "HelmKeeps", "Helm is to leave it, and was told so before it was made anew")
		c.HelmKeep = true
		kept, changes = append(kept, o.Key), append(changes, c)
	}
	slices.SortFunc(kept, object.Key.Compare)
	return kept, changes
}

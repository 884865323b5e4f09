package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Contest is an object that others change whenever it is corrected: it is left alone until then, and Times tells how
// often it was corrected in vain.
type Contest struct {
	Until time.Time
	Times int
}

// Contested is the code of an end of which all is in place but what others keep changing.
const Contested = reason.Contested

// calm leaves the writes of contested objects out, whatever they are for: who overwrites an object whole changes its
// digest, too. An object that is missing is created at once, however often somebody deleted it. It says what was left out, or nil.
func (p *planner) calm(changes []object.Change) ([]object.Change, *object.Reason) {
	var why *object.Reason
	left := slices.DeleteFunc(changes, func(c object.Change) bool {
		contest, ok := p.Contested[c.End.Cluster][c.Key]
		if !ok || c.Action == object.Create || !p.Now.Before(contest.Until) {
			return false
		}
		if why == nil {
			why = object.Because(Contested, "%s was corrected %d times, and changed by %s each time: it is left alone until %s; let nobody else write it, or leave the field to them (spec.ignore of the SyncPolicy)",
				c.Key, contest.Times, rivals(c.Was), contest.Until.UTC().Format(time.RFC3339))
		}
		p.ask(contest.Until)
		return true
	})
	return left, why
}

// ask notes when the step may differ by itself.
func (p *planner) ask(at time.Time) {
	if p.calmed.IsZero() || at.Before(p.calmed) {
		p.calmed = at
	}
}

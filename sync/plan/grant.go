package plan

import (
	"fmt"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Unwatched is the code of a base in place in whose cluster the account may read something and not watch it.
const Unwatched = reason.Unwatched

// unwatched reports what is read every 30 s because nobody lets us watch it, or nil.
func (w World) unwatched(keys []object.Key) *object.Reason {
	if len(keys) == 0 {
		return nil
	}
	more := ""
	if n := len(keys) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return object.Because(Unwatched, "the account may read %s%s and not watch it: linkwright notices a foreign change within 30 s instead of at once; grant list and watch by %s",
		object.Hidden{Key: keys[0]}, more, w.installation().Grant())
}

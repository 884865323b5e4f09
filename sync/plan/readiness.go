package plan

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// maxNamed is how many objects that are not ready a message names. The row has all.
const maxNamed = 3

// withReadiness adds to a written end what of it is not ready.
func withReadiness(row Row, want object.Desired, observed object.Observation) Row {
	var said []string
	for _, o := range want.Objects {
		h := observed.Record(o.Key).Health
		if h.IsZero() {
			continue
		}
		row.Unready = append(row.Unready, Unready{Key: o.Key, Why: h.String(), Failed: h.Failed()})
		if len(said) < maxNamed {
			said = append(said, fmt.Sprintf("%s: %s", o.Key, h))
		}
	}
	if len(row.Unready) == 0 {
		return row
	}
	if more := len(row.Unready) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	row.Phase, row.Why = Waiting, object.Because(reason.NotReady, "%s", strings.Join(said, "; "))
	return row
}

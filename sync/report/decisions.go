package report

import (
	"strings"
	"time"

	"github.com/linkwright/linkwright/sync/report/output"
)

// Decision is what a person decided and what is in effect; nil fields are none. Unread: this release does not understand it, and
// nothing follows from it.
type Decision struct {
	Kind   string
	Object string // a cluster, a link or a revision
	UID    string
	Until  time.Time
	By     string
	At     time.Time
	Reason string
	Unread bool
}

func decisionsOf(all []Decision) (out []output.Decision) {
	m := redacting(nil)
	for _, d := range all {
		out = append(out, output.Decision{
			Kind: m.line(d.Kind), Object: m.line(d.Object), UID: m.line(d.UID), Until: d.Until, By: m.line(d.By), At: d.At,
			Reason: m.line(d.Reason), Understood: !d.Unread,
		})
	}
	return out
}

// decisions are cells, the first row being the head.
func (d overviewDoc) decisions() [][]string {
	rows := [][]string{{"decision", "about", "by", "since", "until", "reason"}}
	for _, one := range d.Decisions {
		about := one.Object
		if one.UID != "" {
			about += "=" + one.UID
		}
		reason := one.Reason
		if !one.Understood {
			reason = strings.TrimPrefix(reason+"; not understood: linkwright ignores it", "; ")
		}
		rows = append(rows, []string{one.Kind, about, one.By, moment(one.At), moment(one.Until), reason})
	}
	return rows
}

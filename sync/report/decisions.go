package report

import (
	"strings"
	"time"
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

type decisionDoc struct {
	Kind       string    `json:"kind"`
	Object     string    `json:"object"`
	UID        string    `json:"uid,omitempty"`
	Until      time.Time `json:"until,omitzero"`
	By         string    `json:"by,omitempty"`
	At         time.Time `json:"at,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	Understood bool      `json:"understood"`
}

func decisionDocs(all []Decision) (out []decisionDoc) {
	m := redacting(nil)
	for _, d := range all {
		out = append(out, decisionDoc{
			Kind: m.line(d.Kind), Object: m.line(d.Object), UID: m.line(d.UID), Until: d.Until, By: m.line(d.By), At: d.At,
			Reason: m.line(d.Reason), Understood: !d.Unread,
		})
	}
	return out
}

// decisions are cells, the first row being the head.
func (d toldDoc) decisions() [][]string {
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

package state

import (
	"fmt"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Suspension returns the decision of a person that keeps an end suspended now; of several, the one that lasts longest.
func (s Snapshot) Suspension(end object.End) (longest inventory.Decision, found bool) {
	for _, d := range s.Suspended {
		closes := d.Cluster == end.Cluster || !end.IsBase() && d.Link() == end.Link
		if closes && d.Active(s.Now) && (!found || !longest.Until.IsZero() && (d.Until.IsZero() || d.Until.After(longest.Until))) {
			longest, found = d, true
		}
	}
	return longest, found
}

// SuspendedBy returns the reason of what a decision suspends: until when it holds, whose it is, why, and what ends it.
func (s Snapshot) SuspendedBy(d inventory.Decision) *object.Reason {
	text := "suspended"
	if !d.Until.IsZero() {
		text += " until " + d.Until.Format(time.RFC3339)
	}
	if d.By != "" {
		text += " by " + d.By
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	resume := s.Command("resume " + d.Object())
	if d.Cluster != "" {
		text = fmt.Sprintf("cluster %s is %s", d.Cluster, text)
	}
	return object.Because(reason.Suspended, "%s: to resume, run %s", text, resume).Running(resume)
}

// Suspends reports whether a person's decision keeps all that is in a cluster suspended.
func (s Snapshot) Suspends(name api.ClusterName) bool {
	_, suspended := s.Suspension(object.End{Cluster: name})
	return suspended
}

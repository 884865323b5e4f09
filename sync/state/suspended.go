package state

import (
	"fmt"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
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

// toResume begins the part of a message that says how a suspension ends. Nothing of a person's follows it.
const toResume = "to resume, "

// HowToResume returns what ends a suspension, from the message about it; empty: the message does not say.
func HowToResume(message string) string {
	at := strings.LastIndex(message, toResume)
	if at < 0 {
		return ""
	}
	how, _, _ := strings.Cut(message[at+len(toResume):], ";")
	return how
}

// SuspendedBy returns, for a decision, until when it holds, whose it is, why, and what ends it.
func (s Snapshot) SuspendedBy(d inventory.Decision) string {
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
	if d.Cluster != "" {
		return fmt.Sprintf("cluster %s is %s: linkwright leaves everything there as it is: %srun %s", d.Cluster, text, toResume, s.Command("resume "+d.Object()))
	}
	return fmt.Sprintf("%s: linkwright leaves both ends as they are: %srun %s", text, toResume, s.Command("resume "+d.Object()))
}

// Suspends reports whether a person's decision keeps all that is in a cluster suspended.
func (s Snapshot) Suspends(name api.ClusterName) bool {
	_, suspended := s.Suspension(object.End{Cluster: name})
	return suspended
}

package object

import (
	"time"

	"github.com/linkwright/linkwright/object/reason"
)

// Condition is a condition of a link as Kubernetes has them: Ready always, the others only while they are True.
type Condition struct {
	// Type is Ready, Reconciling, Stalled or Suspended.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status string `json:"status"`
	// Reason is the reason in one word.
	Reason reason.Code `json:"reason"`
	// Message says in a sentence what the reason does not.
	Message string `json:"message,omitempty"`
	// Since is when the condition got its status and reason, in UTC and whole seconds.
	Since time.Time `json:"since"`
}

// Types of conditions, in their order.
const (
	Ready       = "Ready"       // the link works
	Reconciling = "Reconciling" // it does not work yet, and should soon by itself
	Stalled     = "Stalled"     // it does not work, and somebody must act
	Suspended   = "Suspended"   // its source's end is suspended; the reason is Waiting if changes wait for the end of that

	// Approved is the condition of an approval, in events.
	Approved = "Approved"
	// Removed is the condition of a link of which nothing is left, in events.
	Removed = "Removed"
)

// Statuses of a condition.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// SameState reports whether two conditions have the same type, status and reason.
func (c Condition) SameState(d Condition) bool {
	return c.Type == d.Type && c.Status == d.Status && c.Reason == d.Reason
}

// Same reports whether two conditions are equal.
func (c Condition) Same(d Condition) bool {
	return c.SameState(d) && c.Message == d.Message && c.Since.Equal(d.Since)
}

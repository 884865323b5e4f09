package object

import (
	"time"

	"github.com/linkwright/linkwright/object/reason"
)

// Condition is a condition of a link as Kubernetes has them: Ready always, Reconciling and Stalled only while they are True.
type Condition struct {
	// Type is Ready, Reconciling or Stalled.
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
	Ready       = "Ready"       // the pair works
	Reconciling = "Reconciling" // it does not yet, and should by itself before long
	Stalled     = "Stalled"     // it does not, and somebody must look
)

// Of a condition.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// Stands reports whether two conditions tell the same: messages and moments do not count.
func (c Condition) Stands(d Condition) bool {
	return c.Type == d.Type && c.Status == d.Status && c.Reason == d.Reason
}

// Same reports whether writing one over the other would change nothing.
func (c Condition) Same(d Condition) bool {
	return c.Stands(d) && c.Message == d.Message && c.Since.Equal(d.Since)
}

package object

import (
	"time"

	"github.com/linkwright/linkwright/object/reason"
)

// Condition is one thing that is told of an end in the manner of Kubernetes: Ready always, others only while they are True.
type Condition struct {
	Type    string      `json:"type"`
	Status  string      `json:"status"` // True, False or Unknown
	Reason  reason.Code `json:"reason"` // one word
	Message string      `json:"message,omitempty"`
	// Since is when it came to stand so, in UTC and whole seconds.
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

package object

import (
	"time"

	"github.com/linkwright/linkwright/object/reason"
)

// Condition is a condition of a link as in Kubernetes: Ready is always there, others only while they are True.
type Condition struct {
	Type    string      `json:"type"`
	Status  string      `json:"status"` // True, False or Unknown
	Reason  reason.Code `json:"reason"` // one word
	Message string      `json:"message,omitempty"`
	// Since is the last transition, in UTC and whole seconds.
	Since time.Time `json:"since"`
}

// Types of conditions, in their order.
const (
	Ready       = "Ready"       // the link works
	Reconciling = "Reconciling" // it does not work yet, and should soon by itself
	Stalled     = "Stalled"     // it does not work, and somebody must act
)

// Statuses of a condition.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// Stands reports whether two conditions have the same type, status and reason.
func (c Condition) Stands(d Condition) bool {
	return c.Type == d.Type && c.Status == d.Status && c.Reason == d.Reason
}

// Same reports whether two conditions are equal.
func (c Condition) Same(d Condition) bool {
	return c.Stands(d) && c.Message == d.Message && c.Since.Equal(d.Since)
}

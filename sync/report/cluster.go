package report

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// State is what could be done in a cluster.
type State string

// States of a cluster.
const (
	Ready   State = "ready"   // read; it may be written
	Unread  State = "unread"  // it could not be read
	Refused State = "refused" // read, and by a rule nothing is written there
)

// ClusterStates lists every State, the best first.
func ClusterStates() []State { return []State{Ready, Unread, Refused} }

// State tells from the step's refusal whether the cluster could be read at all.
func (c Cluster) State() State {
	switch why := c.Why(); {
	case why == nil:
		return Ready
	case slices.Contains(unread(), why.Code):
		return Unread
	}
	return Refused
}

// Why says why nothing may be written to the cluster; nil: it may.
func (c Cluster) Why() *object.Reason {
	if c.Step.Refused == nil && c.Step.Cluster == "" && len(c.Step.Rows) == 0 {
		return object.Because(reason.Unknown, "cluster %s was not looked at", c.Name)
	}
	return c.Step.Refused
}

// unread are the codes of what comes of opening (Access) and reading (package cluster's Explain); the others are
// rules of package plan.
func unread() []reason.Code {
	return []reason.Code{
		reason.AccessInvalid, reason.Unreachable, reason.UntrustedCertificate, reason.Timeout, reason.Unauthorized, reason.Forbidden, reason.NotFound, reason.Conflict, reason.Invalid,
		reason.Throttled, reason.Unavailable, reason.Canceled, reason.Unknown,
	}
}

// planned are the writes of a step that nobody did: there is no outcome of any.
func (c Cluster) planned() []object.Change {
	if len(c.Outcomes) > 0 || c.Step.Refused != nil {
		return nil
	}
	return slices.Concat(c.Step.Ahead, c.Step.Changes, c.Step.After)
}

package report

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Status is Unknown if the cluster could not be read, and Denied if it was, and a rule forbids to write there.
func (c Cluster) Status() Status {
	return clusterStatus(c.Why())
}

// clusterStatus is the status of a cluster to which nothing may be written for a reason; nil: there is none.
func clusterStatus(why *object.Reason) Status {
	switch {
	case why == nil:
		return Ready
	case slices.Contains(unread(), why.Code):
		return Unknown
	}
	return Denied
}

// Why says why nothing may be written to the cluster; nil: it may.
func (c Cluster) Why() *object.Reason {
	if c.Step.Denied == nil && c.Step.Cluster == "" && len(c.Step.Rows) == 0 {
		return object.Because(reason.Unknown, "linkwright has not compared cluster %s with what is declared yet", c.Name)
	}
	return c.Step.Denied
}

// unread are the codes of what comes of opening (Access) and reading (package cluster's Explain); the others are
// rules of package plan.
func unread() []reason.Code {
	return []reason.Code{
		reason.AccessInvalid, reason.Unreachable, reason.UntrustedCertificate, reason.Timeout, reason.Unauthorized, reason.Forbidden, reason.NotFound, reason.Conflict, reason.Invalid,
		reason.Throttled, reason.Unavailable, reason.Canceled, reason.Unknown,
	}
}

// planned are the writes of a step that were not done: there is no outcome of any.
func (c Cluster) planned() []object.Change {
	if len(c.Outcomes) > 0 || c.Step.Denied != nil {
		return nil
	}
	return slices.Concat(c.Step.Ahead, c.Step.Changes, c.Step.After)
}

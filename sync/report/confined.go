package report

import (
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// confinedDoc says why no admission policies confine linkwright's account in a cluster; empty: they do, or nobody knows.
type confinedDoc struct {
	Unconfined *object.Reason `json:"unconfined,omitempty"`
}

// missesPolicies says that the account could be confined there. Who runs linkwright with a login of his own needs no reminder.
func (d confinedDoc) missesPolicies() bool {
	return d.Unconfined != nil && d.Unconfined.Code != reason.NotServiceAccount
}

package report

import (
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// missesPolicies says that linkwright's account could be confined in a cluster. A person's own login needs no reminder.
func missesPolicies(unconfined *object.Reason) bool {
	return unconfined != nil && unconfined.Code != reason.NotServiceAccount
}

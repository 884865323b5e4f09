package output

import (
	"time"

	"github.com/linkwright/linkwright/object"
)

// States of revisions.
const (
	Applied    = "Applied"
	Observed   = "Observed"
	Superseded = "Superseded"
)

// Revision is a Git commit that the management cluster's record or a cluster names.
type Revision struct {
	TypeMeta
	// Revision is the Git commit. It is absent if none could be read.
	Revision string `json:"revision,omitempty"`
	// State is Applied if the commit's declarations apply, Observed if it was seen and does not apply, and Superseded if a cluster still has it
	// while another one applies.
	State string `json:"state" jsonschema:"enum=Applied,enum=Observed,enum=Superseded"`
	// Reason says why an observed revision does not apply, or what an applied one may not remove.
	Reason *object.Reason `json:"reason,omitempty"`
	// Since is when that became so. It is absent if the record does not say.
	Since time.Time `json:"since,omitzero"`
	// Clusters are those in which the revision is applied, sorted by name.
	Clusters []string `json:"clusters"`
}

// Ref is revision/COMMIT.
func (r Revision) Ref() string { return "revision/" + r.Revision }

// Event is the last transition of one condition. Earlier transitions are not recorded.
type Event struct {
	TypeMeta
	// Type is Normal, or Warning if somebody may have to act.
	Type string `json:"type" jsonschema:"enum=Normal,enum=Warning"`
	// Reason is the reason of the condition, in one word.
	Reason string `json:"reason"`
	// Object is what the condition is about: link/SOURCE/TARGET, cluster/NAME, revision/COMMIT or approval/HASH.
	Object string `json:"object"`
	// Condition is the type of the condition, such as Ready.
	Condition string `json:"condition"`
	// Status is the status of the condition: True, False or Unknown.
	Status string `json:"status" jsonschema:"enum=True,enum=False,enum=Unknown"`
	// Message is the message of the condition.
	Message string `json:"message,omitempty"`
	// LastTransition is when the condition got its status and its reason.
	LastTransition time.Time `json:"lastTransition"`
}

// Types of events.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

// Ref is the object that the event is about.
func (e Event) Ref() string { return e.Object }

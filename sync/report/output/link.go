package output

import (
	"time"

	"github.com/linkwright/linkwright/object"
)

// Link is one link: services of the target are mirrored into the source. The same item is in every answer about links; fields that a command
// cannot know are absent.
type Link struct {
	TypeMeta
	// Source is the cluster in which services are mirrored.
	Source string `json:"source"`
	// Target is the cluster whose services are mirrored.
	Target string `json:"target"`
	// Ready is the status of the condition Ready: True if the link works, False if not, Unknown if linkwright does not know.
	Ready string `json:"ready" jsonschema:"enum=True,enum=False,enum=Unknown"`
	// Status is the status of the link in one word.
	Status string `json:"status" jsonschema:"enum=Ready,enum=Progressing,enum=Suspended,enum=Leaving,enum=Stalled,enum=Blocked,enum=Denied,enum=Unknown,enum=Removed,enum=Released"`
	// Leaving is true while the link is being removed.
	Leaving bool `json:"leaving"`
	// Reason says why the link has its status. It is absent if there is nothing to say.
	Reason *object.Reason `json:"reason,omitempty"`
	// Since is when ready last changed, as the inventory in the source records it.
	Since time.Time `json:"since,omitzero"`
	// SourceEnd is the link's part in the source.
	SourceEnd End `json:"sourceEnd"`
	// TargetEnd is the link's part in the target.
	TargetEnd End `json:"targetEnd"`
	// Stages are all stages of the link in order, with --repo and in the daemon's report.
	Stages []Stage `json:"stages,omitempty"`
	// Conditions are those that the inventories of the link record.
	Conditions []object.Condition `json:"conditions,omitempty"`
	// Written are the writes for the link that were done, in "describe".
	Written []Write `json:"written,omitempty"`
	// Planned are the writes for the link that the next sync would do, in "describe" with --repo.
	Planned []Write `json:"planned,omitempty"`
}

// Ref is link/SOURCE/TARGET.
func (l Link) Ref() string { return "link/" + l.Source + "/" + l.Target }

// End is the part of a link in one cluster.
type End struct {
	// Status is the status of the end in one word, with --repo and in the daemon's report.
	Status string `json:"status,omitempty" jsonschema:"enum=Ready,enum=Progressing,enum=Suspended,enum=Leaving,enum=Blocked,enum=Denied,enum=Unknown,enum=Removed,enum=Released"`
	// Inventory says what the inventories say of the end, without --repo: Recorded, Leaving, Absent, or Unknown if the cluster was not read.
	Inventory string `json:"inventory,omitempty" jsonschema:"enum=Recorded,enum=Leaving,enum=Absent,enum=Unknown"`
	// Reason says why the end has its status. It is absent if there is nothing to say.
	Reason *object.Reason `json:"reason,omitempty"`
	// Deleting are objects of the end that linkwright deletes, now or after others are gone.
	Deleting []object.Key `json:"deleting,omitempty"`
	// NotReady are objects that are as declared and do not work yet.
	NotReady []NotReady `json:"notReady,omitempty"`
}

// NotReady is an object that is as declared and does not work yet.
type NotReady struct {
	// Object is the object.
	Object object.Key `json:"object"`
	// Reason says what the object lacks, in the words of its own status.
	Reason string `json:"reason"`
	// Failed is true if the object does not become ready by waiting.
	Failed bool `json:"failed"`
}

// Stage is one stage of a link's health.
type Stage struct {
	// Name is the name of the stage, such as gateway alive.
	Name string `json:"name"`
	// State is passed, failed, unknown (no evidence) or not applicable.
	State string `json:"state" jsonschema:"enum=passed,enum=failed,enum=unknown,enum=not applicable"`
	// Reason says why the stage has its state.
	Reason *object.Reason `json:"reason,omitempty"`
}

// Write is one write to a cluster. Equal writes are listed once.
type Write struct {
	// Cluster is where the write goes.
	Cluster string `json:"cluster"`
	// Action is what is done: create, update, patch, replace, drain, adopt, release or delete.
	Action string `json:"action"`
	// Object is what is written.
	Object object.Key `json:"object"`
	// Source is the source of the link that the write is for. It is absent if the write is for the cluster's base.
	Source string `json:"source,omitempty"`
	// Target is the target of the link that the write is for. It is absent if the write is for the cluster's base.
	Target string `json:"target,omitempty"`
	// Reason says why the object is written.
	Reason *object.Reason `json:"reason,omitempty"`
	// Error says why the write failed. It is absent if it did not.
	Error string `json:"error,omitempty"`
	// Times is how often the same write was done.
	Times int `json:"times"`
}

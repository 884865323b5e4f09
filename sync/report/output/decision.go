package output

import (
	"time"

	"github.com/linkwright/linkwright/object"
)

// DecisionList is the answer of commands that record decisions of people, or take them back.
type DecisionList struct {
	TypeMeta
	// DryRun is client or server if nothing was recorded, because of --dry-run or because nobody confirmed it.
	DryRun string `json:"dryRun,omitempty" jsonschema:"enum=client,enum=server"`
	// Items are the decisions that were recorded, those that they replace, and those that were taken back.
	Items []Decision `json:"items"`
}

// Decision is what a person decided.
type Decision struct {
	// Kind is the kind of the decision, such as Suspend, AcceptCluster or Approval.
	Kind string `json:"kind"`
	// Object is the cluster, the link or the revision that the decision is about, or the hash that an approval names.
	Object string `json:"object"`
	// Change is what the command did with the decision. It is absent in "status".
	Change string `json:"change,omitempty" jsonschema:"enum=Recorded,enum=Replaced,enum=Withdrawn"`
	// Removes are what an approval lets a revision remove, such as link west/east.
	Removes []string `json:"removes,omitempty"`
	// Stays is what an abandoned cluster still holds of removed links, as far as the record has it. It stays there, unless linkwright can read the cluster.
	Stays []PendingCleanup `json:"stays,omitempty"`
	// UID is the kube-system uid of an accepted cluster.
	UID string `json:"uid,omitempty"`
	// Until is when the decision ends. It is absent if it has no end.
	Until time.Time `json:"until,omitzero"`
	// By is the person.
	By string `json:"by,omitempty"`
	// At is when the decision was recorded.
	At time.Time `json:"at,omitzero"`
	// Reason is the reason that the person gave.
	Reason string `json:"reason,omitempty"`
	// Note says why the decision has no effect yet.
	Note string `json:"note,omitempty"`
	// Understood is false if this release does not understand the decision and ignores it.
	Understood bool `json:"understood"`
}

// RotationList is the answer of "rotate".
type RotationList struct {
	TypeMeta
	// DryRun is client or server if nothing was requested, because of --dry-run.
	DryRun string `json:"dryRun,omitempty" jsonschema:"enum=client,enum=server"`
	// Items are sorted by source, then target.
	Items []Rotation `json:"items"`
}

// Rotation is the request for another token of one link.
type Rotation struct {
	// Source is the source of the link.
	Source string `json:"source"`
	// Target is the target of the link, which issues the token.
	Target string `json:"target"`
	// State is Requested; AlreadyRequested if the token of an earlier request is not in use yet; Denied; Failed; or Skipped after a signal.
	State string `json:"state" jsonschema:"enum=Requested,enum=AlreadyRequested,enum=Denied,enum=Failed,enum=Skipped"`
	// Reason says why the request is Denied.
	Reason *object.Reason `json:"reason,omitempty"`
	// WaitsFor says what the rotation waits for once it is requested.
	WaitsFor *object.Reason `json:"waitsFor,omitempty"`
	// Note says what the rotation interrupts.
	Note *object.Reason `json:"note,omitempty"`
	// Error says why the request Failed.
	Error string `json:"error,omitempty"`
}

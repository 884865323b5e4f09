package output

import "github.com/linkwright/linkwright/object"

// Diff is the answer of "diff", of "sync" in a dry run, and of "adopt", "release" and "uninstall" if they wrote nothing.
type Diff struct {
	TypeMeta
	// Different is true if something would be written.
	Different bool `json:"different"`
	// Problems are those of the declarations.
	Problems []Problem `json:"problems"`
	// Clusters are sorted by name.
	Clusters []ClusterDiff `json:"clusters"`
}

// ClusterDiff is what would be written to one cluster.
type ClusterDiff struct {
	// Name is the name of the cluster.
	Name string `json:"name"`
	// Denied says why nothing may be written to the cluster at all.
	Denied *object.Reason `json:"denied,omitempty"`
	// Ends are the base and the ends of links, as they are after the writes.
	Ends []EndDiff `json:"ends"`
	// Objects are what would be written, in the order of writing.
	Objects []ObjectDiff `json:"objects"`
	// Next are what the sync after an adoption would write to the objects of the links, in "adopt".
	Next []ObjectDiff `json:"next,omitempty"`
}

// EndDiff is the base of a cluster, or its end of a link, as it is after the writes.
type EndDiff struct {
	// Source is the source of the link. It is absent for the base.
	Source string `json:"source,omitempty"`
	// Target is the target of the link. It is absent for the base.
	Target string `json:"target,omitempty"`
	// Status is the status of the end in one word.
	Status string `json:"status" jsonschema:"enum=Ready,enum=Progressing,enum=Suspended,enum=Leaving,enum=Blocked,enum=Denied,enum=Unknown,enum=Removed"`
	// Leaving is true while the end is being removed.
	Leaving bool `json:"leaving"`
	// Reason says why the end has its status.
	Reason *object.Reason `json:"reason,omitempty"`
}

// ObjectDiff is one object before and after. Values of Secrets are short hashes.
type ObjectDiff struct {
	// Action is what would be done: create, update, replace, drain, adopt, release or delete.
	Action string `json:"action"`
	// Object is the object.
	Object object.Key `json:"object"`
	// Reason says why the object would be written.
	Reason *object.Reason `json:"reason"`
	// Later is true if the object is deleted only after others are gone.
	Later bool `json:"later"`
	// Before is the live object. It is absent if there is none, or if the answer only names the object, as "adopt", "release" and "uninstall" do.
	Before any `json:"before,omitempty"`
	// After is the desired object. It is absent if it would be deleted, or if the answer only names the object.
	After any `json:"after,omitempty"`
}

package output

import "github.com/linkwright/linkwright/object"

// Diff is the answer of "diff", of "sync" in a dry run, and of "adopt", "release" and "uninstall" if they wrote nothing.
type Diff struct {
	TypeMeta
	// Different is true if something would be written.
	Different bool `json:"different"`
	// Problems are those of the declarations.
	Problems []Problem `json:"problems"`
	// Created are the links that are new, sorted by source and target.
	Created []CreatedLink `json:"created"`
	// Unlinks are the links that are no longer declared, sorted by source and target.
	Unlinks []Unlink `json:"unlinks"`
	// Narrowed are the links whose selectors no longer choose some services, sorted by source and target.
	Narrowed []Narrowed `json:"narrowed"`
	// Restarts are the clusters in which workloads that opt in may restart after the change, in their order. They are absent if there are none.
	Restarts []FollowingRestarts `json:"restarts,omitempty"`
	// Clusters are sorted by name.
	Clusters []ClusterDiff `json:"clusters"`
}

// FollowingRestarts are restarts of workloads in a cluster that may follow a change.
type FollowingRestarts struct {
	// Cluster is the cluster.
	Cluster string `json:"cluster"`
	// Rollout is the declaration, such as "ProxyConfig base".
	Rollout string `json:"rollout"`
	// Wave is the place of the cluster among the waves of its rollout, from 1.
	Wave int `json:"wave"`
	// Workloads is how many opt in, as counted last: at most so many restart. It is absent if they were not counted yet.
	Workloads *int `json:"workloads,omitempty"`
	// AtOnce is how many restart at the same time.
	AtOnce int `json:"atOnce"`
	// PerNamespace is how many of one namespace restart at the same time.
	PerNamespace int `json:"perNamespace"`
}

// Narrowed is a link whose selectors no longer choose some services. Linkerd's controller deletes the mirrors of these.
type Narrowed struct {
	// Source is the source of the link.
	Source string `json:"source"`
	// Target is the target of the link.
	Target string `json:"target"`
	// Mirrors are the Services that the link has in its source now. They are absent if the source was not read.
	Mirrors *Mirrors `json:"mirrors,omitempty"`
	// Lost are those of them that may go.
	Lost []object.Key `json:"lost,omitempty"`
	// Message says that in a sentence.
	Message string `json:"message"`
}

// CreatedLink is a link of which nothing is in its source yet.
type CreatedLink struct {
	// Source is the source of the link.
	Source string `json:"source"`
	// Target is the target of the link.
	Target string `json:"target"`
	// Message says in sentences what the link does.
	Message string `json:"message"`
}

// Unlink is the removal of one link that is no longer declared.
type Unlink struct {
	// Source is the source of the link.
	Source string `json:"source"`
	// Target is the target of the link.
	Target string `json:"target"`
	// Begun is true if an earlier sync began the removal.
	Begun bool `json:"begun"`
	// Stopped says why nothing of the link is removed, such as a guard that denies it. It is absent if nothing stops the removal.
	Stopped *object.Reason `json:"stopped,omitempty"`
	// Mirrors are the Services that the link has in its source now. They are absent if the source was not read.
	Mirrors *Mirrors `json:"mirrors,omitempty"`
	// Stages are what happens, in order. If stopped is PruneLimitExceeded, they happen after an approval.
	Stages []UnlinkStage `json:"stages"`
	// Waiting says what is waited for after the stages, or what denies the removal even after an approval. It is absent if nothing of the link is
	// left then.
	Waiting *object.Reason `json:"waiting,omitempty"`
}

// Mirrors are the Services in a source that exist because of one link.
type Mirrors struct {
	// Services are the mirrors of the target's services.
	Services []object.Key `json:"services"`
	// Serving is how many of the services have a ready endpoint. Services that Linkerd resolves in the target have no endpoints, and do not count.
	Serving int `json:"serving"`
	// Federated are the federated Services of which the target is a member.
	Federated []object.Key `json:"federated"`
}

// UnlinkStage is one part of a removal.
type UnlinkStage struct {
	// Kind is what is done. With RemoveMirrors, Linkerd's controller does it; with all others, linkwright.
	Kind string `json:"kind" jsonschema:"enum=EmptySelectors,enum=RemoveMirrors,enum=DeleteMirrors,enum=DeleteObjects"`
	// Cluster is where it is done.
	Cluster string `json:"cluster"`
	// Objects are what is written or deleted. With RemoveMirrors they are absent if the source was not read.
	Objects []object.Key `json:"objects,omitempty"`
	// Message says in a sentence what is done.
	Message string `json:"message"`
}

// ClusterDiff is what would be written to one cluster.
type ClusterDiff struct {
	// Name is the name of the cluster.
	Name string `json:"name"`
	// Status is Unknown if the cluster could not be read, and Denied if a rule forbids to write there. It is absent for other clusters.
	Status string `json:"status,omitempty" jsonschema:"enum=Unknown,enum=Denied"`
	// Reason says why the cluster has its status.
	Reason *object.Reason `json:"reason,omitempty"`
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
	Status string `json:"status" jsonschema:"enum=Ready,enum=Progressing,enum=Suspended,enum=Leaving,enum=Blocked,enum=Denied,enum=Unknown,enum=Removed,enum=Released"`
	// Leaving is true while the end is being removed.
	Leaving bool `json:"leaving"`
	// Reason says why the end has its status.
	Reason *object.Reason `json:"reason,omitempty"`
}

// ObjectDiff is one object before and after. Values of Secrets are short hashes.
type ObjectDiff struct {
	// Action is what would be done: create, update, patch, replace, drain, adopt, release or delete.
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

package output

import (
	"time"

	"github.com/linkwright/linkwright/object"
)

// Cluster is one cluster. The same item is in every answer about clusters; fields that a command cannot know are absent.
type Cluster struct {
	TypeMeta
	// Name is the name that the cluster is declared with.
	Name string `json:"name"`
	// Ready is True if the cluster can be read and has the applied revision, False if not, Unknown if it was not read.
	Ready string `json:"ready" jsonschema:"enum=True,enum=False,enum=Unknown"`
	// Status is the status of the cluster in one word.
	Status string `json:"status" jsonschema:"enum=Ready,enum=Progressing,enum=Suspended,enum=Leaving,enum=Denied,enum=Unknown"`
	// Reason says why the cluster has its status. It is absent if there is nothing to say.
	Reason *object.Reason `json:"reason,omitempty"`
	// Revision is the Git commit that is applied in the cluster. It is absent if there is none, or the cluster was not read.
	Revision string `json:"revision,omitempty"`
	// Links counts the links with an end in the cluster.
	Links LinkCount `json:"links"`
	// Base is what the cluster holds beside its links. It is absent if that is as declared and there is nothing to say.
	Base *Base `json:"base,omitempty"`
	// Unconfined says why no admission policies confine linkwright's account in the cluster. It is absent if they do, or that is not known.
	Unconfined *object.Reason `json:"unconfined,omitempty"`
	// Values are the values of Linkerd's installation that linkwright set in the cluster, by path. Only answers without a repository have them.
	Values []ProxyValue `json:"values,omitempty"`
	// Rollout says how far the restarts of workloads with outdated proxies are. It is absent if no ProxyConfig declares a rollout for the cluster, or linkwright
	// has not compared its workloads.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Orphans are the first objects that carry linkwright's label, and that linkwright does not delete, because no inventory lists them.
	Orphans []Orphan `json:"orphans,omitempty"`
	// MoreOrphans is how many orphans are not listed.
	MoreOrphans int `json:"moreOrphans,omitempty"`
	// PendingCleanup are ends of removed links that the cluster still holds, because it could not be read. It is absent if the cluster is abandoned: the
	// decision then has it in stays.
	PendingCleanup []PendingCleanup `json:"pendingCleanup,omitempty"`
	// Written are the writes that were done, in the order in which they were done.
	Written []Write `json:"written,omitempty"`
	// Planned are the writes that are needed and were not done.
	Planned []Write `json:"planned,omitempty"`
}

// ProxyValue is a value of Linkerd's installation that linkwright set.
type ProxyValue struct {
	// Path names it, such as proxy.logLevel.
	Path string `json:"path"`
	// Set is the value that linkwright set, as JSON. Of environment variables it has only the names.
	Set string `json:"set"`
	// Before is the value that is put back once no ProxyConfig declares it, as JSON. It is absent if there was none.
	Before string `json:"before,omitempty"`
}

// Rollout says how far the restarts of workloads in a cluster are. It counts workloads whose owners let a controller restart them.
type Rollout struct {
	// Workloads is how many workloads with meshed pods there are.
	Workloads int `json:"workloads"`
	// Current is how many of them run the current proxy.
	Current int `json:"current"`
	// Restarting is how many restart now.
	Restarting int `json:"restarting"`
	// Outdated is how many are to restart.
	Outdated int `json:"outdated"`
	// Failing is how many are not ready after their restart, or run the same proxy as before.
	Failing int `json:"failing"`
	// Unknown is how many could not be compared.
	Unknown int `json:"unknown"`
	// Reason says why nothing restarts although something is left. It is absent if something restarts, or nothing is left.
	Reason *object.Reason `json:"reason,omitempty"`
	// Since is when all of this was true first.
	Since time.Time `json:"since,omitzero"`
}

// Complete reports whether nothing is left to restart.
func (r Rollout) Complete() bool { return r.Reason == nil && r.Current == r.Workloads }

// Ref is cluster/NAME.
func (c Cluster) Ref() string { return "cluster/" + c.Name }

// LinkCount counts links.
type LinkCount struct {
	// Ready is how many of the links work.
	Ready int `json:"ready"`
	// Total is how many links there are.
	Total int `json:"total"`
}

// Base is what a cluster holds beside its links.
type Base struct {
	End
	// Leaving is true while the base is being removed.
	Leaving bool `json:"leaving"`
}

// Orphan is an object that carries linkwright's label, and that linkwright does not delete, because no inventory lists it.
type Orphan struct {
	// Object is the object.
	Object object.Key `json:"object"`
	// Message says why linkwright does not take the object for its own.
	Message string `json:"message"`
	// Remedy says what you can do.
	Remedy string `json:"remedy"`
}

// PendingCleanup is an end of a removed link that a cluster still holds, because it could not be read.
type PendingCleanup struct {
	// Source is the source of the removed link.
	Source string `json:"source"`
	// Target is the target of the removed link.
	Target string `json:"target"`
	// Since is when the rest of the link was removed.
	Since time.Time `json:"since,omitzero"`
	// Left says what the cluster still holds. It is absent without --repo.
	Left string `json:"left,omitempty"`
}

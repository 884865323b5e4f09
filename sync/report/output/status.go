package output

import "time"

// Status is the answer of "status".
type Status struct {
	TypeMeta
	// AsDeclared is true if all is as declared and no link is known not to work, suspended or not. The exit code is then 0.
	AsDeclared bool `json:"asDeclared"`
	// AppliedRevision is the Git commit whose declarations apply.
	AppliedRevision string `json:"appliedRevision,omitempty"`
	// ObservedRevision is the Git commit that was seen last.
	ObservedRevision string `json:"observedRevision,omitempty"`
	// Error says why the repository or the clusters could not be read, or why the observed revision does not apply.
	Error string `json:"error,omitempty"`
	// Denied says what the applied revision may not remove, and what you can do.
	Denied string `json:"denied,omitempty"`
	// UnwrittenLinks is how many declared links linkwright has not written yet.
	UnwrittenLinks int `json:"unwrittenLinks,omitempty"`
	// UninstallSince is when an uninstall began that has not ended. Run "linkwright uninstall --yes" again.
	UninstallSince time.Time `json:"uninstallSince,omitzero"`
	// Leader is the process that holds the installation's Lease, or held it last.
	Leader *Leader `json:"leader,omitempty"`
	// Writers are the processes with --only-write, sorted by cluster.
	Writers []Leader `json:"writers,omitempty"`
	// Decisions are those of people that are in effect, or that this release does not understand.
	Decisions []Decision `json:"decisions,omitempty"`
	// Problems are those of the declarations, with --repo.
	Problems []Problem `json:"problems,omitempty"`
	// Revisions are the applied revision, the observed one, and those that clusters still have.
	Revisions []Revision `json:"revisions"`
	// Links are sorted by source, then target.
	Links []Link `json:"links"`
	// Clusters are sorted by name.
	Clusters []Cluster `json:"clusters"`
}

// Leader is a process that holds a Lease, or held it last.
type Leader struct {
	// OnlyWrite is the cluster of a process with --only-write.
	OnlyWrite string `json:"onlyWrite,omitempty"`
	// Holder is the process. It is absent if the Lease was released.
	Holder string `json:"holder,omitempty"`
	// Renewed is when the Lease was renewed last.
	Renewed time.Time `json:"renewed"`
	// State is leading, lost if the holder does not renew the Lease any more, or released.
	State string `json:"state" jsonschema:"enum=leading,enum=lost,enum=released"`
	// LastSync is the process whose sync ended last.
	LastSync string `json:"lastSync,omitempty"`
	// LastSyncEnded is when that sync ended.
	LastSyncEnded time.Time `json:"lastSyncEnded,omitzero"`
}

// SyncReport is the answer of "sync", and of "adopt", "release" and "uninstall" once they wrote, and the daemon's /report.json: the state of everything, and what was written.
type SyncReport struct {
	TypeMeta
	// AppliedRevision is the Git commit whose declarations apply.
	AppliedRevision string `json:"appliedRevision,omitempty"`
	// ObservedRevision is the Git commit that was seen last.
	ObservedRevision string `json:"observedRevision,omitempty"`
	// Error says why there was no sync, or why it kept the applied revision.
	Error string `json:"error,omitempty"`
	// AsDeclared is true if all is as declared, or suspended as declared, and no write failed.
	AsDeclared bool `json:"asDeclared"`
	// ReadOnly is true if the command writes nothing.
	ReadOnly bool `json:"readOnly"`
	// Syncing is true while a sync is under way. Clusters that it has not read yet are then Unknown.
	Syncing bool `json:"syncing,omitempty"`
	// Seconds is how long the sync took.
	Seconds float64 `json:"seconds,omitempty"`
	// Summary counts what is below.
	Summary Summary `json:"summary"`
	// Problems are those of the declarations.
	Problems []Problem `json:"problems"`
	// Links are sorted by source, then target.
	Links []Link `json:"links"`
	// Clusters are sorted by name.
	Clusters []Cluster `json:"clusters"`
}

// Summary counts links, bases, clusters and writes.
type Summary struct {
	// Links counts links by status.
	Links map[string]int `json:"links"`
	// Bases counts by status the bases that are not just as declared.
	Bases map[string]int `json:"bases"`
	// Clusters counts clusters by status.
	Clusters map[string]int `json:"clusters"`
	// Written is how many writes were done.
	Written int `json:"written"`
	// Failed is how many writes failed.
	Failed int `json:"failed"`
	// Planned is how many writes are needed and were not done.
	Planned int `json:"planned"`
	// PendingCleanup is how many ends of removed links clusters still hold that could not be read.
	PendingCleanup int `json:"pendingCleanup"`
}

package api

import "time"

// SyncPolicyDoc is the one document of kind SyncPolicy.
type SyncPolicyDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta       `json:"metadata"`
	Spec     SyncPolicy `json:"spec"`
}

// SyncPolicy says when to look and what may go.
type SyncPolicy struct {
	// Interval between polls as a Go duration; default 1m. Exclusive with Schedule.
	Interval string `json:"interval,omitempty"`
	// Schedule is a five-field cron expression; CRON_TZ=Area/City may stand before it.
	Schedule string `json:"schedule,omitempty"`
	Prune    Prune  `json:"prune,omitempty"`
}

// PrunePolicy says which writes are allowed at all.
type PrunePolicy string

const (
	// PruneSync creates, updates and deletes. It is the default.
	PruneSync PrunePolicy = "Sync"
	// UpsertOnly never deletes; a drain and a replace are deletes.
	UpsertOnly PrunePolicy = "UpsertOnly"
	// CreateOnly creates what is missing and changes nothing else.
	CreateOnly PrunePolicy = "CreateOnly"
)

// Prune bounds what one commit may take away: refused is what exceeds both bounds in one cluster.
type Prune struct {
	Policy PrunePolicy `json:"policy,omitempty"`
	// MaxFraction of one cluster's recorded objects, 0 to 1; default 0.3.
	MaxFraction *float64 `json:"maxFraction,omitempty"`
	// MinAllowed objects per cluster may always go; default 20.
	MinAllowed *int `json:"minAllowed,omitempty"`
}

const (
	// DefaultInterval is how often Git is polled without a SyncPolicy.
	DefaultInterval = time.Minute
	// DefaultMaxFraction and DefaultMinAllowed bound a prune without a SyncPolicy.
	DefaultMaxFraction = 0.3
	// DefaultMinAllowed objects may always go.
	DefaultMinAllowed = 20
)

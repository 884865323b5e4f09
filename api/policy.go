package api

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// SyncPolicyDoc is the one document of kind SyncPolicy.
type SyncPolicyDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta       `json:"metadata,omitempty"`
	Spec     SyncPolicy `json:"spec,omitempty"`
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

// Every is the time between polls, and true, or false where a schedule says when.
func (p SyncPolicy) Every() (time.Duration, bool) {
	if p.Schedule != "" {
		return 0, false
	}
	d, err := time.ParseDuration(p.Interval)
	if err != nil || d <= 0 {
		d = DefaultInterval
	}
	return d, true
}

// Next is the first poll after now. A schedule without CRON_TZ is in UTC. What Check refuses is answered as if it
// were not declared, so that Next is always after now.
func (p SyncPolicy) Next(now time.Time) time.Time {
	every, ok := p.Every()
	if ok {
		return now.Add(every)
	}
	s, err := parseSchedule(p.Schedule)
	if err != nil {
		return now.Add(DefaultInterval)
	}
	if next := s.Next(now.UTC()); !next.IsZero() {
		return next
	}
	return now.Add(DefaultInterval)
}

// PruneLimits bound what one commit may take from one cluster: a fraction of its recorded objects, and a number that may always go.
func (p SyncPolicy) PruneLimits() (maxFraction float64, minAllowed int) {
	prune := p.WithDefaults().Prune
	return *prune.MaxFraction, *prune.MinAllowed
}

// parseSchedule reads five fields, and CRON_TZ=Area/City before them. The zone alone makes the parser panic (cron v3.0.1).
func parseSchedule(text string) (cron.Schedule, error) {
	const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	if zone, rest, _ := strings.Cut(text, " "); strings.Contains(zone, "TZ=") && strings.TrimSpace(rest) == "" {
		return nil, errors.New("there is nothing after the time zone")
	}
	s, err := cron.NewParser(fields).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse schedule: %w", err)
	}
	if s.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errors.New("no day ever fits it")
	}
	return s, nil
}

package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// Record is what the management cluster remembers. Who writes it there sets it, and the round that reads it again.
type Record struct {
	mu        *sync.Mutex
	overrides Overrides
	last      inventory.Record
	remembers state.Record // made of last and decided; nobody changes it
	decided   decided
	version   int // how often another version of it was read or written
}

// decided is what follows from decisions of the record and from overrides. Nobody changes it.
type decided struct {
	accepted  map[api.ClusterName]string
	abandoned map[api.ClusterName]bool
	allowed   []api.Commit
	suspended []inventory.Decision
}

// decide adds decisions to overrides, which count before them.
func decide(o Overrides, all []inventory.Decision) decided {
	now := time.Now()
	d := decided{accepted: map[api.ClusterName]string{}, abandoned: map[api.ClusterName]bool{}, allowed: slices.Clone(o.Allowed)}
	for _, one := range all {
		switch {
		case !one.Active(now):
		case one.Kind == inventory.AcceptCluster:
			d.accepted[one.Cluster] = one.UID
		case one.Kind == inventory.AbandonCluster:
			d.abandoned[one.Cluster] = true
		case one.Kind == inventory.AllowNonFastForward:
			d.allowed = append(d.allowed, one.Revision)
		case one.Kind == inventory.Suspend:
			d.suspended = append(d.suspended, one)
		}
	}
	maps.Copy(d.accepted, o.Accepted)
	maps.Copy(d.abandoned, o.Abandoned)
	return d
}

// set takes a record over. r.mu is held.
func (r *Record) set(now inventory.Record) {
	if !slices.Equal(r.last.Decisions, now.Decisions) {
		r.decided = decide(r.overrides, now.Decisions)
	}
	if r.last.Was != now.Was {
		r.version++
	}
	r.last, r.remembers = now, remembered(now, r.decided, r.overrides.Cap)
}

// remembered returns what a snapshot has of a record.
func remembered(now inventory.Record, d decided, limit *api.PruneLimits) state.Record {
	out := state.Record{
		UIDs: make(map[api.ClusterName]string, len(now.Clusters)), Pending: map[api.ClusterName][]inventory.Pending{},
		Accepted: d.accepted, Abandoned: d.abandoned, Suspended: d.suspended,
		Guard: state.Guard{Limits: now.Limits, Approvals: now.Approvals, Denied: now.Denied, Retiring: map[api.ClusterName]bool{}, Cap: limit},
	}
	for name, k := range now.Clusters {
		out.UIDs[name] = k.UID
		if k.Leaving {
			out.Guard.Retiring[name] = true
		}
		if len(k.Pending) > 0 {
			out.Pending[name] = k.Pending
		}
	}
	return out
}

// Last returns the record as it was read or written last. Nobody changes its maps.
func (r *Record) Last() inventory.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Allowed returns the commits that people let be applied, whatever was applied before.
func (r *Record) Allowed() []api.Commit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decided.allowed
}

// Suspends reports whether a person's decision suspends all that is in a cluster.
func (r *Record) Suspends(name api.ClusterName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return state.Snapshot{Record: state.Record{Suspended: r.decided.suspended}, Now: time.Now()}.Suspends(name)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/sync/lease"
)

// Reasons for which a leadership ends.
const (
	leaseLost     = "LeaseLost"
	leaseReleased = "LeaseReleased"
	syncFailed    = "Failed"
)

// waiting are locks that log which process holds them while this one waits.
func waiting(locks []lease.Lock, log *slog.Logger) []lease.Lock {
	for i, l := range locks {
		locks[i].Waits = func(holder string, _ time.Time) {
			log.Info("standing by", "holder", holder, "lease", l.Namespace+"/"+l.Name,
				"why", "another process holds the lease: this one writes nothing until that one stops")
		}
	}
	return locks
}

// showing are locks that show which process holds them while this one waits.
func showing(locks []lease.Lock, show *live.Display) []lease.Lock {
	for i, l := range locks {
		locks[i].Waits = func(holder string, until time.Time) {
			show.Wait(fmt.Sprintf("the Lease %s/%s: %s has it until %s unless it renews it", l.Namespace, l.Name, holder, until.UTC().Format(time.RFC3339)))
		}
	}
	return locks
}

// ended logs the end of a leadership, and why: the context's cause is the signal, or the lost lease.
func ended(ctx context.Context, log *slog.Logger, term int64, failed error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, lease.ErrLost):
		log.Warn("leadership ends", "term", term, "reason", leaseLost, "why", "linkwright could not renew the lease in time: another replica may lead")
	case failed != nil:
		log.Error("leadership ends", "term", term, "reason", syncFailed, "error", failed)
	default:
		log.Info("leadership ends", "term", term, "reason", leaseReleased, "why", message(cause))
	}
}

// message is the text of an error; empty without one.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

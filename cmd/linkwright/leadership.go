package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/linkwright/linkwright/sync/lease"
)

// Reasons for which a leadership ends.
const (
	leaseLost     = "LeaseLost"
	leaseReleased = "LeaseReleased"
	syncFailed    = "Failed"
)

// ended logs the end of a leadership, and why: the context of one that was told to stop, or lost its lease, says so.
func ended(ctx context.Context, log *slog.Logger, term int64, failed error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, lease.ErrLost):
		log.Warn("leadership ends", "term", term, "reason", leaseLost, "why", "linkwright could not renew the lease in time: another replica may lead")
	case failed != nil:
		log.Error("leadership ends", "term", term, "reason", syncFailed, "error", failed)
	default:
		log.Info("leadership ends", "term", term, "reason", leaseReleased, "why", said(cause))
	}
}

// said is what an error says; empty without one.
func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/lease"
)

// logFlags say what is logged, and how.
type logFlags struct{ format, level string }

func (l *logFlags) add(f *pflag.FlagSet) {
	f.StringVar(&l.format, "log-format", "text", "text or json, on standard error")
	f.StringVar(&l.level, "log-level", "info", "debug, info, warn or error: what is logged, and all that is more important")
}

// open gives the log. Errors are usage errors.
func (l *logFlags) open(stderr io.Writer) (*slog.Logger, error) {
	levels := map[string]slog.Level{"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[l.level]
	if !ok {
		return nil, usage("--log-level %s: want debug, info, warn or error", l.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "", "text":
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), nil
	}
	return nil, usage("--log-format %s: want text or json", l.format)
}

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
		log.Warn("leadership ends", "term", term, "reason", leaseLost, "why", "the lease could not be renewed in time: another replica may lead")
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

package main

import (
	"log/slog"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// buildsMemory is what the two builds of kustomize may take that run at once, each in a process of its own.
const buildsMemory = 2 * 256 << 20

// limitMemory sets Go's memory limit below that of the container, so that garbage is collected before the kernel ends the process. The variable
// GOMEMLIMIT wins. Without a limit of the container, and outside of Linux, nothing changes.
func limitMemory(log *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(func() (uint64, error) {
		limit, err := memlimit.FromCgroup()
		return withoutBuilds(limit), err
	}))
	if err != nil {
		log.Debug("memory limit not set", "error", err)
		return
	}
	log.Debug("memory limit", "bytes", limit)
}

// withoutBuilds is what builds leave of a limit: at least half of it.
func withoutBuilds(limit uint64) uint64 { return max(limit/2, limit-min(limit, buildsMemory)) }

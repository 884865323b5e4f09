package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/record"
)

// installed is an installation by what its management cluster remembers: no repository is needed.
type installed struct {
	*access.Clusters
	owner, namespace string
	log              *slog.Logger
	live             *live.Display
}

// openInstalled checks the flags of a command first.
func openInstalled(h *cli.ManagementFlags, c *cobra.Command) (installed, error) {
	if err := h.Check(); err != nil {
		return installed{}, err
	}
	show, log, err := h.Display(c)
	if err != nil {
		return installed{}, err
	}
	clusters, err := h.OpenClusters(c.Context(), log)
	return installed{clusters, h.Owner, h.Namespace, log, show}, err
}

// installedOf is the installation of an engine.
func installedOf(e *cli.Engine) installed {
	return installed{e.Clusters, e.Loop.Owner, e.Loop.Management.Namespace, e.Loop.Log, e.Live}
}

// recorded is the management cluster as what keeps the record.
func (c installed) recorded() record.ManagementCluster {
	return record.ManagementCluster{Cluster: c.Management(), Namespace: c.namespace}
}

// record reads the record of the installation.
func (c installed) record(ctx context.Context) (inventory.Record, error) {
	known, err := c.recorded().Record(ctx, c.owner)
	if err == nil && known.Was.IsZero() {
		err = record.NoRecord(c.owner, c.namespace)
	}
	return known, err
}

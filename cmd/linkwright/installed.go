package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
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
	mirrors          bool       // the mirrors in sources are read, too
	about            []api.Pair // only the clusters of these links are read, if they have all of them; empty: all clusters
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
	return installed{Clusters: clusters, owner: h.Owner, namespace: h.Namespace, log: log, live: show}, err
}

// installedOf is the installation of an engine.
func installedOf(e *cli.Engine) installed {
	return installed{Clusters: e.Clusters, owner: e.Loop.Owner, namespace: e.Loop.Management.Namespace, log: e.Loop.Log, live: e.Live}
}

// recorded is the management cluster as what keeps the record.
func (c installed) recorded() record.ManagementCluster {
	return record.ManagementCluster{Cluster: c.Management(), Namespace: c.namespace}
}

// record reads the record of the installation.
func (c installed) record(ctx context.Context) (inventory.Record, error) {
	known, err := c.recorded().Record(ctx, c.owner)
	if err == nil && known.Was.IsZero() {
		err = record.NoRecord(c.owner, c.namespace, c.Management().Which())
	}
	return known, err
}

// missingSecrets are the Secrets of sources' ends that are not there. If they may not be read, none counts as missing.
func missingSecrets(ctx context.Context, conn object.Cluster, all []inventory.Inventory) map[object.Key]bool {
	out, names := map[object.Key]bool{}, map[string][]string{}
	for _, inv := range all {
		for _, k := range inv.Entries {
			if inv.End.IsSource() && !inv.Leaving && k.Kind == "Secret" && k.Group == "" {
				names[k.Namespace] = append(names[k.Namespace], k.Name)
			}
		}
	}
	for ns, each := range names {
		slices.Sort(each)
		each = slices.Compact(each)
		seen, err := conn.Observe(ctx, []object.Watch{{Version: "v1", Kind: "Secret", Namespace: ns, Names: each}})
		for _, name := range each {
			if k := (object.Key{Kind: "Secret", Namespace: ns, Name: name}); err == nil && seen.Record(k).IsZero() {
				out[k] = true
			}
		}
	}
	return out
}

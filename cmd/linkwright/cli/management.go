package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
)

// Config gives the configuration of the management cluster: that of the flags, of KUBECONFIG, of the cluster in which this runs, or
// of ~/.kube/config, the first of them that there is.
func (h *ManagementFlags) Config() (*rest.Config, error) {
	cfg, where, err := FindCluster(h.Kubeconfig, h.Context)
	switch {
	case errors.Is(err, errNoKubeconfig):
		return nil, fmt.Errorf("find the management cluster: %w; give --%skubeconfig", err, h.prefix)
	case err != nil:
		return nil, fmt.Errorf("find the management cluster: %w", err)
	}
	h.choose(cfg.Host, where)
	return cfg, nil
}

// chosen is the management cluster that flags and kubeconfig name.
type chosen struct {
	server, context string
	announced       bool
}

// choose remembers what was opened last, and whether that was announced already.
func (h *ManagementFlags) choose(server, context string) {
	if h.chosen.server != server || h.chosen.context != context {
		h.chosen = chosen{server: server, context: context}
	}
}

// Announce says once which management cluster was opened, because the current context of a kubeconfig is easily another one. Logs in JSON
// stay JSON.
func (h *ManagementFlags) Announce(stderr io.Writer, log *slog.Logger) {
	if h.chosen.announced {
		return
	}
	h.chosen.announced = true
	if h.Log.format == "json" && log != nil {
		log.Info("management cluster", "server", h.chosen.server, "context", h.chosen.context)
		return
	}
	Say(stderr, fmt.Sprintf("management cluster: %s (%s)", h.chosen.server, h.chosen.context))
}

// OpenClusters connects to the management cluster, and to others once they are followed.
func (h *ManagementFlags) OpenClusters(ctx context.Context, log *slog.Logger) (*access.Clusters, error) {
	cfg, err := h.Config()
	if err != nil {
		return nil, err
	}
	return access.Open(ctx, cfg, h.access(log))
}

// access are the options by which clusters are reached.
func (h *ManagementFlags) access(log *slog.Logger) access.Options {
	return access.Options{
		Owner: h.Owner, Namespace: h.Namespace, Timeout: h.Timeout, AllowPaths: h.local.paths, AllowExec: h.local.exec, Log: log, Chosen: h.chosen.context,
	}
}

// OpenManagement connects to the management cluster alone.
func (h *ManagementFlags) OpenManagement(ctx context.Context) (*access.ManagementCluster, error) {
	cfg, err := h.Config()
	if err != nil {
		return nil, err
	}
	m, err := access.OpenManagementCluster(ctx, cfg, cluster.Options{Owner: h.Owner, Namespace: h.Namespace, Timeout: h.Timeout})
	m.Chosen = h.chosen.context
	return m, err
}

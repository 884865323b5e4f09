package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
)

// OpenHome gives the configuration of the home cluster.
func (h *HomeFlags) OpenHome() (*rest.Config, error) {
	if h.Kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the home cluster: %w; outside a cluster, give --home-kubeconfig", err)
		}
		return cfg, nil
	}
	raw, err := os.ReadFile(h.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --home-kubeconfig: %w", err)
	}
	trust := cluster.Trust{Files: true, Exec: true, Dir: filepath.Dir(h.Kubeconfig)} // the operator's own
	cfg, err := cluster.ParseKubeconfig(raw, "", trust)
	if err != nil {
		return nil, fmt.Errorf("read --home-kubeconfig %s: %w", h.Kubeconfig, err)
	}
	return cfg, nil
}

// OpenClusters connects to the home cluster, and to others once they are followed.
func (h *HomeFlags) OpenClusters(ctx context.Context, log *slog.Logger) (*access.Clusters, error) {
	cfg, err := h.OpenHome()
	if err != nil {
		return nil, err
	}
	return access.Open(ctx, cfg, h.access(log))
}

// access are the options by which clusters are reached.
func (h *HomeFlags) access(log *slog.Logger) access.Options {
	return access.Options{
		Owner: h.Owner, Namespace: h.Namespace, Timeout: h.Timeout, AllowPaths: h.allowPaths, AllowExec: h.allowExec, Log: log,
	}
}

// OpenManagement connects to the home cluster alone.
func (h *HomeFlags) OpenManagement(ctx context.Context) (*access.Home, error) {
	cfg, err := h.OpenHome()
	if err != nil {
		return nil, err
	}
	return access.OpenHome(ctx, cfg, cluster.Options{Owner: h.Owner, Namespace: h.Namespace, Timeout: h.Timeout})
}

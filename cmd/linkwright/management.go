package main

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

// openHome gives the configuration of the home cluster.
func (h *homeFlags) openHome() (*rest.Config, error) {
	if h.kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the home cluster: %w; outside a cluster, give --home-kubeconfig", err)
		}
		return cfg, nil
	}
	raw, err := os.ReadFile(h.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --home-kubeconfig: %w", err)
	}
	trust := cluster.Trust{Files: true, Exec: true, Dir: filepath.Dir(h.kubeconfig)} // the operator's own
	cfg, err := cluster.ParseKubeconfig(raw, "", trust)
	if err != nil {
		return nil, fmt.Errorf("read --home-kubeconfig %s: %w", h.kubeconfig, err)
	}
	return cfg, nil
}

// openClusters connects to the home cluster, and to others once they are followed.
func (h *homeFlags) openClusters(ctx context.Context, log *slog.Logger) (*access.Clusters, error) {
	cfg, err := h.openHome()
	if err != nil {
		return nil, err
	}
	return access.Open(ctx, cfg, h.access(log))
}

// access are the options by which clusters are reached.
func (h *homeFlags) access(log *slog.Logger) access.Options {
	return access.Options{
		Owner: h.owner, Namespace: h.namespace, Timeout: h.timeout, AllowPaths: h.allowPaths, AllowExec: h.allowExec, Log: log,
	}
}

// openManagement connects to the home cluster alone.
func (h *homeFlags) openManagement(ctx context.Context) (*access.Home, error) {
	cfg, err := h.openHome()
	if err != nil {
		return nil, err
	}
	return access.OpenHome(ctx, cfg, cluster.Options{Owner: h.owner, Namespace: h.namespace, Timeout: h.timeout})
}

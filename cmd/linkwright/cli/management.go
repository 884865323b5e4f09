package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
)

// OpenHome gives the configuration of the management cluster: that of the flags, of KUBECONFIG, of the cluster in which this runs, or
// of ~/.kube/config, the first of them that there is.
func (h *HomeFlags) OpenHome() (*rest.Config, error) {
	if h.Kubeconfig == "" && h.Context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if cfg, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
			return cfg, err
		}
	}
	file, raw, err := Kubeconfig(h.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the management cluster: %w; give --%skubeconfig", err, h.prefix)
	}
	cfg, err := Login(file, raw, h.Context)
	if err != nil {
		return nil, fmt.Errorf("find the management cluster: %w", err)
	}
	return cfg, nil
}

// OpenClusters connects to the management cluster, and to others once they are followed.
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

// OpenManagement connects to the management cluster alone.
func (h *HomeFlags) OpenManagement(ctx context.Context) (*access.Home, error) {
	cfg, err := h.OpenHome()
	if err != nil {
		return nil, err
	}
	return access.OpenHome(ctx, cfg, cluster.Options{Owner: h.Owner, Namespace: h.Namespace, Timeout: h.Timeout})
}

package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
)

// target is where an access leads to.
type target struct {
	stamp string // of what it was read from; empty: nothing tells whether that has changed
	cfg   *rest.Config
	err   error          // why it leads nowhere
	own   *ManagedAccess // how its token is renewed; nil: it is not
}

// inCluster is the stamp of the cluster that we run in: its token is read again by the connection itself.
const inCluster = "in the cluster"

// find returns where a cluster's access leads to: was, where that is still so.
func (c *accesses) find(ctx context.Context, w fleet.Cluster, was target) target {
	switch a := w.Spec.Access; {
	case a.InCluster && was.stamp == inCluster:
		return was
	case a.InCluster:
		cfg, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) && c.managementConfig != nil { // a person's machine: linkwright runs in the management cluster
			return target{stamp: inCluster, cfg: rest.CopyConfig(c.managementConfig)}
		}
		if err != nil {
			return target{err: fmt.Errorf("access.inCluster: %w", err)}
		}
		cfg.BearerToken = "" // that of the moment: it would make a difference with every rotation
		return target{stamp: inCluster, cfg: cfg}
	case a.Kubeconfig != nil:
		return c.fromFile(*a.Kubeconfig, was)
	case a.KubeconfigSecret != nil:
		return c.fromSecret(ctx, w.Name, *a.KubeconfigSecret, was)
	}
	return target{err: errors.New("access is empty: declare spec.access")}
}

func (c *accesses) fromFile(k api.KubeconfigFile, was target) target {
	if !c.options.AllowPaths {
		return target{err: fmt.Errorf("access.kubeconfig %s: linkwright reads files of this machine only with --allow-kubeconfig-paths; use access.kubeconfigSecret", k.Path)}
	}
	raw, err := os.ReadFile(k.Path)
	if err != nil {
		return target{err: fmt.Errorf("access.kubeconfig: %w", err)}
	}
	stamp := fmt.Sprintf("%q %q %x", k.Path, k.Context, sha256.Sum256(raw))
	if stamp == was.stamp {
		return was
	}
	cfg, err := cluster.ParseKubeconfig(raw, k.Context, cluster.Trust{Files: true, Exec: c.options.AllowExec, Dir: filepath.Dir(k.Path)})
	if err != nil {
		err = fmt.Errorf("access.kubeconfig %s: %w", k.Path, err)
	}
	return target{stamp: stamp, cfg: cfg, err: err}
}

func (c *accesses) fromSecret(ctx context.Context, name api.ClusterName, s api.SecretKey, was target) target {
	key := c.management.Key("Secret", s.Name)
	of, entry, _ := strings.Cut(was.stamp, "/")
	if entry != s.Key {
		of = ""
	}
	now, err := c.management.read(ctx, key, of)
	add := object.Installation{Owner: c.options.Owner, Namespace: c.options.Namespace}.Command("cluster add " + string(name) + " PATH --context CONTEXT")
	switch {
	case errors.Is(err, ErrNotFound):
		return target{err: fmt.Errorf("access.kubeconfigSecret: %w: correct the name, or run %s, or create it with a kubeconfig under the key %s", err, add, s.Key)}
	case apierrors.IsForbidden(err):
		return target{err: fmt.Errorf("access.kubeconfigSecret: %w: grant it with your own login: %s", err, add)}
	case err != nil:
		return target{err: fmt.Errorf("access.kubeconfigSecret: %w", err)}
	case now.Body.IsZero():
		return was
	}
	at := target{stamp: stampOf(now.Record) + "/" + s.Key}
	at.cfg, at.err = kubeconfigIn(key, s.Key, now.Body)
	if own, ok := ManagedAccessIn(now, s.Key); ok {
		at.own = &own
	}
	return at
}

func kubeconfigIn(secret object.Key, entry string, body object.Body) (*rest.Config, error) {
	var s corev1.Secret
	if err := decodeAs(secret, body, &s); err != nil {
		return nil, fmt.Errorf("access.kubeconfigSecret: %w", err)
	}
	if len(s.Data[entry]) == 0 {
		return nil, fmt.Errorf("access.kubeconfigSecret: %s in the management cluster has no key %s", secret, entry)
	}
	cfg, err := cluster.ParseKubeconfig(s.Data[entry], "", cluster.Trust{})
	if err != nil {
		return nil, fmt.Errorf("access.kubeconfigSecret: %s, key %s: %w", secret, entry, err)
	}
	return cfg, nil
}

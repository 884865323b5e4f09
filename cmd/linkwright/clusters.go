package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
)

const homeName api.ClusterName = "home"

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

// clusters opens connections by what declarations say of access.
type clusters struct {
	flags    *homeFlags
	homeCfg  *rest.Config
	home     *cluster.Registry
	registry *cluster.Registry
	failed   map[api.ClusterName]error
	address  map[api.ClusterName]string
}

func openClusters(ctx context.Context, h *homeFlags) (*clusters, error) {
	cfg, err := h.openHome()
	if err != nil {
		return nil, err
	}
	o := cluster.Options{Owner: h.owner, Timeout: h.timeout}
	c := &clusters{
		flags: h, homeCfg: cfg, home: cluster.New(o), registry: cluster.New(o),
		failed: map[api.ClusterName]error{}, address: map[api.ClusterName]string{},
	}
	return c, c.home.Spawn(ctx, homeName, cfg)
}

// conn is one open cluster as package sync sees it.
type conn struct {
	registry *cluster.Registry
	name     api.ClusterName
	address  string
}

// Observe implements sync.Cluster.
func (c conn) Observe(ctx context.Context, w []object.Watch) (seen object.Observation, err error) {
	err = c.registry.WithClient(ctx, c.name, func(cl *cluster.Client) error {
		seen, err = cl.Observe(ctx, w)
		return err
	})
	return seen, err
}

// Write implements sync.Cluster.
func (c conn) Write(ctx context.Context, ch object.Change) (now object.Record, err error) {
	err = c.registry.WithClient(ctx, c.name, func(cl *cluster.Client) error {
		now, err = cl.Write(ctx, ch)
		return err
	})
	return now, err
}

// Address implements sync.Cluster.
func (c conn) Address() string { return c.address }

func (c *clusters) homeConn() sync.Home {
	return sync.Home{Cluster: conn{c.home, homeName, c.homeCfg.Host}, Namespace: c.flags.namespace}
}

// Follow implements sync.Clusters.
func (c *clusters) Follow(ctx context.Context, want []fleet.Cluster) map[api.ClusterName]error {
	c.failed = map[api.ClusterName]error{}
	open := map[api.ClusterName]bool{}
	for _, w := range want {
		cfg, err := c.config(ctx, w.Spec.Access)
		if err == nil {
			c.address[w.Name] = cfg.Host
			err = c.registry.Replace(ctx, w.Name, cfg)
		}
		if err != nil {
			c.failed[w.Name] = err
			continue
		}
		open[w.Name] = true
	}
	for _, name := range c.registry.Names() {
		if !open[name] {
			if err := c.registry.Stop(ctx, name); err != nil && !errors.Is(err, cluster.ErrNotExist) && c.failed[name] == nil {
				c.failed[name] = err
			}
		}
	}
	return c.failed
}

// WithCluster implements sync.Clusters.
func (c *clusters) WithCluster(_ context.Context, name api.ClusterName, f func(sync.Cluster) error) error {
	if err := c.failed[name]; err != nil {
		return err
	}
	return f(conn{c.registry, name, c.address[name]})
}

// Token implements sync.Clusters.
func (c *clusters) Token(ctx context.Context, name api.ClusterName, r object.TokenRequest) (token object.Secret, err error) {
	if err := c.failed[name]; err != nil {
		return object.Secret{}, err
	}
	err = c.registry.WithClient(ctx, name, func(client *cluster.Client) error {
		token, err = client.Token(ctx, r)
		return err
	})
	return token, err
}

// close ends every connection.
func (c *clusters) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, name := range slices.Clone(c.registry.Names()) {
		_ = c.registry.Stop(ctx, name) // it only waits for calls in flight, and there are none
	}
	_ = c.home.Stop(ctx, homeName)
}

// config turns an access into a connection's configuration.
func (c *clusters) config(ctx context.Context, a api.Access) (*rest.Config, error) {
	switch {
	case a.InCluster:
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("access.inCluster: %w", err)
		}
		return cfg, nil
	case a.Kubeconfig != nil:
		return c.fromFile(*a.Kubeconfig)
	case a.KubeconfigSecret != nil:
		return c.fromSecret(ctx, *a.KubeconfigSecret)
	}
	return nil, errors.New("access names nothing")
}

func (c *clusters) fromFile(k api.KubeconfigFile) (*rest.Config, error) {
	if !c.flags.allowPaths {
		return nil, fmt.Errorf("access.kubeconfig %s: files of this machine count only with --allow-kubeconfig-paths; use access.kubeconfigSecret", k.Path)
	}
	raw, err := os.ReadFile(k.Path)
	if err != nil {
		return nil, fmt.Errorf("access.kubeconfig: %w", err)
	}
	cfg, err := cluster.ParseKubeconfig(raw, k.Context, cluster.Trust{Files: true, Exec: c.flags.allowExec, Dir: filepath.Dir(k.Path)})
	if err != nil {
		return nil, fmt.Errorf("access.kubeconfig %s: %w", k.Path, err)
	}
	return cfg, nil
}

func (c *clusters) fromSecret(ctx context.Context, s api.SecretKey) (*rest.Config, error) {
	key := c.secretKey(s.Name)
	data, err := c.secret(ctx, s.Name)
	if errors.Is(err, errNoSecret) {
		return nil, fmt.Errorf("access.kubeconfigSecret: %w: create it with a kubeconfig under the key %s", err, s.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("access.kubeconfigSecret: %w", err)
	}
	if len(data[s.Key]) == 0 {
		return nil, fmt.Errorf("access.kubeconfigSecret: %s in the home cluster has no key %s", key, s.Key)
	}
	cfg, err := cluster.ParseKubeconfig(data[s.Key], "", cluster.Trust{})
	if err != nil {
		return nil, fmt.Errorf("access.kubeconfigSecret: %s, key %s: %w", key, s.Key, err)
	}
	return cfg, nil
}

// errNoSecret says that the home cluster answers and has no such Secret or ConfigMap.
var errNoSecret = errors.New("is missing in the home cluster")

func (c *clusters) secretKey(name string) object.Key {
	return object.Key{Kind: "Secret", Namespace: c.flags.namespace, Name: name}
}

// secret reads a Secret of our namespace in the home cluster, anew for every call. Its errors name it.
func (c *clusters) secret(ctx context.Context, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := c.read(ctx, c.secretKey(name), &secret)
	return secret.Data, err
}

// configMap is secret for a ConfigMap.
func (c *clusters) configMap(ctx context.Context, name string) (map[string][]byte, error) {
	var config corev1.ConfigMap
	err := c.read(ctx, object.Key{Kind: "ConfigMap", Namespace: c.flags.namespace, Name: name}, &config)
	out := map[string][]byte{}
	maps.Copy(out, config.BinaryData)
	for entry, text := range config.Data {
		out[entry] = []byte(text)
	}
	return out, err
}

// read decodes one object of version v1 of the home cluster.
func (c *clusters) read(ctx context.Context, key object.Key, into any) error {
	seen, err := c.homeConn().Cluster.Observe(ctx, []object.Watch{
		{Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return fmt.Errorf("%s in the home cluster: %w", key, err)
	}
	body, ok := seen.Body(key)
	if !ok {
		return fmt.Errorf("%s %w", key, errNoSecret)
	}
	if json.Unmarshal(body.Bytes(), into) != nil {
		return fmt.Errorf("%s in the home cluster is no %s", key, key.Kind) // what was read is not repeated
	}
	return nil
}

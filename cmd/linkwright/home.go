package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	gosync "sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
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

// home reads what is ours in the home cluster: Secrets and ConfigMaps of one namespace.
type home struct {
	conn      conn
	namespace string

	mu   gosync.Mutex
	kept map[object.Key]kept // what flags name, as it was read last; mu
}

// kept is an object, and the stamp of what it was read from.
type kept struct {
	stamp string
	body  object.Body
}

func newHome(ctx context.Context, cfg *rest.Config, o cluster.Options, namespace string) (*home, error) {
	r := cluster.New(o)
	h := &home{conn: conn{r, homeName, cfg.Host}, namespace: namespace, kept: map[object.Key]kept{}}
	return h, r.Spawn(ctx, homeName, cfg)
}

func (h *home) close(ctx context.Context) { _ = h.conn.registry.Stop(ctx, homeName) } // as of the others

// errNoSecret says that the home cluster answers and has no such Secret or ConfigMap.
var errNoSecret = errors.New("is missing in the home cluster")

// unread says that the home cluster does not tell: what it holds may be as before.
type unread struct{ error }

func (h *home) key(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: h.namespace, Name: name}
}

// secret gives a Secret of our namespace as it is now. Its errors name it.
func (h *home) secret(ctx context.Context, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := h.decode(ctx, h.key("Secret", name), &secret)
	return secret.Data, err
}

// configMap is secret for a ConfigMap.
func (h *home) configMap(ctx context.Context, name string) (map[string][]byte, error) {
	var config corev1.ConfigMap
	err := h.decode(ctx, h.key("ConfigMap", name), &config)
	out := map[string][]byte{}
	maps.Copy(out, config.BinaryData)
	for entry, text := range config.Data {
		out[entry] = []byte(text)
	}
	return out, err
}

func (h *home) decode(ctx context.Context, key object.Key, into any) error {
	h.mu.Lock()
	was := h.kept[key]
	h.mu.Unlock()
	now, err := h.read(ctx, key, was)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		delete(h.kept, key)
		return err
	}
	h.kept[key] = now
	return decodeAs(key, now.body, into)
}

// decodeAs repeats nothing of what it reads.
func decodeAs(key object.Key, body object.Body, into any) error {
	if json.Unmarshal(body.Bytes(), into) != nil {
		return fmt.Errorf("%s in the home cluster is no %s", key, key.Kind)
	}
	return nil
}

// read gives a Secret or ConfigMap of version v1: was, where that is still what it is.
func (h *home) read(ctx context.Context, key object.Key, was kept) (kept, error) {
	seen, err := h.conn.Observe(ctx, []object.Watch{
		{Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return kept{}, unread{fmt.Errorf("%s in the home cluster: %w", key, err)}
	}
	body, ok := seen.Body(key)
	if !ok {
		return kept{}, fmt.Errorf("%s %w", key, errNoSecret)
	}
	if now := (kept{stampOf(seen.Record(key)), body}); now.stamp != was.stamp {
		return now, nil
	}
	return was, nil
}

func stampOf(r object.Record) string { return r.UID + " " + r.ResourceVersion }

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	gosync "sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// home reads what is ours in the home cluster: Secrets and ConfigMaps of one namespace. A daemon keeps watches on the metadata of the
// ConfigMaps and of each Secret that it needs open, and asks for an object when it is wanted and has changed. It has no right on other Secrets.
type home struct {
	conn      conn
	namespace string
	watches   bool // else every read is a request
	log       *slog.Logger
	unwatched gosync.Once // says that we may not watch

	mu    gosync.Mutex
	kept  map[object.Key]kept // what flags name, and the record, as read last; mu
	names []string            // of the Secrets that are watched, sorted; mu
	looks []object.Watch      // mu; not changed any more once it was handed over
}

// kept is an object as it was read.
type kept struct {
	record object.Record
	body   object.Body
}

func newHome(ctx context.Context, cfg *rest.Config, o cluster.Options, namespace string) (*home, error) {
	r := cluster.New(o)
	h := &home{
		conn: conn{registry: r, name: homeName}, namespace: namespace, log: slog.New(slog.DiscardHandler), kept: map[object.Key]kept{},
	}
	return h, r.Spawn(ctx, homeName, cfg)
}

func (h *home) close(ctx context.Context) { _ = h.conn.registry.Stop(ctx, homeName) } // as of the others

// errNoSecret says that the home cluster answers and has no such Secret or ConfigMap.
var errNoSecret = errors.New("is missing in the home cluster")

// unread says that the home cluster does not tell: what it holds may be as before.
type unread struct{ error }

// Unwrap gives what kept it from being read.
func (u unread) Unwrap() error { return u.error }

func (h *home) key(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: h.namespace, Name: name}
}

// secret gives a Secret of our namespace as it is now. Its errors name it.
func (h *home) secret(ctx context.Context, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := h.decode(ctx, h.key("Secret", name), &secret)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w: name it in the Role linkwright-secrets of namespace %s (deploy/home)", err, h.namespace)
	}
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
	now, err := h.recent(ctx, key)
	if err != nil {
		return err
	}
	return decodeAs(key, now.body, into)
}

// recent is read, and keeps what it gives for the next time.
func (h *home) recent(ctx context.Context, key object.Key) (kept, error) {
	h.mu.Lock()
	was := h.kept[key]
	h.mu.Unlock()
	now, err := h.read(ctx, key, stampOf(was.record))
	if err == nil && now.body.IsZero() {
		return was, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept[key] = now; errors.Is(err, errNoSecret) {
		delete(h.kept, key)
	}
	return now, err
}

// decodeAs repeats nothing of what it reads.
func decodeAs(key object.Key, body object.Body, into any) error {
	if json.Unmarshal(body.Bytes(), into) != nil {
		return fmt.Errorf("%s in the home cluster is no %s", key, key.Kind)
	}
	return nil
}

// read gives a Secret or ConfigMap of version v1; without a body, where it still has the stamp.
func (h *home) read(ctx context.Context, key object.Key, stamp string) (kept, error) {
	seen, watched, err := h.watched(ctx, key)
	switch {
	case err != nil:
		return kept{}, unread{fmt.Errorf("%s in the home cluster: %w", key, err)}
	case watched && seen.IsZero():
		return kept{}, fmt.Errorf("%s %w", key, errNoSecret)
	case watched && stampOf(seen) == stamp:
		return kept{record: seen}, nil
	}
	return h.ask(ctx, key, stamp)
}

// ask is read by a request.
func (h *home) ask(ctx context.Context, key object.Key, stamp string) (kept, error) {
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
	if now := seen.Record(key); stampOf(now) == stamp {
		return kept{record: now}, nil
	}
	return kept{seen.Record(key), body}, nil
}

// stampOf tells one state of an object from all others of it and of its namesakes; empty: there is none.
func stampOf(r object.Record) string {
	if r.IsZero() {
		return ""
	}
	return r.UID + " " + r.ResourceVersion
}

// watched is what the watches show of an object; false: there are none, or none are allowed.
func (h *home) watched(ctx context.Context, key object.Key) (object.Record, bool, error) {
	if !h.watches {
		return object.Record{}, false, nil
	}
	if key.Kind == "Secret" {
		h.follow(key.Name)
	}
	seen, err := h.conn.Live(ctx, h.watchList())
	if why := seen.Hides(key); err == nil && why != nil {
		h.unwatched.Do(func() {
			h.log.Warn("the management cluster is asked in every sync for what linkwright may not watch there: grant get, list and watch on it, as deploy/home and linkwright cluster add do",
				"object", key.String())
		})
		return object.Record{}, false, nil
	}
	return seen.Record(key), err == nil, err
}

// follow has the watches show these Secrets, too.
func (h *home) follow(secrets ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range secrets {
		if at, known := slices.BinarySearch(h.names, name); !known {
			h.names, h.looks = slices.Insert(h.names, at, name), nil
		}
	}
}

// watchList is what is watched now.
func (h *home) watchList() []object.Watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.looks == nil {
		h.looks = []object.Watch{{Version: "v1", Kind: "ConfigMap", Namespace: h.namespace, Versions: true, MayHide: true}}
		if len(h.names) > 0 { // without names all would be asked for
			h.looks = append(h.looks, object.Watch{Version: "v1", Kind: "Secret", Namespace: h.namespace, Names: slices.Clone(h.names), Versions: true, MayHide: true})
		}
	}
	return h.looks
}

// moved has a word in it once something that is watched has changed. What it was, stamps tell.
func (h *home) moved() <-chan struct{} { return h.conn.registry.Moved() }

// Observe implements sync.Cluster.
func (h *home) Observe(ctx context.Context, w []object.Watch) (object.Observation, error) {
	return h.conn.Observe(ctx, w)
}

// Write implements sync.Cluster.
func (h *home) Write(ctx context.Context, ch object.Change) (object.Record, error) {
	return h.conn.Write(ctx, ch)
}

// Live implements sync.Cluster for single ConfigMaps of our namespace, such as the record.
func (h *home) Live(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	var items []object.Item
	for _, w := range watches {
		for _, name := range w.Names {
			key := object.Key{Kind: w.Kind, Namespace: w.Namespace, Name: name}
			if key != h.key("ConfigMap", name) {
				return object.Observation{}, fmt.Errorf("%s is nothing that is watched in the home cluster", key)
			}
			now, err := h.recent(ctx, key)
			if err == nil {
				items = append(items, object.Item{Namespace: w.Namespace, Name: name, Record: now.record, Body: now.body})
			} else if !errors.Is(err, errNoSecret) {
				return object.Observation{}, err
			}
		}
	}
	slices.SortFunc(items, object.Item.Compare)
	return object.NewObservation(nil, object.Layer{Kind: "ConfigMap", Items: items}), nil
}

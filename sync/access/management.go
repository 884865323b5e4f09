package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	gosync "sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/cluster"
)

const managementName api.ClusterName = "management"

// ManagementCluster reads what is linkwright's in the management cluster: Secrets and ConfigMaps of one namespace. A daemon keeps watches on the metadata of the
// ConfigMaps and of each Secret that it needs open, and asks for an object when it is wanted and has changed. It has no right on other Secrets.
type ManagementCluster struct {
	Namespace string
	Chosen    string // how a person chose it, such as a context of a kubeconfig, for errors; empty: nobody knows
	server    string // its address
	conn      conn
	watches   bool // else every read is a request
	log       *slog.Logger
	unwatched gosync.Once // says that we may not watch

	mu    gosync.Mutex
	kept  map[object.Key]CachedObject // what flags name, and the record, as read last; mu
	names []string                    // of the Secrets that are watched, sorted; mu
	reads []object.Watch              // mu; not changed any more once it was handed over
}

// CachedObject is an object as it was read; zero: there is none.
type CachedObject struct {
	Record object.Record
	Body   object.Body
}

// OpenManagementCluster connects to the management cluster alone. Its namespace is that of the options.
func OpenManagementCluster(ctx context.Context, cfg *rest.Config, o cluster.Options) (*ManagementCluster, error) {
	r := cluster.New(o)
	h := &ManagementCluster{
		Namespace: o.Namespace, server: cfg.Host, conn: conn{registry: r, name: managementName}, log: slog.New(slog.DiscardHandler), kept: map[object.Key]CachedObject{},
	}
	return h, r.Spawn(ctx, managementName, cfg)
}

// Close ends the connection.
func (h *ManagementCluster) Close(ctx context.Context) { _ = h.conn.registry.Stop(ctx, managementName) } // as of the others

// Watch has reads go by watches from now on, as far as they are allowed.
func (h *ManagementCluster) Watch() { h.watches = true }

// ErrNotFound says that the management cluster answers and has no such Secret or ConfigMap.
var ErrNotFound = errors.New("is missing in the management cluster")

// unreadable says that the management cluster does not tell: what it holds may be as before.
type unreadable struct{ error }

// Unwrap returns what kept it from being read.
func (u unreadable) Unwrap() error { return u.error }

// Key returns that of an object in linkwright's namespace.
func (h *ManagementCluster) Key(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: h.Namespace, Name: name}
}

// Secret returns a Secret of linkwright's namespace as it is now. Its errors name it.
func (h *ManagementCluster) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := h.decode(ctx, h.Key("Secret", name), &secret)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w: name it in the Role linkwright-secrets of namespace %s (deploy/management)", err, h.Namespace)
	}
	return secret.Data, err
}

// ConfigMap is Secret for a ConfigMap.
func (h *ManagementCluster) ConfigMap(ctx context.Context, name string) (map[string][]byte, error) {
	var config corev1.ConfigMap
	err := h.decode(ctx, h.Key("ConfigMap", name), &config)
	out := map[string][]byte{}
	maps.Copy(out, config.BinaryData)
	for entry, text := range config.Data {
		out[entry] = []byte(text)
	}
	return out, err
}

func (h *ManagementCluster) decode(ctx context.Context, key object.Key, into any) error {
	now, err := h.recent(ctx, key)
	if err != nil {
		return err
	}
	return decodeAs(key, now.Body, into)
}

// recent is read, and keeps what it gives for the next time.
func (h *ManagementCluster) recent(ctx context.Context, key object.Key) (CachedObject, error) {
	h.mu.Lock()
	was := h.kept[key]
	h.mu.Unlock()
	now, err := h.read(ctx, key, stampOf(was.Record))
	if err == nil && now.Body.IsZero() {
		return was, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept[key] = now; errors.Is(err, ErrNotFound) {
		delete(h.kept, key)
	}
	return now, err
}

// decodeAs repeats nothing of what it reads.
func decodeAs(key object.Key, body object.Body, into any) error {
	if json.Unmarshal(body.Bytes(), into) != nil {
		return fmt.Errorf("%s in the management cluster is not a %s", key, key.Kind)
	}
	return nil
}

// read returns a Secret or ConfigMap of version v1; without a body, where it still has the stamp.
func (h *ManagementCluster) read(ctx context.Context, key object.Key, stamp string) (CachedObject, error) {
	observed, watched, err := h.watched(ctx, key)
	switch {
	case err != nil:
		return CachedObject{}, unreadable{fmt.Errorf("%s in the management cluster: %w", key, err)}
	case watched && observed.IsZero():
		return CachedObject{}, fmt.Errorf("%s %w", key, ErrNotFound)
	case watched && stampOf(observed) == stamp:
		return CachedObject{Record: observed}, nil
	}
	return h.Ask(ctx, key, stamp)
}

// Ask reads an object by a request; without a body if it still has the stamp.
func (h *ManagementCluster) Ask(ctx context.Context, key object.Key, stamp string) (CachedObject, error) {
	observed, err := h.conn.Observe(ctx, []object.Watch{
		{Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return CachedObject{}, unreadable{fmt.Errorf("%s in the management cluster: %w", key, err)}
	}
	body, ok := observed.Body(key)
	if !ok {
		return CachedObject{}, fmt.Errorf("%s %w", key, ErrNotFound)
	}
	if now := observed.Record(key); stampOf(now) == stamp {
		return CachedObject{Record: now}, nil
	}
	return CachedObject{observed.Record(key), body}, nil
}

// stampOf distinguishes one state of an object from all others of it and of its namesakes; empty: there is none.
func stampOf(r object.Record) string {
	if r.IsZero() {
		return ""
	}
	return r.UID + " " + r.ResourceVersion
}

// watched returns what the watches show of an object; false: there are none, or none are allowed.
func (h *ManagementCluster) watched(ctx context.Context, key object.Key) (object.Record, bool, error) {
	if !h.watches {
		return object.Record{}, false, nil
	}
	if key.Kind == "Secret" {
		h.follow(key.Name)
	}
	observed, err := h.conn.Live(ctx, h.watchList())
	if why := observed.Hides(key); err == nil && why != nil {
		h.unwatched.Do(func() {
			h.log.Warn("linkwright may not watch an object in the management cluster, so each sync reads it again: grant get, list and watch on it, as deploy/management and linkwright cluster add do",
				"object", key.String())
		})
		return object.Record{}, false, nil
	}
	return observed.Record(key), err == nil, err
}

// follow has the watches show these Secrets, too.
func (h *ManagementCluster) follow(secrets ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range secrets {
		if at, known := slices.BinarySearch(h.names, name); !known {
			h.names, h.reads = slices.Insert(h.names, at, name), nil
		}
	}
}

// watchList returns what is watched now.
func (h *ManagementCluster) watchList() []object.Watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reads == nil {
		h.reads = []object.Watch{{Version: "v1", Kind: "ConfigMap", Namespace: h.Namespace, Versions: true, MayBeForbidden: true}}
		if len(h.names) > 0 { // without names all would be asked for
			h.reads = append(h.reads, object.Watch{Version: "v1", Kind: "Secret", Namespace: h.Namespace, Names: slices.Clone(h.names), Versions: true, MayBeForbidden: true})
		}
	}
	return h.reads
}

// moved has a word in it once something that is watched has changed. What it was, stamps tell.
func (h *ManagementCluster) moved() <-chan struct{} { return h.conn.registry.Moved() }

// Observe implements object.Cluster.
func (h *ManagementCluster) Observe(ctx context.Context, w []object.Watch) (object.Observation, error) {
	seen, err := h.conn.Observe(ctx, w)
	return seen, h.Unanswered(err)
}

// Which says which cluster it is: its address, and how a person chose it.
func (h *ManagementCluster) Which() string {
	if h.Chosen == "" {
		return h.server
	}
	return h.server + " (" + h.Chosen + ")"
}

// Unanswered adds to the error of a request without an answer which cluster that is, and what to do.
func (h *ManagementCluster) Unanswered(err error) error {
	if !cluster.Unanswered(err) {
		return err
	}
	which := "the management cluster"
	if h.Chosen != "" {
		which += " (" + h.Chosen + ")"
	}
	return fmt.Errorf("%s does not answer: %w; check that its API server is up, and that this is the kubeconfig and the context of the management cluster", which, err)
}

// Write implements object.Cluster.
func (h *ManagementCluster) Write(ctx context.Context, ch object.Change) (object.Record, error) {
	return h.conn.Write(ctx, ch)
}

// DryRun has the management cluster judge a change by dryRun=All, and writes nothing.
func (h *ManagementCluster) DryRun(ctx context.Context, ch object.Change) error {
	return h.conn.dryRun(ctx, ch)
}

// Live implements object.Cluster for single ConfigMaps of linkwright's namespace, such as the record.
func (h *ManagementCluster) Live(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	var items []object.Item
	for _, w := range watches {
		for _, name := range w.Names {
			key := object.Key{Kind: w.Kind, Namespace: w.Namespace, Name: name}
			if key != h.Key("ConfigMap", name) {
				return object.Observation{}, fmt.Errorf("linkwright does not watch %s in the management cluster", key)
			}
			now, err := h.recent(ctx, key)
			if err == nil {
				items = append(items, object.Item{Namespace: w.Namespace, Name: name, Record: now.Record, Body: now.Body})
			} else if !errors.Is(err, ErrNotFound) {
				return object.Observation{}, err
			}
		}
	}
	slices.SortFunc(items, object.Item.Compare)
	return object.NewObservation(nil, object.Layer{Kind: "ConfigMap", Items: items}), nil
}

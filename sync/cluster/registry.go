package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
)

// What a registry answers about names.
var (
	ErrAlreadyExist = errors.New("cluster already exists")
	ErrNotExist     = errors.New("cluster does not exist")
)

// Registry holds the open clusters by name.
type Registry struct {
	opts Options

	mu   sync.Mutex
	open map[api.ClusterName]*entry
}

// entry is one open cluster; users and left are guarded by the registry's lock.
type entry struct {
	client *Client
	cfg    *rest.Config
	users  int
	left   bool          // out of the registry: the last user closes it
	closed chan struct{} // after the last user
}

// New gives an empty registry.
func New(o Options) *Registry {
	return &Registry{opts: o, open: map[api.ClusterName]*entry{}}
}

// Spawn opens a cluster without dialling it. It fails with ErrAlreadyExist for a name that is open,
// also with an equal configuration.
func (r *Registry) Spawn(_ context.Context, name api.ClusterName, cfg *rest.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.open[name]; ok {
		return fmt.Errorf("spawn cluster %s: %w", name, ErrAlreadyExist)
	}
	return r.put(name, cfg)
}

// Replace opens a cluster, or exchanges its connection when the configuration differs. Callbacks in
// flight end on the connection they began with, which is then closed.
func (r *Registry) Replace(_ context.Context, name api.ClusterName, cfg *rest.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.open[name]
	if ok && equal(old.cfg, cfg) {
		return nil
	}
	if err := r.put(name, cfg); err != nil {
		return err
	}
	if ok {
		old.leave()
	}
	return nil
}

func (r *Registry) put(name api.ClusterName, cfg *rest.Config) error {
	o := r.opts
	o.name = name
	client, err := connect(cfg, o)
	if err != nil {
		return fmt.Errorf("open cluster %s: %w", name, err)
	}
	r.open[name] = &entry{client: client, cfg: rest.CopyConfig(cfg), closed: make(chan struct{})}
	return nil
}

// Stop closes a cluster: no callback begins any more, and Stop returns when those in flight have
// ended or ctx has; then they are on their own. It fails with ErrNotExist for a name that is not open.
// A callback must not stop its own cluster.
func (r *Registry) Stop(ctx context.Context, name api.ClusterName) error {
	r.mu.Lock()
	e, ok := r.open[name]
	if ok {
		delete(r.open, name)
		e.leave()
	}
	r.mu.Unlock()
	if !ok {
		return fmt.Errorf("stop cluster %s: %w", name, ErrNotExist)
	}
	select {
	case <-e.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop cluster %s: callbacks are still in flight: %w", name, ctx.Err())
	}
}

// WithClient calls f with the cluster's client, which is f's only until it returns. It fails with
// ErrNotExist for a name that is not open, else with what f returns.
func (r *Registry) WithClient(_ context.Context, name api.ClusterName, f func(*Client) error) error {
	r.mu.Lock()
	e, ok := r.open[name]
	if ok {
		e.users++
	}
	r.mu.Unlock()
	if !ok {
		return fmt.Errorf("use cluster %s: %w", name, ErrNotExist)
	}
	defer r.done(e)
	return f(e.client)
}

func (r *Registry) done(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.users--
	e.closeUnused()
}

// leave is called once, under the lock, when the entry is out of the registry.
func (e *entry) leave() {
	e.left = true
	e.closeUnused()
}

func (e *entry) closeUnused() {
	if e.left && e.users == 0 {
		e.client.close()
		close(e.closed)
	}
}

// Names gives the open clusters in order.
func (r *Registry) Names() []api.ClusterName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.open))
}

// equal says that two configurations lead to the same cluster by the same credentials. Functions
// have no equality: proxies are compared by where they lead, any other function makes a difference.
func equal(a, b *rest.Config) bool {
	if !slices.Equal(proxies(a), proxies(b)) {
		return false
	}
	a, b = rest.CopyConfig(a), rest.CopyConfig(b)
	a.Proxy, b.Proxy = nil, nil
	return reflect.DeepEqual(a, b)
}

func proxies(c *rest.Config) []string {
	if c.Proxy == nil {
		return nil
	}
	to, err := http.NewRequest(http.MethodGet, c.Host, nil)
	if err != nil {
		return []string{err.Error()}
	}
	proxy, err := c.Proxy(to)
	if err != nil || proxy == nil {
		return []string{fmt.Sprint(err)}
	}
	return []string{proxy.String()}
}

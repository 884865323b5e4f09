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

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// What a registry answers about names.
var (
	ErrAlreadyExist = errors.New("cluster already exists")
	ErrNotExist     = errors.New("cluster does not exist")
)

// Registry holds the open clusters by name.
type Registry struct {
	opts  Options
	moved chan struct{} // capacity 1

	mu   sync.Mutex
	open map[api.ClusterName]*entry
}

// entry is one open cluster; all but client and cfg are guarded by the registry's lock.
type entry struct {
	client  *Client
	cfg     *rest.Config
	users   int
	closing bool          // out of the registry: the last user closes it
	closed  chan struct{} // after the last user, when nothing of the client runs any more
	swap    bool          // it took another's place: all is to be judged again
}

// New returns an empty registry.
func New(o Options) *Registry {
	return &Registry{opts: o.withDefaults(), moved: make(chan struct{}, 1), open: map[api.ClusterName]*entry{}}
}

// Moved has a word in it once something moved in a cluster: Take says what.
func (r *Registry) Moved() <-chan struct{} { return r.moved }

// Take returns what moved since it was last asked in those clusters that Live reads, of each that has moves: what a step can depend on became
// otherwise, or the watches of it broke or healed. What Write just wrote is no move.
func (r *Registry) Take() map[api.ClusterName]object.ChangedKeys {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[api.ClusterName]object.ChangedKeys{}
	for name, e := range r.open {
		m, ok := e.client.feeds.take()
		if e.swap {
			m, ok, e.swap = object.ChangedKeys{All: true}, true, false
		}
		if ok {
			out[name] = m
		}
	}
	return out
}

// Spawn opens a cluster without dialling it. It fails with ErrAlreadyExist for a name that is open,
// also with an equal configuration.
func (r *Registry) Spawn(_ context.Context, name api.ClusterName, cfg *rest.Config) error {
	next, err := r.entry(name, cfg)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.open[name]; ok {
		return fmt.Errorf("spawn cluster %s: %w", name, ErrAlreadyExist)
	}
	r.open[name] = next
	return nil
}

// Replace opens a cluster, or exchanges its connection when the configuration differs. What was watched by the old one is
// watched by the new one before it takes its place, which waits until that is complete or fails, at most the timeout of
// one request. Callbacks in flight end on the connection they began with, which is then closed. It fails with ErrNotExist
// for a name that was stopped meanwhile.
func (r *Registry) Replace(ctx context.Context, name api.ClusterName, cfg *rest.Config) error {
	r.mu.Lock()
	old := r.open[name]
	r.mu.Unlock()
	if old != nil && equal(old.cfg, cfg) {
		return nil
	}
	next, err := r.entry(name, cfg)
	if err != nil {
		return err
	}
	if old != nil {
		next.follow(ctx, old)
	}
	r.mu.Lock()
	now := r.open[name]
	swap := now == old && ctx.Err() == nil
	if swap {
		r.open[name] = next
	}
	r.mu.Unlock()
	switch {
	case !swap:
		next.client.close()
		return exchangeSuperseded(ctx, name, now)
	case old != nil:
		r.release(old)
		notify(r.moved)
	}
	return nil
}

// follow has an entry watch what another one does. Whether that succeeds is seen when it is used.
func (e *entry) follow(ctx context.Context, old *entry) {
	if watches := old.client.feeds.watched(); len(watches) > 0 {
		_, _ = e.client.Live(ctx, watches)
		e.swap = true
	}
}

// exchangeSuperseded returns why a connection was not exchanged.
func exchangeSuperseded(ctx context.Context, name api.ClusterName, now *entry) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("replace cluster %s: %w", name, ctx.Err())
	case now == nil:
		return fmt.Errorf("replace cluster %s: %w", name, ErrNotExist)
	}
	return fmt.Errorf("replace cluster %s: %w", name, ErrAlreadyExist)
}

func (r *Registry) entry(name api.ClusterName, cfg *rest.Config) (*entry, error) {
	o := r.opts
	o.name, o.notify = name, func() { notify(r.moved) }
	client, err := connect(cfg, o)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	return &entry{client: client, cfg: rest.CopyConfig(cfg), closed: make(chan struct{})}, nil
}

// Stop closes a cluster: no callback begins any more, and Stop returns when those in flight have
// ended or ctx has; then they are on their own. It fails with ErrNotExist for a name that is not open.
// A callback must not stop its own cluster.
func (r *Registry) Stop(ctx context.Context, name api.ClusterName) error {
	r.mu.Lock()
	e, ok := r.open[name]
	delete(r.open, name)
	r.mu.Unlock()
	if !ok {
		return fmt.Errorf("stop cluster %s: %w", name, ErrNotExist)
	}
	r.release(e)
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

// Config returns how to reach a cluster with a client of one's own, whose requests have no timeout and are seen by Options.Wrap. It fails with
// ErrNotExist for a name that is not open.
func (r *Registry) Config(name api.ClusterName) (*rest.Config, error) {
	r.mu.Lock()
	e, ok := r.open[name]
	r.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("use cluster %s: %w", name, ErrNotExist)
	}
	cfg := rest.CopyConfig(e.cfg)
	cfg.QPS, cfg.RateLimiter, cfg.Timeout, cfg.UserAgent = -1, nil, 0, r.opts.UserAgent
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	cfg.ContentType = runtime.ContentTypeProtobuf
	if r.opts.Wrap != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return r.opts.Wrap(name, next) })
	}
	return cfg, nil
}

func (r *Registry) done(e *entry) {
	r.mu.Lock()
	e.users--
	last := e.closing && e.users == 0
	r.mu.Unlock()
	if last {
		e.close()
	}
}

// release is called once, when the entry is out of the registry.
func (r *Registry) release(e *entry) {
	r.mu.Lock()
	e.closing = true
	unused := e.users == 0
	r.mu.Unlock()
	if unused {
		e.close()
	}
}

// close is called once, by who saw the last user go.
func (e *entry) close() {
	e.client.close()
	close(e.closed)
}

// Names returns the open clusters in order.
func (r *Registry) Names() []api.ClusterName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.open))
}

// equal reports whether two configurations lead to the same cluster by the same credentials. Functions have no equality: proxies are compared by
// where they lead, any other function makes a difference.
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

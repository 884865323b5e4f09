// Package access connects to clusters. It opens connections as declarations tell it, and exchanges a connection when its access changes. It also
// reads the management cluster, which has the access Secrets and the record.
package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	gosync "sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/verify"
	"github.com/linkwright/linkwright/sync/web"
)

// Options say who linkwright is and what it may use.
type Options struct {
	Owner, Namespace string        // of the installation; of the management cluster: access Secrets, record
	Timeout          time.Duration // of one request to a cluster
	AllowPaths       bool          // declarations may name kubeconfigs of this machine
	AllowExec        bool          // these may start credential plugins
	Chosen           string        // which management cluster it is, for errors: as of ManagementCluster
	Log              *slog.Logger
}

// Clusters opens connections by what declarations say of access. Reconciles of a sync that is over may still use it.
type Clusters struct {
	*connections
	traffic  *traffic
	recorded chan struct{} // capacity 1: something in the management cluster moved, such as the record
}

// accesses are where declared clusters are reached.
type accesses struct {
	options          Options
	management       *ManagementCluster
	managementConfig *rest.Config

	following gosync.Mutex    // held while it is found out what the declared accesses lead to
	want      []fleet.Cluster // following
	mu        gosync.Mutex
	entries   map[api.ClusterName]*entry // those declared; mu
}

// connections are made by accesses, and exchanged once these lead elsewhere.
type connections struct {
	*accesses
	registry  *cluster.Registry
	grace     time.Duration            // of Follow, for connections that are exchanged
	exchanges gosync.WaitGroup         // that Follow began
	moves     chan struct{}            // capacity 1: something is to be taken
	elsewhere map[api.ClusterName]bool // exchanged between syncs, and not taken yet; accesses.mu
}

// entry is one declared cluster.
type entry struct {
	target                          // as it was found last; accesses.mu
	controlPlane string             // namespace of Linkerd's; accesses.mu
	exchanging   gosync.Mutex       // held while the connection is made or exchanged: the place that was found last is what remains
	begun        int                // exchanges, so far; accesses.mu
	end          context.CancelFunc // of the last of them; nil: there was none; accesses.mu
}

// Open connects to the management cluster, and to no other yet. An error is about its configuration.
func Open(ctx context.Context, management *rest.Config, o Options) (*Clusters, error) {
	c := newClusters(o)
	c.managementConfig = management
	to := cluster.Options{Owner: o.Owner, Namespace: o.Namespace, Timeout: o.Timeout, Wrap: c.count}
	c.registry = cluster.New(to)
	to.Wrap = func(_ api.ClusterName, next http.RoundTripper) http.RoundTripper {
		return c.traffic.through(managementLabel, next, always(aboutObjects))
	}
	var err error
	c.management, err = OpenManagementCluster(ctx, management, to)
	c.management.log, c.management.Chosen = o.Log, o.Chosen
	return c, err
}

func newClusters(o Options) *Clusters {
	return &Clusters{
		connections: &connections{
			accesses: &accesses{options: o, entries: map[api.ClusterName]*entry{}},
			grace:    exchangeGrace, moves: make(chan struct{}, 1), elsewhere: map[api.ClusterName]bool{},
		},
		traffic: newTraffic(), recorded: make(chan struct{}, 1),
	}
}

// Management returns the management cluster.
func (c *Clusters) Management() *ManagementCluster { return c.management }

// Requests counts what was sent to clusters so far.
func (c *Clusters) Requests() map[web.Sent]int { return c.traffic.counts() }

// LeaseConfig returns the configuration of the management cluster for the lease, whose requests count apart.
func (c *Clusters) LeaseConfig() *rest.Config {
	cfg := rest.CopyConfig(c.managementConfig)
	cfg.QPS = -1 // there may be a lease for each cluster
	cfg.Timeout = c.options.Timeout
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return c.traffic.through(managementLabel, next, always(aboutLease))
	})
	return cfg
}

// EventConfig returns the configuration of the management cluster for Events, whose requests count apart.
func (c *Clusters) EventConfig() *rest.Config {
	cfg := rest.CopyConfig(c.managementConfig)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return c.traffic.through(managementLabel, next, always(aboutEvents))
	})
	return cfg
}

// WithClient calls f with the client of a cluster.
func (c *Clusters) WithClient(ctx context.Context, name api.ClusterName, f func(*cluster.Client) error) error {
	return c.registry.WithClient(ctx, name, f)
}

// Config returns how to reach a cluster with a client of one's own. Its requests are counted.
func (c *Clusters) Config(name api.ClusterName) (*rest.Config, error) { return c.registry.Config(name) }

// count returns the traffic of a declared cluster.
func (c *Clusters) count(name api.ClusterName, next http.RoundTripper) http.RoundTripper {
	return c.traffic.through(name, next, func(r *http.Request) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e := c.entries[name]; e != nil && secretIn(r, e.controlPlane) {
			return aboutCredentials
		}
		return aboutObjects
	})
}

// Trier tries links' credentials.
func (c *Clusters) Trier() verify.Client {
	return cluster.Verifier{
		UserAgent: "linkwright/" + c.options.Owner,
		Wrap: func(name api.ClusterName, next http.RoundTripper) http.RoundTripper {
			return c.traffic.through(name, next, always(aboutCredentials))
		},
	}
}

// conn is one open cluster as package sync sees it.
type conn struct {
	registry *cluster.Registry
	name     api.ClusterName
	client   *cluster.Client // to be used as long as the cluster is open; nil: whichever that has then
}

// with returns the client, and fails where the cluster is not open any more.
func (c conn) with(ctx context.Context, f func(*cluster.Client) error) error {
	return c.registry.WithClient(ctx, c.name, func(now *cluster.Client) error {
		if c.client != nil {
			return f(c.client)
		}
		return f(now)
	})
}

// Observe implements object.Cluster.
func (c conn) Observe(ctx context.Context, w []object.Watch) (observed object.Observation, err error) {
	err = c.with(ctx, func(cl *cluster.Client) error {
		observed, err = cl.Observe(ctx, w)
		return err
	})
	return observed, err
}

// Live implements object.Cluster.
func (c conn) Live(ctx context.Context, w []object.Watch) (observed object.Observation, err error) {
	err = c.with(ctx, func(cl *cluster.Client) error {
		observed, err = cl.Live(ctx, w)
		return err
	})
	return observed, err
}

// Write implements object.Cluster.
func (c conn) Write(ctx context.Context, ch object.Change) (now object.Record, err error) {
	err = c.with(ctx, func(cl *cluster.Client) error {
		now, err = cl.Write(ctx, ch)
		return err
	})
	return now, err
}

// dryRun sends a change that nothing comes of.
func (c conn) dryRun(ctx context.Context, ch object.Change) error {
	return c.with(ctx, func(cl *cluster.Client) error { return cl.DryRun(ctx, ch) })
}

// Follow implements sync.Clusters. What takes longer than grace goes on until ctx ends: a cluster has moved once it is done.
func (c *Clusters) Follow(ctx context.Context, want []fleet.Cluster) map[api.ClusterName]error {
	c.following.Lock()
	c.want = want
	c.management.follow(accessSecrets(want)...)
	c.declare()
	moved := c.refresh(ctx)
	c.following.Unlock()
	c.exchangeAll(ctx, moved)
	for _, name := range c.registry.Names() {
		if e, _ := c.entry(name); e == nil {
			c.close(ctx, name)
		}
	}
	return c.failures()
}

// accessSecrets returns those in the management cluster that declarations name.
func accessSecrets(of []fleet.Cluster) (names []string) {
	for _, c := range of {
		if s := c.Spec.Access.KubeconfigSecret; s != nil {
			names = append(names, s.Name)
		}
	}
	return names
}

// refresh finds out where the accesses lead to now, and gives the clusters for which that is new; for who holds following.
func (c *accesses) refresh(ctx context.Context) (out []api.ClusterName) {
	found := make([]bool, len(c.want))
	Each(len(c.want), func(i int) { found[i] = c.moved(ctx, c.want[i]) })
	for i, w := range c.want {
		if found[i] {
			out = append(out, w.Name)
		}
	}
	return out
}

// declare forgets clusters that are not wanted any more, and ends the exchanges of their connections; for who holds following.
func (c *accesses) declare() {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.entries
	c.entries = make(map[api.ClusterName]*entry, len(c.want))
	for _, w := range c.want {
		e := known[w.Name]
		if e == nil {
			e = &entry{}
		}
		e.controlPlane = w.Spec.Linkerd.Namespace
		c.entries[w.Name] = e
	}
	for name, e := range known {
		if c.entries[name] == nil {
			e.cancelExchange()
		}
	}
}

// Each does f for 0…n-1, some side by side.
func Each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = g.Wait() // its functions give no errors: a cluster that cannot be opened is an entry
}

// moved reports whether a cluster's access leads elsewhere than before. One that could not be read leaves the connection that there is: only what is
// known to be missing or wrong ends it.
func (c *accesses) moved(ctx context.Context, w fleet.Cluster) bool {
	e, was := c.entry(w.Name)
	now := c.find(ctx, w, was)
	if _, silent := errors.AsType[unreadable](now.err); silent && was.cfg != nil {
		c.options.Log.Warn("access not read: the last connection stays in use", "cluster", w.Name, "why", now.err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was, e.target = e.target, now // an exchange that ended meanwhile may have left word that it came to nothing
	return now.stamp != was.stamp || now.stamp == "" && !sameError(now.err, was.err)
}

// sameError reports whether the same is the matter twice.
func sameError(a, b error) bool {
	return a != nil && b != nil && a.Error() == b.Error()
}

// entry returns a declared cluster and its place; nil: it is not declared.
func (c *accesses) entry(name api.ClusterName) (*entry, target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		return nil, target{}
	}
	return e, e.target
}

// failures returns which clusters have no connection, and why.
func (c *accesses) failures() map[api.ClusterName]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[api.ClusterName]error{}
	for name, e := range c.entries {
		if e.err != nil {
			out[name] = e.err
		}
	}
	return out
}

// reach returns where a cluster is, or why it cannot be reached.
func (c *accesses) reach(name api.ClusterName) (target, error) {
	_, at := c.entry(name)
	if at.err == nil && at.cfg == nil { // not declared any more, or not looked at yet
		return target{}, fmt.Errorf("use cluster %s: %w", name, cluster.ErrNotExist)
	}
	if at.err != nil {
		return at, cluster.AccessError{Err: at.err}
	}
	return at, nil
}

// Server returns the address of a cluster's API server, as its access leads there now; empty: it leads nowhere.
func (c *Clusters) Server(name api.ClusterName) string {
	at, err := c.reach(name)
	if err != nil {
		return ""
	}
	return at.cfg.Host
}

// WithCluster implements sync.Clusters. All that f does goes by the connection that there is when it begins, also where that is
// exchanged meanwhile: what was begun in one cluster is not ended in another.
func (c *Clusters) WithCluster(ctx context.Context, name api.ClusterName, f func(object.Cluster) error) error {
	if _, err := c.reach(name); err != nil {
		return err
	}
	return c.registry.WithClient(ctx, name, func(client *cluster.Client) error {
		return f(conn{c.registry, name, client})
	})
}

// Token implements sync.Clusters.
func (c *Clusters) Token(ctx context.Context, name api.ClusterName, r object.TokenRequest) (token object.Secret, err error) {
	if _, err := c.reach(name); err != nil {
		return object.Secret{}, err
	}
	err = c.registry.WithClient(ctx, name, func(client *cluster.Client) error {
		token, err = client.Token(ctx, r)
		return err
	})
	return token, err
}

// Close ends every connection, and what is exchanged.
func (c *Clusters) Close(ctx context.Context) {
	c.mu.Lock()
	for _, e := range c.entries {
		e.cancelExchange()
	}
	c.mu.Unlock()
	c.exchanges.Wait()
	ctx = context.WithoutCancel(ctx)
	for _, name := range slices.Clone(c.registry.Names()) {
		_ = c.registry.Stop(ctx, name) // it only waits for calls in flight, and there are none
	}
	c.management.Close(ctx)
}

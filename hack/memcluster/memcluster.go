// Package memcluster has clusters in memory, for tests of packages above sync/cluster. They behave like its Client with a real
// API server, as the tests of package hack/contract verify for both, and fail in the ways that a test sets. The package waits only
// for time, contexts and other callers, so it works in bubbles of testing/synctest; a bubble must make the clusters that it uses.
package memcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
)

// defaultTimeout is the timeout of a Client.
const defaultTimeout = 15 * time.Second

// Options are shared by all clusters of a set.
type Options struct {
	// Owner is the installation whose records are made; default object.DefaultOwner.
	Owner string
	// Timeout of what a hanging cluster is asked; default 15 s.
	Timeout time.Duration
	// TokenAfter is when a Secret for a token is filled in after it came to be; below zero: never.
	TokenAfter time.Duration
	// ReadyAfter is when a Deployment is available after it came to be or was changed; below zero: never.
	ReadyAfter time.Duration
}

// Clusters is a set of clusters, and what changes in them.
type Clusters struct {
	opts  Options
	named map[api.ClusterName]*Cluster

	moved chan struct{}
	mu    sync.Mutex
	moves map[api.ClusterName]pendingMoves
}

// New returns new clusters, which have only the usual namespaces.
func New(o Options, names ...api.ClusterName) *Clusters {
	if o.Owner == "" {
		o.Owner = object.DefaultOwner
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	s := &Clusters{opts: o, named: map[api.ClusterName]*Cluster{}, moved: make(chan struct{}, 1), moves: map[api.ClusterName]pendingMoves{}}
	for _, name := range names {
		s.named[name] = newCluster(s, name)
	}
	return s
}

// Cluster returns the cluster of that name, or nil.
func (s *Clusters) Cluster(name api.ClusterName) *Cluster { return s.named[name] }

// Follow implements sync.Clusters: exactly the clusters of the set are open.
func (s *Clusters) Follow(_ context.Context, want []fleet.Cluster) map[api.ClusterName]error {
	failed := map[api.ClusterName]error{}
	for _, c := range want {
		if s.named[c.Name] == nil {
			failed[c.Name] = fmt.Errorf("there is no cluster %s", c.Name)
		}
	}
	return failed
}

// WithCluster implements sync.Clusters.
func (s *Clusters) WithCluster(_ context.Context, name api.ClusterName, f func(object.Cluster) error) error {
	return f(s.named[name])
}

// Token implements sync.Clusters.
func (s *Clusters) Token(ctx context.Context, name api.ClusterName, r object.TokenRequest) (object.Secret, error) {
	return s.named[name].Token(ctx, r)
}

// Names of all clusters, in order.
func (s *Clusters) Names() []api.ClusterName { return slices.Sorted(maps.Keys(s.named)) }

// Cluster is one cluster. It is safe for concurrent use.
type Cluster struct {
	name api.ClusterName
	set  *Clusters
	opts Options

	mu       sync.Mutex
	kinds    map[schema.GroupKind]*kind
	objects  map[object.Key]*unstructured.Unstructured // which nobody changes any more
	version  int                                       // resourceVersion that was given last
	created  int                                       // uid that was given last
	managers map[managerKey]*managedfields.FieldManager
	faults   Faults
	live     openWatches
	served   served
	requests []string
}

func newCluster(s *Clusters, name api.ClusterName) *Cluster {
	c := &Cluster{
		name: name, set: s, opts: s.opts, version: 100, // above the one that means: must not exist
		kinds: builtIn(), objects: map[object.Key]*unstructured.Unstructured{}, managers: map[managerKey]*managedfields.FieldManager{},
	}
	for _, ns := range []string{"default", "kube-system"} {
		c.must(c.Put("kube-apiserver", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}))
	}
	return c
}

// must panics on errors with objects of this package.
func (c *Cluster) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("cluster %s: %v", c.name, err))
	}
}

// Address is the URL of its API server.
func (c *Cluster) Address() string { return "https://" + string(c.name) + ".example:6443" }

// Requests returns the requests since its last call, in order: observe, live, token, and writes as
// action and key. Requests that failed before they were sent do not count.
func (c *Cluster) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	return out
}

// Written are the writes of requests.
func Written(requests []string) (out []string) {
	for _, r := range requests {
		if strings.Contains(r, " ") {
			out = append(out, r)
		}
	}
	return out
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/cluster"
)

// config leads to the server. Each has a dialler of its own, so that client-go shares no connection between two of them.
func (p part) config() *rest.Config {
	return &rest.Config{
		Host: p.Host, TLSClientConfig: rest.TLSClientConfig{CAData: p.CA}, QPS: -1, WarningHandler: rest.NoWarnings{},
		Dial: (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	}
}

// openOurs opens the watches as a daemon does.
func (p part) openOurs(ctx context.Context) error {
	registry, watches := cluster.New(cluster.Options{}), make([]object.Watch, watchesPerCluster)
	for i := range watches {
		watches[i] = object.Watch{Group: group.Group, Version: group.Version, Kind: kindOf(i)}
	}
	for i := range p.Clusters {
		name := api.ClusterName(target(i))
		if err := registry.Spawn(ctx, name, p.config()); err != nil {
			return err
		}
		err := registry.WithClient(ctx, name, func(client *cluster.Client) error {
			seen, err := client.Live(ctx, slices.Clone(watches))
			if err == nil && seen.Len() != watchesPerCluster*objectsPerKind {
				err = fmt.Errorf("%d objects are seen", seen.Len())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	context.AfterFunc(ctx, func() { runtime.KeepAlive(registry) })
	return nil
}

// openReflectors opens as many by Reflectors, each with a store that keeps of an object what tells whether it changed. As with Live,
// which asks where kinds are served, a connection is there before the first of them.
func (p part) openReflectors(ctx context.Context) error {
	for range p.Clusters {
		client, err := metadata.NewForConfig(p.config())
		if err != nil {
			return err
		}
		if _, err := client.Resource(group.WithResource(pluralOf(0))).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		stores := make([]*minimalStore, watchesPerCluster)
		for i := range stores {
			stores[i] = &minimalStore{filled: make(chan struct{})}
			go reflector(client, i, stores[i]).RunWithContext(ctx)
		}
		for _, m := range stores { // as Live waits
			select {
			case <-m.filled:
			case <-ctx.Done():
				return ctx.Err()
			}
			if n := m.len(); n != objectsPerKind {
				return fmt.Errorf("%d objects are seen of one kind", n)
			}
		}
	}
	return nil
}

// reflector keeps a store as a kind is.
func reflector(client metadata.Interface, kind int, store cache.ReflectorStore) *cache.Reflector {
	of := client.Resource(group.WithResource(pluralOf(kind)))
	from := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) { return of.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return of.Watch(ctx, o)
		},
	}
	return cache.NewReflectorWithOptions(from, &metav1.PartialObjectMetadata{}, store, cache.ReflectorOptions{Name: kindOf(kind)})
}

// minimalStore is the least that a store can keep.
type minimalStore struct {
	filled chan struct{} // closed by the first list

	mu   sync.Mutex
	seen []objectVersion
}

// objectVersion is an object as it was seen last.
type objectVersion struct {
	namespace, name, version string
	uid                      types.UID
}

func (m *minimalStore) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.seen)
}

// Add implements cache.ReflectorStore.
func (m *minimalStore) Add(obj any) error { return m.put(obj, true) }

// Update implements cache.ReflectorStore.
func (m *minimalStore) Update(obj any) error { return m.put(obj, true) }

// Delete implements cache.ReflectorStore.
func (m *minimalStore) Delete(obj any) error { return m.put(obj, false) }

// Resync implements cache.ReflectorStore.
func (m *minimalStore) Resync() error { return nil }

func (m *minimalStore) put(obj any, there bool) error {
	s, err := objectVersionOf(obj)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = slices.DeleteFunc(m.seen, func(o objectVersion) bool { return o.namespace == s.namespace && o.name == s.name })
	if there {
		m.seen = append(m.seen, s)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (m *minimalStore) Replace(objects []any, _ string) error {
	seen := make([]objectVersion, 0, len(objects))
	for _, o := range objects {
		s, err := objectVersionOf(o)
		if err != nil {
			return err
		}
		seen = append(seen, s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		close(m.filled)
	}
	m.seen = seen
	return nil
}

func objectVersionOf(obj any) (objectVersion, error) {
	o, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return objectVersion{}, errForeign
	}
	return objectVersion{namespace: o.Namespace, name: o.Name, version: o.ResourceVersion, uid: o.UID}, nil
}

var errForeign = errors.New("an object has no metadata")

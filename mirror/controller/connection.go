package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/linkwright/linkwright/render/linkerd"
)

// connection watches what the selectors of a link select in its target, by one credential. Another credential or other selectors need another one.
type connection struct {
	id        string // of the credential and the selectors
	selectors string
	services  []cache.SharedIndexInformer
	endpoints []cache.SharedIndexInformer
	core      *typedv1.CoreV1Client
	events    record.EventRecorder
	changed   func(types.NamespacedName)
	failed    func(error)
	read      chan struct{} // closed once everything was read

	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	single map[types.NamespacedName]*singleWatch // of Endpoints that no selector finds
}

// singleWatch watches the Endpoints of one Service. Kubernetes copies the labels of a Service to its Endpoints, unless the Service has no selector:
// then the Endpoints have labels of their own.
type singleWatch struct {
	cache.SharedIndexInformer
	cancel context.CancelFunc
}

// dial is what a connection is made of.
type dial struct {
	link      string
	config    *rest.Config // nil: nothing is selected, so nothing is watched
	id        string
	selectors selectors
}

var errNoSecret = errors.New("the Link names no Secret with a credential (spec.clusterCredentialsSecret)")

// dialOf returns what a link is to be connected by. Selectors that select nothing need no credential.
func dialOf(l link, secret *corev1.Secret, o Options) (dial, error) {
	d := dial{link: l.Metadata.Name, selectors: l.watched(o)}
	d.id = d.selectors.String()
	if d.selectors.isEmpty() {
		return d, nil
	}
	name := l.Spec.ClusterCredentialsSecret
	if name == "" {
		return dial{}, errNoSecret
	}
	if secret == nil {
		return dial{}, fmt.Errorf("the Secret %s/%s, which has the Link's credential, is missing", o.Namespace, name)
	}
	raw := secret.Data[linkerd.KubeconfigKey]
	if len(raw) == 0 {
		return dial{}, fmt.Errorf("the Secret %s/%s has no key %s", o.Namespace, name, linkerd.KubeconfigKey)
	}
	config, err := o.Config(raw)
	if err != nil {
		return dial{}, fmt.Errorf("the Secret %s/%s: %w", o.Namespace, name, err)
	}
	sum := sha256.Sum256(raw)
	d.id += hex.EncodeToString(sum[:])
	d.config = inProtobuf(config)
	d.config.UserAgent = cmp.Or(d.config.UserAgent, fieldManager+"/"+d.link)
	d.config.QPS, d.config.WarningHandler = -1, rest.NoWarnings{}
	return d, nil
}

// open begins to watch, until ctx ends or the connection is stopped. It calls changed for each Service that changes, and failed if a watch fails, which is then tried again for ever.
func open(ctx context.Context, d dial, changed func(types.NamespacedName), failed func(error)) (*connection, error) {
	c := &connection{
		id: d.id, selectors: d.selectors.String(), changed: changed, failed: failed,
		read: make(chan struct{}), single: map[types.NamespacedName]*singleWatch{},
	}
	ctx, c.cancel = context.WithCancel(ctx)
	if d.config == nil {
		close(c.read)
		return c, nil
	}
	core, err := typedv1.NewForConfig(d.config)
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.core = core
	c.recordEvents(ctx, d.link)
	c.watch(ctx, d.selectors)
	c.work.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), c.hasSynced) {
			close(c.read)
		}
	})
	return c, nil
}

func (c *connection) watch(ctx context.Context, s selectors) {
	byNamespace := cache.Indexers{}
	for _, one := range s.services {
		i := informer(c.core.Services("").List, c.core.Services("").Watch, &corev1.Service{}, labelled(one), strip, byNamespace)
		on(i, func(o metav1.Object) { c.serviceChanged(ctx, o.(*corev1.Service)) })
		c.services = append(c.services, i)
	}
	for _, one := range s.endpoints {
		i := informer(c.core.Endpoints("").List, c.core.Endpoints("").Watch, &endpoints{}, labelled(one), strip, byNamespace)
		on(i, func(o metav1.Object) { c.changed(name(o)) })
		c.endpoints = append(c.endpoints, i)
	}
	for _, i := range slices.Concat(c.services, c.endpoints) {
		c.start(ctx, i)
	}
}

func (c *connection) start(ctx context.Context, i cache.SharedIndexInformer) {
	onError(i, c.failed)
	c.work.Go(func() { i.RunWithContext(ctx) })
}

func (c *connection) hasSynced() bool {
	for _, i := range slices.Concat(c.services, c.endpoints) {
		if !i.HasSynced() {
			return false
		}
	}
	return true
}

// synced is closed once everything was read; nil for no connection.
func (c *connection) synced() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.read
}

// stop ends all watches of a connection, if there is one.
func (c *connection) stop() {
	if c != nil {
		c.cancel()
		c.work.Wait()
	}
}

// serviceChanged has a Service looked at, and its Endpoints watched if no selector finds them.
func (c *connection) serviceChanged(ctx context.Context, s *corev1.Service) {
	key := name(s)
	live := find(c.services, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	watched := c.single[key]
	switch alone := live != nil && len(live.(*corev1.Service).Spec.Selector) == 0 && len(c.endpoints) > 0; {
	case alone && watched == nil && ctx.Err() == nil:
		c.watchSingle(ctx, key)
	case !alone && watched != nil:
		watched.cancel()
		delete(c.single, key)
	}
	c.changed(key)
}

func (c *connection) watchSingle(ctx context.Context, key types.NamespacedName) {
	ctx, cancel := context.WithCancel(ctx)
	in := c.core.Endpoints(key.Namespace)
	one := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name).String()}
	i := named(in.List, in.Watch, &endpoints{}, one, strip, nil)
	on(i, func(o metav1.Object) { c.changed(name(o)) })
	c.single[key] = &singleWatch{i, cancel}
	c.start(ctx, i)
	c.work.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			c.changed(key) // also if there are none
		}
	})
}

// get returns an exported Service and its Endpoints; nil: the target has none, or no selector selects it. False: its Endpoints are not read yet.
func (c *connection) get(key types.NamespacedName) (*corev1.Service, *endpoints, bool) {
	o := find(c.services, key)
	if o == nil {
		return nil, nil, true
	}
	c.mu.Lock()
	single := c.single[key]
	c.mu.Unlock()
	in := c.endpoints
	if single != nil {
		if !single.HasSynced() {
			return nil, nil, false
		}
		in = []cache.SharedIndexInformer{single.SharedIndexInformer}
	}
	e, _ := find(in, key).(*endpoints)
	return o.(*corev1.Service), e, true
}

// each calls f with every Service that is selected.
func (c *connection) each(f func(types.NamespacedName)) {
	for _, i := range c.services {
		for _, o := range i.GetStore().List() {
			f(name(o.(*corev1.Service)))
		}
	}
}

func find(in []cache.SharedIndexInformer, key types.NamespacedName) any {
	for _, i := range in {
		if o, ok, _ := i.GetStore().GetByKey(key.String()); ok {
			return o
		}
	}
	return nil
}

func name(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// selectors are the label selectors of the watches that find all that a link selects.
type selectors struct{ services, endpoints []string }

// isEmpty reports whether nothing is selected.
func (s selectors) isEmpty() bool { return len(s.services) == 0 }

func (s selectors) String() string {
	return strings.Join(s.services, ";") + "|" + strings.Join(s.endpoints, ";") + "|"
}

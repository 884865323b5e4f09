package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/mirror/probe"
	"github.com/linkwright/linkwright/render/linkerd"
)

var (
	errNotRead = errors.New("not read yet")
	errNoLinks = errors.New("the source serves no Links (multicluster.linkerd.io): install Linkerd's multicluster extension")
)

// link is a Linkerd Link.
type link struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     linkSpec          `json:"spec"`
	Status   linkStatus        `json:"status"`
}

// isHeadless reports whether headless Services of the target get a Service for each named address.
func (l link) isHeadless(o Options) bool {
	return l.Metadata.Annotations[linkerd.HeadlessAnnotation] == "true" || o.isHeadless(l.Metadata.Name)
}

// linkSpec is LinkSpec with all fields of the probeSpec.
type linkSpec struct {
	linkerd.LinkSpec

	ProbeSpec *probe.Fields `json:"probeSpec"`
}

// linkCache has the Links of a namespace.
type linkCache struct {
	client    dynamic.Interface
	namespace string
	mirrors   func(name string) bool
	selector  labels.Selector
	version   string
	cache     cache.SharedIndexInformer
}

// discover chooses the newest version that the source serves.
func (c *linkCache) discover(ctx context.Context, source rest.Interface) error {
	var group metav1.APIGroup
	err := source.Get().AbsPath("/apis", linkerd.Group).Do(ctx).Into(&group)
	switch {
	case apierrors.IsNotFound(err) || err == nil && len(group.Versions) == 0:
		return errNoLinks
	case err != nil:
		return fmt.Errorf("read the versions of Links in the source: %w", err)
	}
	for _, v := range group.Versions {
		c.version = max(c.version, v.Version) // v1alpha1, v1alpha2, v1alpha3
	}
	return nil
}

func (c *linkCache) resource() dynamic.ResourceInterface {
	return c.client.Resource(schema.GroupVersionResource{Group: linkerd.Group, Version: c.version, Resource: "links"}).Namespace(c.namespace)
}

// run watches until ctx ends, and calls changed with the name of each Link that was added, changed or deleted.
// It calls failed if they cannot be read.
func (c *linkCache) run(ctx context.Context, running *sync.WaitGroup, changed func(name string), failed func(error)) {
	c.cache = informer(c.resource().List, c.resource().Watch, &unstructured.Unstructured{}, c.selector, decodeLink, nil)
	on(c.cache, func(o metav1.Object) {
		if c.mirrors(o.GetName()) {
			changed(o.GetName())
		}
	})
	onError(c.cache, failed)
	running.Go(func() { c.cache.RunWithContext(ctx) })
}

// cachedLink is a Link as the cache keeps it: decoded once, for all readers, which do not change it. Caches need a metav1.Object.
type cachedLink struct {
	metav1.ObjectMeta

	link link
	err  error // a field cannot be read
}

// decodeLink makes a cachedLink of what a watch delivers. It gets its own result again where a cache transforms twice. It returns no error, with which the
// cache would read all Links again and again.
func decodeLink(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	u.SetManagedFields(nil)
	var out cachedLink
	raw, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(raw, &out.link)
	}
	out.err = err
	out.ObjectMeta = metav1.ObjectMeta{ // also of a Link that cannot be decoded
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), DeletionTimestamp: u.GetDeletionTimestamp(),
	}
	return &out, nil
}

func (c *linkCache) wait(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), c.cache.HasSynced)
}

func (c *linkCache) hasSynced() bool { return c.cache != nil && c.cache.HasSynced() }

// get returns a Link. An error says that it is there, and that a field cannot be read.
func (c *linkCache) get(name string) (l link, found bool, err error) {
	o, found, _ := c.cache.GetStore().GetByKey(c.namespace + "/" + name)
	if !found {
		return link{}, false, nil
	}
	cached := o.(*cachedLink)
	return cached.link, true, cached.err
}

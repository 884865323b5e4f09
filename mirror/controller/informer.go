package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/render/linkerd"
)

type endpoints = corev1.Endpoints //nolint:staticcheck // what Linkerd's clients read

// federatedLabel is on a Service that joins a federated Service, with any value.
const federatedLabel = "mirror.linkerd.io/federated"

// informer returns a cache of what a selector selects on the server. Every object goes through strip before it is kept.
func informer[L runtime.Object](
	list func(context.Context, metav1.ListOptions) (L, error), watches func(context.Context, metav1.ListOptions) (watch.Interface, error),
	example runtime.Object, selector labels.Selector, strip cache.TransformFunc, index cache.Indexers,
) cache.SharedIndexInformer {
	return named(list, watches, example, metav1.ListOptions{LabelSelector: selector.String()}, strip, index)
}

// named is informer for what options select.
func named[L runtime.Object](
	list func(context.Context, metav1.ListOptions) (L, error), watches func(context.Context, metav1.ListOptions) (watch.Interface, error),
	example runtime.Object, options metav1.ListOptions, strip cache.TransformFunc, index cache.Indexers,
) cache.SharedIndexInformer {
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = options.LabelSelector, options.FieldSelector
		return o
	}
	out := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, selected(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return watches(ctx, selected(o))
		},
	}, example, cache.SharedIndexInformerOptions{Indexers: index})
	if strip != nil {
		_ = out.SetTransform(strip) // fails once it runs
	}
	return out
}

// onError calls failed whenever a list or a watch fails. Both are tried again for ever.
func onError(i cache.SharedIndexInformer, failed func(error)) {
	_ = i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { failed(err) }) // fails once it runs
}

// on calls changed for an object that was added, changed or deleted: for a change, as it was and as it is.
func on(i cache.SharedIndexInformer, changed func(metav1.Object)) {
	_, _ = i.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails once it is stopped
		AddFunc: func(o any) { changed(o.(metav1.Object)) },
		UpdateFunc: func(was, is any) {
			changed(was.(metav1.Object))
			changed(is.(metav1.Object))
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			changed(o.(metav1.Object))
		},
	})
}

// strip leaves what mirroring reads of a Service or Endpoints.
func strip(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Service:
		stripMeta(&o.ObjectMeta)
		o.Status = corev1.ServiceStatus{}
		o.Spec = corev1.ServiceSpec{Ports: o.Spec.Ports, ClusterIP: o.Spec.ClusterIP, Selector: o.Spec.Selector, Type: o.Spec.Type}
	case *endpoints:
		stripMeta(&o.ObjectMeta)
		for i := range o.Subsets {
			for _, list := range [][]corev1.EndpointAddress{o.Subsets[i].Addresses, o.Subsets[i].NotReadyAddresses} {
				for j := range list {
					list[j].TargetRef, list[j].NodeName = nil, nil
				}
			}
		}
	}
	return o, nil
}

// stripSource leaves the name and the selector of a Service that neither is a mirror nor joins a federated Service.
func stripSource(o any) (any, error) {
	s, ok := o.(*corev1.Service)
	if ok && s.Labels[linkerd.MirroredLabel] == "" && s.Labels[federatedLabel] == "" {
		return &corev1.Service{ObjectMeta: nameOf(&s.ObjectMeta)}, nil
	}
	return strip(o)
}

func stripNamespace(o any) (any, error) {
	if n, ok := o.(*corev1.Namespace); ok {
		return &corev1.Namespace{ObjectMeta: nameOf(&n.ObjectMeta)}, nil
	}
	return o, nil
}

func nameOf(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp}
}

func stripMeta(m *metav1.ObjectMeta) {
	kept := nameOf(m)
	kept.Labels, kept.Annotations = m.Labels, m.Annotations
	*m = kept
}

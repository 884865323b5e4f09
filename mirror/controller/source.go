package controller

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/linkwright/linkwright/mirror"
	"github.com/linkwright/linkwright/render/linkerd"
)

// byService is the index of mirrors by the exported Service that they are mirrors of.
const byService = "service"

// source is what is known of the source. It is read once for all links:
//
//	Services             all, since any may have the name of a mirror; of those that mirroring has nothing to do with little more than the name
//	Endpoints            of mirrors, and of probe Services
//	Namespaces           their names
type source struct {
	services, endpoints, probes, namespaces cache.SharedIndexInformer
	liveServices                            *written[*corev1.Service]
	liveEndpoints                           *written[*endpoints]
}

func newSource(core *typedv1.CoreV1Client, namespace string, c *Controller) *source {
	index := cache.Indexers{byService: func(o any) ([]string, error) { return servicesOf(o.(metav1.Object)), nil }}
	s := &source{
		services:   informer(core.Services("").List, core.Services("").Watch, &corev1.Service{}, everything(), stripSource, index),
		endpoints:  informer(core.Endpoints("").List, core.Endpoints("").Watch, &endpoints{}, labelled(linkerd.MirroredLabel+"=true"), strip, index),
		probes:     informer(core.Endpoints(namespace).List, core.Endpoints(namespace).Watch, &endpoints{}, labelled(linkerd.ClusterNameLabel), strip, nil),
		namespaces: informer(core.Namespaces().List, core.Namespaces().Watch, &corev1.Namespace{}, everything(), stripNamespace, nil),
	}
	s.liveServices, s.liveEndpoints = newWritten[*corev1.Service](s.services), newWritten[*endpoints](s.endpoints)
	s.handle(namespace, c)
	return s
}

// handle has changes of the source looked at.
func (s *source) handle(namespace string, c *Controller) {
	on(s.services, func(o metav1.Object) {
		s.liveServices.delivered(o)
		for _, key := range c.keysOf(o) {
			c.services.Add(key)
		}
		if o.GetNamespace() == namespace {
			c.enqueueLinkOf(o)
		}
	})
	on(s.endpoints, func(o metav1.Object) {
		s.liveEndpoints.delivered(o)
		for _, service := range servicesOf(o) {
			c.services.Add(keyOf(service))
		}
	})
	on(s.probes, func(o metav1.Object) { c.enqueueLinkOf(o) })
	on(s.namespaces, func(o metav1.Object) {
		for _, t := range c.all() {
			t.enqueueNamespace(o.GetName())
		}
	})
}

func (s *source) all() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{s.services, s.endpoints, s.probes, s.namespaces}
}

func (s *source) run(ctx context.Context, running *sync.WaitGroup, failed func(error)) {
	for _, one := range s.all() {
		onError(one, failed)
		running.Go(func() { one.RunWithContext(ctx) })
	}
}

func (s *source) wait(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), s.hasSynced)
}

func (s *source) hasSynced() bool {
	return !slices.ContainsFunc(s.all(), func(one cache.SharedIndexInformer) bool { return !one.HasSynced() })
}

// hasNamespace reports whether Services can be created in a namespace.
func (s *source) hasNamespace(name string) bool {
	o, ok, _ := s.namespaces.GetStore().GetByKey(name)
	return ok && o.(*corev1.Namespace).DeletionTimestamp == nil
}

// state is what the source holds that concerns an exported Service. Names are those that its mirrors may have.
func (s *source) state(key types.NamespacedName, names []string) mirror.Source {
	out := mirror.Source{Namespace: s.hasNamespace(key.Namespace), Services: map[string]*corev1.Service{}, Endpoints: map[string]*endpoints{}}
	for _, o := range s.liveServices.of(key.String()) {
		out.Services[o.Name] = o
	}
	for _, o := range s.liveEndpoints.of(key.String()) {
		out.Endpoints[o.Name] = o
	}
	for _, name := range names {
		if o, ok := s.liveServices.get(key.Namespace + "/" + name); ok {
			out.Services[name] = o
		}
		if o, ok := s.liveEndpoints.get(key.Namespace + "/" + name); ok {
			out.Endpoints[name] = o
		}
	}
	out.Local, _ = s.liveServices.get(key.String())
	return out
}

// members are the source's own Services that are to be members of federated Services, and the federated Services that there are.
func (s *source) members() (out []types.NamespacedName) {
	for _, o := range s.services.GetStore().List() {
		service := o.(*corev1.Service)
		if service.Labels[federatedLabel] != "" {
			out = append(out, types.NamespacedName{Namespace: service.Namespace, Name: service.Name})
		}
		if name, ok := strings.CutSuffix(service.Name, linkerd.Federated("")); ok && service.Labels[linkerd.MirroredLabel] != "" {
			out = append(out, types.NamespacedName{Namespace: service.Namespace, Name: name})
		}
	}
	return out
}

// of are the exported Services that the source has mirrors or memberships of a link of.
func (s *source) of(link string) (out []types.NamespacedName) {
	for _, o := range s.services.GetStore().List() {
		service := o.(*corev1.Service)
		name, federated := strings.CutSuffix(service.Name, linkerd.Federated(""))
		switch {
		case service.Labels[linkerd.ClusterNameLabel] == link:
			for _, one := range servicesOf(service) {
				out = append(out, keyOf(one))
			}
		case federated && strings.Contains(service.Annotations[linkerd.RemoteDiscovery], "@"+link):
			out = append(out, types.NamespacedName{Namespace: service.Namespace, Name: name})
		}
	}
	return out
}

// keysOf are the exported Services that a Service of the source may concern: the one that it is a mirror of, or has the name of a mirror of.
func (c *Controller) keysOf(o metav1.Object) (out []types.NamespacedName) {
	for _, service := range servicesOf(o) {
		out = append(out, keyOf(service))
	}
	suffixes := []string{linkerd.Federated("")}
	for _, t := range c.all() {
		suffixes = append(suffixes, "-"+t.name)
	}
	for _, suffix := range suffixes {
		if name, ok := strings.CutSuffix(o.GetName(), suffix); ok {
			out = append(out, types.NamespacedName{Namespace: o.GetNamespace(), Name: name})
		}
	}
	if o.GetLabels()[federatedLabel] != "" {
		out = append(out, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return out
}

// enqueueLinkOf has the link looked at whose probe an object of the namespace of Links belongs to.
func (c *Controller) enqueueLinkOf(o metav1.Object) {
	for _, t := range c.all() {
		if o.GetName() == c.options.ProbeService(t.name) {
			c.linkKeys.Add(t.name)
		}
	}
}

// servicesOf returns the exported Service that a mirror is a mirror of, as namespace/name: from an annotation that has its DNS name, which for
// one address of a headless Service begins with the address's name.
func servicesOf(o metav1.Object) []string {
	if o.GetLabels()[linkerd.MirroredLabel] == "" {
		return nil
	}
	name, _, ok := strings.Cut(o.GetAnnotations()[linkerd.RemoteServiceName], "."+o.GetNamespace()+".svc.")
	if !ok {
		return nil
	}
	return []string{o.GetNamespace() + "/" + name[strings.LastIndex(name, ".")+1:]}
}

func keyOf(service string) types.NamespacedName {
	namespace, name, _ := strings.Cut(service, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func everything() labels.Selector { return labels.Everything() }

// labelled reads a selector that this program wrote.
func labelled(selector string) labels.Selector {
	out, err := labels.Parse(selector)
	if err != nil {
		return labels.Nothing()
	}
	return out
}

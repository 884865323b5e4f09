package memcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// Observe implements object.Cluster.
func (c *Cluster) Observe(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	if err := c.connect(ctx, "observe"); err != nil {
		return object.Observation{}, fmt.Errorf("read cluster %s: %w", c.name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readAll(watches)
}

// readAll reads all watches, or returns all errors.
func (c *Cluster) readAll(watches []object.Watch) (object.Observation, error) {
	looks := make([]watchResult, len(watches))
	var refused []error
	for i, w := range watches {
		var err error
		if looks[i], err = c.readWatch(w); err != nil {
			refused = append(refused, fmt.Errorf("read %s: %w", describe(w), err))
		}
	}
	if len(refused) > 0 {
		return object.Observation{}, errors.Join(refused...)
	}
	return c.merge(watches, looks), nil
}

// watchResult is the result of one watch.
type watchResult struct {
	items    []object.Item
	unserved bool
	hidden   []object.Hidden
}

func (c *Cluster) readWatch(w object.Watch) (watchResult, error) {
	of := schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind}
	k := c.find(of)
	if k == nil {
		return watchResult{unserved: true}, nil
	}
	switch {
	case w.Namespace != "" && !k.namespaced:
		return watchResult{}, errors.New("the kind is cluster-scoped: watch it without namespace")
	case len(w.Names) > 0 && w.Namespace == "" && k.namespaced:
		return watchResult{}, errors.New("names need a namespace")
	}
	hidden, err := c.hiddenOf(of, w)
	if err != nil {
		return watchResult{}, err
	}
	matches, err := matcher(w)
	if err != nil {
		return watchResult{}, err
	}
	out := watchResult{hidden: hidden}
	for key, u := range c.objects {
		concealed := slices.ContainsFunc(hidden, func(h object.Hidden) bool { return h.Name == "" || h.Name == key.Name })
		if matches(key, u) && !concealed {
			out.items = append(out.items, c.item(key, u, w))
		}
	}
	slices.SortFunc(out.items, object.Item.Compare)
	return out, nil
}

// hiddenOf returns what of a watch may not be read, or an error where that may not be hidden.
func (c *Cluster) hiddenOf(of schema.GroupVersionKind, w object.Watch) (out []object.Hidden, err error) {
	names := w.Names
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		k := object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: name}
		err := c.authorize(of, "list", k)
		switch {
		case err != nil && !w.MayBeForbidden:
			return nil, err
		case err != nil && name == "":
			out = append(out, object.Hidden{Key: k, Selector: w.Selector})
		case err != nil:
			out = append(out, object.Hidden{Key: k})
		}
	}
	return out, nil
}

// matcher returns which objects a watch selects; a watch with Names ignores its selector.
func matcher(w object.Watch) (func(object.Key, *unstructured.Unstructured) bool, error) {
	selector, err := labels.Parse(w.Selector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(key object.Key, u *unstructured.Unstructured) bool {
		if key.Group != w.Group || key.Kind != w.Kind || w.Namespace != "" && key.Namespace != w.Namespace {
			return false
		}
		if len(w.Names) > 0 {
			return slices.Contains(w.Names, key.Name)
		}
		return selector.Matches(labels.Set(u.GetLabels()))
	}, nil
}

// item is the part of an object that a watch keeps.
func (c *Cluster) item(key object.Key, u *unstructured.Unstructured, w object.Watch) object.Item {
	it := object.Item{Namespace: key.Namespace, Name: key.Name, Record: c.record(u)}
	if w.Health {
		raw, err := json.Marshal(u.Object)
		c.must(err)
		it.Record.Health = object.HealthOf(key.Kind, raw)
	}
	if w.Depth == object.Reduced {
		return it
	}
	bare := u.DeepCopy()
	bare.SetManagedFields(nil)
	if w.Version != "" {
		bare.SetAPIVersion(schema.GroupVersion{Group: w.Group, Version: w.Version}.String())
	}
	content := bare.Object
	if w.Depth == object.Metadata {
		content = map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"], "metadata": content["metadata"]}
	}
	body, err := json.Marshal(content)
	c.must(err)
	it.Body = object.NewBody(body)
	return it
}

func (c *Cluster) record(u *unstructured.Unstructured) object.Record {
	return object.Reduce(metaOf(u), c.opts.Owner)
}

func metaOf(u *unstructured.Unstructured) *metav1.ObjectMeta {
	var m metav1.PartialObjectMetadata
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": u.Object["metadata"]}, &m); err != nil {
		panic(err) // metadata that this package wrote
	}
	return &m.ObjectMeta
}

// merge merges the results of watches, the deepest first.
func (c *Cluster) merge(watches []object.Watch, looks []watchResult) object.Observation {
	var unserved []string
	layers := make([][]object.Layer, object.Whole+1)
	for i, l := range looks {
		w := watches[i]
		if l.unserved {
			unserved = append(unserved, w.KindName())
		}
		layers[object.Whole-w.Depth] = append(layers[object.Whole-w.Depth], object.Layer{Group: w.Group, Kind: w.Kind, Items: l.items})
	}
	var hidden []object.Hidden
	for _, l := range looks {
		hidden = append(hidden, l.hidden...)
	}
	slices.SortFunc(hidden, object.Hidden.Compare)
	slices.Sort(unserved)
	o := object.NewObservation(slices.Compact(unserved), slices.Concat(layers...)...)
	o.Server, o.Hidden = c.Address(), slices.Compact(hidden)
	return o
}

func describe(w object.Watch) string {
	kind := w.Kind
	if w.Group != "" {
		kind += "." + w.Group
	}
	if w.Namespace != "" {
		kind += " in namespace " + w.Namespace
	}
	return kind
}

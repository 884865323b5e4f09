package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// editLabel is the edited label: every object of linkwright has it.
const editLabel, declaredValue = "velero.io/exclude-from-backup", "true"

// repairs are the edits that are not repaired yet, and the durations of repairs.
type repairs struct {
	mu        sync.Mutex
	pending   map[string]*pendingEdit
	durations []time.Duration
	empty     chan struct{} // told when nothing is open
}

// pendingEdit is one edit; seen: the watch has reported it.
type pendingEdit struct {
	since time.Time
	seen  bool
}

// takeDrift edits linkwright's objects as somebody else, and measures how long it takes until its own watch sees them repaired.
func takeDrift(ctx context.Context, opts options) (err error) {
	c, err := newBenchmark(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.env.Close()) }()
	if err := c.syncOnce(ctx); err != nil {
		return err
	}
	d, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.waitReady(ctx); err != nil {
		return err
	}
	c.env.meter.profiles = opts.profiles
	var took []time.Duration
	cost, err := c.env.meter.measure(ctx, "drift", func(ctx context.Context) error {
		took, err = c.editObjects(ctx, opts)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n%d objects, %d foreign edits a second for %d s; from the moment an edit is sent until another client's watch shows its repair\n\n",
		len(c.objects[firstApply]), opts.edits, opts.seconds)
	table([]any{"edits", "repaired", "p50", "p99", "most", "linkwright's requests", "CPU of this process"},
		[][]any{{opts.edits * opts.seconds, len(took), quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1), cost.requests, cost.client}})
	return nil
}

// editObjects edits objects one after the other, each once.
func (c *benchmark) editObjects(ctx context.Context, opts options) ([]time.Duration, error) {
	victims := slices.DeleteFunc(slices.Clone(c.objects[firstApply]), func(o object.Object) bool { return o.Key.Kind == "ConfigMap" })
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	n := opts.edits * opts.seconds
	if n > len(victims) {
		return nil, fmt.Errorf("%d edits need as many objects: there are %d", n, len(victims))
	}
	victims = victims[:n]
	hurt := &repairs{pending: map[string]*pendingEdit{}, empty: make(chan struct{}, 1)}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := c.env.watch(watching, hurt.observe); err != nil {
		return nil, err
	}
	g, inner := errgroup.WithContext(ctx)
	every := time.NewTicker(time.Second / time.Duration(opts.edits))
	defer every.Stop()
	for i, o := range victims {
		select {
		case <-inner.Done():
			return nil, g.Wait()
		case <-every.C:
		}
		g.Go(func() error { return c.env.edit(inner, hurt, o, fmt.Sprintf("edit-%d", i)) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return hurt.waitRepaired(ctx)
}

func (b *environment) edit(ctx context.Context, hurt *repairs, o object.Object, value string) error {
	k := namespacedKindOf(o)
	hurt.add(nameOf(k, o.Key.Name))
	_, err := b.client.Resource(k.GroupVersionResource).Namespace(k.namespace).Patch(ctx, o.Key.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, editLabel, value), metav1.PatchOptions{FieldManager: "stranger"})
	return err
}

func (d *repairs) add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending[name] = &pendingEdit{since: time.Now()}
}

// observe handles every event.
func (d *repairs) observe(name string, o *unstructured.Unstructured) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.pending[name]
	switch {
	case w == nil:
		return
	case o.GetLabels()[editLabel] != declaredValue:
		w.seen = true
	case w.seen:
		d.durations = append(d.durations, time.Since(w.since))
		if delete(d.pending, name); len(d.pending) == 0 {
			notify(d.empty)
		}
	}
}

// waitRepaired waits until all edits are repaired.
func (d *repairs) waitRepaired(ctx context.Context) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		d.mu.Lock()
		left, took := len(d.pending), slices.Clone(d.durations)
		d.mu.Unlock()
		if left == 0 {
			return took, nil
		}
		select {
		case <-ctx.Done():
			return took, fmt.Errorf("%d edits are not repaired a minute after the last", left)
		case <-d.empty:
		}
	}
}

// watch calls saw for every event on objects of arms, until ctx ends.
func (b *environment) watch(ctx context.Context, saw func(string, *unstructured.Unstructured)) error {
	for k := range b.kinds {
		at := b.client.Resource(k.GroupVersionResource).Namespace(k.namespace)
		list, err := at.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("list %s: %w", k.Resource, err)
		}
		w, err := at.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.Resource, err)
		}
		go func() {
			for e := range w.ResultChan() {
				if o, ok := e.Object.(*unstructured.Unstructured); ok {
					saw(nameOf(k, o.GetName()), o)
				}
			}
		}()
	}
	return nil
}

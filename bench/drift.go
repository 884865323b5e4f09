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

// edited is the label that is edited: every object of ours has it.
const edited, asDeclared = "velero.io/exclude-from-backup", "true"

// damage is what was edited and is not repaired yet, and how long repairs took.
type damage struct {
	mu    sync.Mutex
	open  map[string]*wound
	took  []time.Duration
	empty chan struct{} // told when nothing is open
}

// wound is one edit: shown once a watch has told of it.
type wound struct {
	since time.Time
	shown bool
}

// takeDrift edits objects of ours as a stranger, and tells how long it takes until a watch of its own sees them repaired.
func takeDrift(ctx context.Context, opts options) (err error) {
	c, err := newContest(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bed.Close()) }()
	if err := c.fill(ctx); err != nil {
		return err
	}
	d, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.rest(ctx); err != nil {
		return err
	}
	c.bed.meter.profiles = opts.profiles
	var took []time.Duration
	cost, err := c.bed.meter.measure(ctx, "drift", func(ctx context.Context) error {
		took, err = c.edit(ctx, opts)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n%d objects, %d foreign edits a second for %d s; from the moment an edit is sent until another client's watch shows its repair\n\n",
		len(c.objects[first]), opts.edits, opts.seconds)
	table([]any{"edits", "repaired", "p50", "p99", "most", "linkwright's requests", "CPU of this process"},
		[][]any{{opts.edits * opts.seconds, len(took), quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1), cost.requests, cost.client}})
	return nil
}

// edit spoils objects one after the other, none twice.
func (c *contest) edit(ctx context.Context, opts options) ([]time.Duration, error) {
	victims := slices.DeleteFunc(slices.Clone(c.objects[first]), func(o object.Object) bool { return o.Key.Kind == "ConfigMap" })
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	n := opts.edits * opts.seconds
	if n > len(victims) {
		return nil, fmt.Errorf("%d edits need as many objects: there are %d", n, len(victims))
	}
	victims = victims[:n]
	hurt := &damage{open: map[string]*wound{}, empty: make(chan struct{}, 1)}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := c.bed.watch(watching, hurt.saw); err != nil {
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
		g.Go(func() error { return c.bed.spoil(inner, hurt, o, fmt.Sprintf("edit-%d", i)) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return hurt.healed(ctx)
}

func (b *bed) spoil(ctx context.Context, hurt *damage, o object.Object, value string) error {
	k := collectedOf(o)
	hurt.begin(nameOf(k, o.Key.Name))
	_, err := b.client.Resource(k.GroupVersionResource).Namespace(k.namespace).Patch(ctx, o.Key.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, edited, value), metav1.PatchOptions{FieldManager: "stranger"})
	return err
}

func (d *damage) begin(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[name] = &wound{since: time.Now()}
}

// saw is told of every event.
func (d *damage) saw(name string, o *unstructured.Unstructured) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.open[name]
	switch {
	case w == nil:
		return
	case o.GetLabels()[edited] != asDeclared:
		w.shown = true
	case w.shown:
		d.took = append(d.took, time.Since(w.since))
		if delete(d.open, name); len(d.open) == 0 {
			tell(d.empty)
		}
	}
}

// healed waits until nothing is open.
func (d *damage) healed(ctx context.Context) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		d.mu.Lock()
		left, took := len(d.open), slices.Clone(d.took)
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

// watch tells of every event on what arms write, until ctx ends.
func (b *bed) watch(ctx context.Context, saw func(string, *unstructured.Unstructured)) error {
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

package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// shaped is what an overlay makes of one end: the objects that it changes, by their index, or why it cannot be.
type shaped struct {
	changed map[int]object.Object
	chosen  []bool // by patches
	held    *object.Reason
	passing bool  // held by what may be over at the next try: not remembered
	failure error // of this machine, by which it is held
}

func (s shaped) wanted(w object.Wanted) object.Wanted {
	switch {
	case s.held != nil:
		return object.Wanted{End: w.End, Blocked: s.held}
	case len(s.changed) == 0:
		return w
	}
	objects := slices.Clone(w.Objects)
	for i, o := range s.changed {
		objects[i] = o
	}
	return object.Wanted{End: w.End, Objects: objects}
}

func (s shaped) size() int64 {
	size := int64(len(s.chosen))
	for _, o := range s.changed {
		size += int64(len(o.Body.Bytes())) + entryOverhead
	}
	return size
}

// shapes returns the shape of every end, by its index; those that are held or empty have none.
func (t *task) shapes(ctx context.Context) []shaped {
	out := make([]shaped, len(t.in.Ends))
	keys := make([]inputHash, len(t.in.Ends))
	var todo []int
	for i, w := range t.in.Ends {
		if w.Blocked != nil || len(w.Objects) == 0 {
			continue
		}
		keys[i] = t.keyOf(w)
		if s, ok := t.ends.find(keys[i]); ok {
			out[i] = s
			continue
		}
		todo = append(todo, i)
	}
	t.buildAll(ctx, todo, out)
	for _, i := range todo {
		if s := out[i]; !s.passing {
			t.ends.keep(keys[i], s, s.size())
		}
	}
	return out
}

// keyOf is over everything that the shape of an end depends on.
func (t *task) keyOf(w object.Wanted) inputHash {
	return t.hash(func(h io.Writer) {
		_, _ = fmt.Fprintf(h, "%q %q %q\n", w.End.Cluster, w.End.Link.Source, w.End.Link.Target)
		var line []byte
		for _, o := range w.Objects {
			line = fmt.Appendf(line[:0], "%q %q %q %q %q %d %x\n", o.Key.Group, o.Key.Kind, o.Key.Namespace, o.Key.Name, o.Version, o.Phase, o.Digest)
			_, _ = h.Write(line)
		}
	})
}

// How many ends are built at once: kustomize takes a fixed time for a build, and more than linear for its objects (see the
// benchmarks). Where only what patches choose is built, an end mostly gives one or two.
const (
	batchEnds  = 4
	narrowEnds = 12
)

// buildAll builds the ends of these indices in batches, several at once.
func (t *task) buildAll(ctx context.Context, todo []int, out []shaped) {
	var g errgroup.Group
	g.SetLimit(t.cage.width())
	failures := &atomic.Int32{}
	for _, batch := range t.batches(todo) {
		g.Go(func() error {
			t.buildBatch(ctx, batch, out, failures)
			return nil
		})
	}
	_ = g.Wait()
}

// batches cuts the ends to be built; no two of one batch hold objects of one key.
func (t *task) batches(todo []int) [][]int {
	var out [][]int
	var keys map[object.Key]bool
	most := batchEnds
	if t.narrow {
		most = narrowEnds
	}
	for _, i := range todo {
		last := len(out) - 1
		fits := last >= 0 && len(out[last]) < most &&
			!slices.ContainsFunc(t.in.Ends[i].Objects, func(o object.Object) bool { return keys[o.Key] })
		if !fits {
			out, keys, last = append(out, nil), map[object.Key]bool{}, last+1
		}
		out[last] = append(out[last], i)
		for _, o := range t.in.Ends[i].Objects {
			keys[o.Key] = true
		}
	}
	return out
}

// maxFailures is how many builds of one call may fail for another reason than what they build, each of which can take as
// long as a build may, before the ends that are left are held with them.
const maxFailures = 4

// buildBatch builds ends together and, where that fails, each alone: so that only those are held that are the cause.
func (t *task) buildBatch(ctx context.Context, batch []int, out []shaped, failures *atomic.Int32) {
	if failures.Load() >= maxFailures {
		for _, i := range batch {
			out[i] = t.failed(i, fmt.Errorf("not built, because %d builds of other ends failed", maxFailures))
		}
		return
	}
	err := t.build(ctx, batch, out)
	if err != nil && !lasting(err) {
		failures.Add(1)
	}
	switch {
	case err == nil:
	case len(batch) > 1 && ctx.Err() == nil:
		for _, i := range batch {
			t.buildBatch(ctx, []int{i}, out, failures)
		}
	default:
		for _, i := range batch {
			out[i] = t.failed(i, err)
		}
	}
}

// lasting reports whether an error is one of what is built, which it will be at every try.
func lasting(err error) bool {
	_, ok := errors.AsType[buildError](err)
	return ok
}

// failed holds an end that could not be built. What its patches choose is known nevertheless.
func (t *task) failed(i int, err error) shaped {
	s := shaped{chosen: make([]bool, len(t.choosers)), passing: !lasting(err)}
	if _, blamed := blames(err); !blamed {
		s.failure = err
	}
	for _, o := range t.in.Ends[i].Objects {
		if in, err := newInput(o); err == nil {
			choose(t.choosers, s.chosen, in.before)
		}
	}
	at := ""
	for n, p := range t.component.Patches {
		if s.chosen[n] {
			at += ", " + p.At.String()
		}
	}
	if at != "" {
		at = "; patched at " + at[2:]
	}
	s.held = object.Because(reason.OverlayInvalid, "overlay %s: build it with this end: %s%s", t.in.Dir, shorter(err), at)
	return s
}

// shorter takes off what kustomize says of every failure in a Component.
func shorter(err error) string {
	return regexp.MustCompile(`^accumulating components: accumulateDirectory: "recursed accumulation of path '[^']*': (.*)"$`).
		ReplaceAllString(err.Error(), "$1")
}

// build runs the Component over the objects of some ends, and compares what comes out. What is wrong with what comes out
// is an error of the build.
func (t *task) build(ctx context.Context, batch []int, out []shaped) error {
	inputs, resources, err := t.inputs(batch)
	if err != nil {
		return buildError(err.Error())
	}
	var done built
	if len(inputs) > 0 {
		if done, err = t.cage.build(ctx, t.job(resources)); err != nil {
			return err
		}
	}
	for _, i := range batch {
		out[i] = shaped{chosen: make([]bool, len(t.choosers))}
	}
	if err := t.judge(done, inputs, out); err != nil {
		return buildError(err.Error())
	}
	return nil
}

// inputs are the objects of some ends as they go into a build.
func (t *task) inputs(batch []int) (inputs []input, resources []json.RawMessage, err error) {
	for _, i := range batch {
		for j, o := range t.in.Ends[i].Objects {
			in, err := newInput(o)
			switch {
			case err != nil:
				return nil, nil, err
			case t.narrow && !t.chosen(in.before):
				continue
			}
			in.end, in.index = i, j
			inputs, resources = append(inputs, in), append(resources, in.body)
		}
	}
	return inputs, resources, nil
}

// judge makes the shapes of ends out of what came out for their objects.
func (t *task) judge(done built, inputs []input, out []shaped) error {
	results, err := t.results(done, inputs)
	if err != nil {
		return err
	}
	blame := map[int][]offence{}
	for n, in := range inputs {
		s := &out[in.end]
		choose(t.choosers, s.chosen, in.before)
		choose(t.choosers, s.chosen, results[n])
		faults, err := t.compare(in, results[n], s)
		if err != nil {
			return err
		}
		blame[in.end] = append(blame[in.end], faults...)
	}
	for i, faults := range blame {
		if len(faults) > 0 {
			out[i] = shaped{chosen: out[i].chosen, held: t.refuse(faults)}
		}
	}
	return nil
}

// job builds the Component over some objects.
func (t *task) job(resources []json.RawMessage) job {
	return job{Files: t.component.Files, Dir: t.component.Dir, Component: true, Resources: resources}
}

// results finds what came out for each input; nil: nothing did. What the Component brings in by itself is passed over.
// An object that is neither is an error: an overlay makes nothing out of an end.
func (t *task) results(done built, inputs []input) ([]map[string]any, error) {
	at := make(map[object.Key]int, len(inputs))
	for n, in := range inputs {
		at[in.object.Key] = n
	}
	out := make([]map[string]any, len(inputs))
	var strange []string
	for _, m := range done.Objects {
		content, err := decode(m.Body)
		if err != nil {
			return nil, err
		}
		key := identify(content).key
		n, ok := at[key]
		switch {
		case ok && out[n] == nil:
			out[n] = content
		case ok:
			return nil, fmt.Errorf("it creates two objects %s", key)
		case !t.isExtra(key):
			strange = append(strange, key.String())
		}
	}
	if len(strange) > 0 && !slices.ContainsFunc(out, func(m map[string]any) bool { return m == nil }) {
		return nil, fmt.Errorf("it creates %s from this end: an overlay may add only objects from its own files", strange[0])
	}
	return out, nil
}

// isExtra finds what the Component brings in; where it left out the namespace, that was filled in.
func (t *task) isExtra(key object.Key) bool {
	if key.Namespace == "" {
		key.Namespace = t.in.Namespace
	}
	_, ok := t.base.at[key]
	return ok
}

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

// endResult is the result of an overlay for one end: the changed objects, by their index, or why the end is blocked.
type endResult struct {
	changed   map[int]object.Object
	chosen    []bool // whether each patch selects an object of the end
	blocked   *object.Reason
	transient bool  // blocked by an error that may not happen again: not cached
	failure   error // of this machine, which blocks it
}

func (s endResult) apply(w object.Desired) object.Desired {
	switch {
	case s.blocked != nil:
		return object.Desired{End: w.End, Blocked: s.blocked}
	case len(s.changed) == 0:
		return w
	}
	objects := slices.Clone(w.Objects)
	for i, o := range s.changed {
		objects[i] = o
	}
	return object.Desired{End: w.End, Objects: objects}
}

func (s endResult) size() int64 {
	size := int64(len(s.chosen))
	for _, o := range s.changed {
		size += int64(len(o.Body.Bytes())) + entryOverhead
	}
	return size
}

// endResults returns the result for every end, by its index; blocked and empty ends have none.
func (t *task) endResults(ctx context.Context) []endResult {
	out := make([]endResult, len(t.in.Ends))
	keys := make([]inputHash, len(t.in.Ends))
	var todo []int
	for i, w := range t.in.Ends {
		if w.Blocked != nil || len(w.Objects) == 0 {
			continue
		}
		keys[i] = t.keyOf(w)
		if s, ok := t.ends.get(keys[i]); ok {
			out[i] = s
			continue
		}
		todo = append(todo, i)
	}
	t.buildAll(ctx, todo, out)
	for _, i := range todo {
		if s := out[i]; !s.transient {
			t.ends.put(keys[i], s, s.size())
		}
	}
	return out
}

// keyOf is the cache key of an end's result: the hash of all that it depends on.
func (t *task) keyOf(w object.Desired) inputHash {
	return t.hash(func(h io.Writer) {
		_, _ = fmt.Fprintf(h, "%q %q %q\n", w.End.Cluster, w.End.Link.Source, w.End.Link.Target)
		var line []byte
		for _, o := range w.Objects {
			line = fmt.Appendf(line[:0], "%q %q %q %q %q %d %x\n", o.Key.Group, o.Key.Kind, o.Key.Namespace, o.Key.Name, o.Version, o.Phase, o.Digest)
			_, _ = h.Write(line)
		}
	})
}

// How many ends are built at once: a build takes a fixed time, and more than linear time for its objects (see the
// benchmarks). If only selected objects are built, an end mostly has one or two.
const (
	batchEnds  = 4
	narrowEnds = 12
)

// buildAll builds the ends with these indices in batches, several at once.
func (t *task) buildAll(ctx context.Context, todo []int, out []endResult) {
	var g errgroup.Group
	g.SetLimit(t.sandbox.width())
	failures := &atomic.Int32{}
	for _, batch := range t.batches(todo) {
		g.Go(func() error {
			t.buildBatch(ctx, batch, out, failures)
			return nil
		})
	}
	_ = g.Wait()
}

// batches groups the ends to be built; no two objects of one batch have the same key.
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

// maxFailures is how many builds of one call may fail because of this machine before all remaining ends are blocked: each can take
// the whole time limit.
const maxFailures = 4

// buildBatch builds ends together, and each alone if that fails, so that only ends that cause the failure are blocked.
func (t *task) buildBatch(ctx context.Context, batch []int, out []endResult, failures *atomic.Int32) {
	if failures.Load() >= maxFailures {
		for _, i := range batch {
			out[i] = t.blockedBy(i, fmt.Errorf("not built, because %d builds of other ends failed", maxFailures))
		}
		return
	}
	err := t.build(ctx, batch, out)
	if err != nil && !isPermanent(err) {
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
			out[i] = t.blockedBy(i, err)
		}
	}
}

// isPermanent reports whether an error is about the input, so that every attempt fails.
func isPermanent(err error) bool {
	_, ok := errors.AsType[buildError](err)
	return ok
}

// blockedBy is the result of an end that could not be built. It has the patches that select an object nevertheless.
func (t *task) blockedBy(i int, err error) endResult {
	s := endResult{chosen: make([]bool, len(t.targets)), transient: !isPermanent(err)}
	if _, blamed := inputHint(err); !blamed {
		s.failure = err
	}
	for _, o := range t.in.Ends[i].Objects {
		if in, err := newInput(o); err == nil {
			markMatching(t.targets, s.chosen, in.before)
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
	s.blocked = object.Because(reason.OverlayInvalid, "overlay %s: kustomize cannot build it with this end: %s%s", t.in.Dir, shortError(err), at)
	return s
}

// shortError removes the prefix that kustomize adds to every failure in a Component.
func shortError(err error) string {
	return regexp.MustCompile(`^accumulating components: accumulateDirectory: "recursed accumulation of path '[^']*': (.*)"$`).
		ReplaceAllString(err.Error(), "$1")
}

// build applies the Component to the objects of some ends, and compares the result. An unexpected result is an error of the
// build.
func (t *task) build(ctx context.Context, batch []int, out []endResult) error {
	inputs, resources, err := t.inputs(batch)
	if err != nil {
		return buildError(err.Error())
	}
	var done buildResult
	if len(inputs) > 0 {
		if done, err = t.sandbox.build(ctx, t.job(resources)); err != nil {
			return err
		}
	}
	for _, i := range batch {
		out[i] = endResult{chosen: make([]bool, len(t.targets))}
	}
	if err := t.collect(done, inputs, out); err != nil {
		return buildError(err.Error())
	}
	return nil
}

// inputs are the objects of some ends as inputs of a build.
func (t *task) inputs(batch []int) (inputs []input, resources []json.RawMessage, err error) {
	for _, i := range batch {
		for j, o := range t.in.Ends[i].Objects {
			in, err := newInput(o)
			switch {
			case err != nil:
				return nil, nil, err
			case t.narrow && !t.isPatched(in.before):
				continue
			}
			in.end, in.index = i, j
			inputs, resources = append(inputs, in), append(resources, in.body)
		}
	}
	return inputs, resources, nil
}

// collect makes the results of ends from the built objects.
func (t *task) collect(done buildResult, inputs []input, out []endResult) error {
	results, err := t.outputsOf(done, inputs)
	if err != nil {
		return err
	}
	blame := map[int][]objectViolation{}
	for n, in := range inputs {
		s := &out[in.end]
		markMatching(t.targets, s.chosen, in.before)
		markMatching(t.targets, s.chosen, results[n])
		faults, err := t.compare(in, results[n], s)
		if err != nil {
			return err
		}
		blame[in.end] = append(blame[in.end], faults...)
	}
	for i, faults := range blame {
		if len(faults) > 0 {
			out[i] = endResult{chosen: out[i].chosen, blocked: t.deniedReason(faults)}
		}
	}
	return nil
}

// job builds the Component over some objects.
func (t *task) job(resources []json.RawMessage) job {
	return job{Files: t.component.Files, Dir: t.component.Dir, Component: true, Resources: resources}
}

// outputsOf finds the built object of each input; nil: it was removed. It ignores the Component's own objects.
// Any other object is an error: an overlay does not derive objects from an end.
func (t *task) outputsOf(done buildResult, inputs []input) ([]map[string]any, error) {
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

// isExtra reports whether the Component adds the object itself; a missing namespace was filled in.
func (t *task) isExtra(key object.Key) bool {
	if key.Namespace == "" {
		key.Namespace = t.in.Namespace
	}
	_, ok := t.base.at[key]
	return ok
}

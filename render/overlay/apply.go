package overlay

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Input is one cluster with its overlay: a Component of a tree, which is applied to each of its ends.
type Input struct {
	Tree      fs.FS
	Dir       string  // of the Component
	At        api.Pos // of spec.overlay
	Cluster   api.ClusterName
	Owner     string
	Namespace string           // the cluster's multicluster namespace: what the Component brings in goes there
	Ends      []object.Desired // all of the cluster, its base included
}

// Output is the result for one cluster.
type Output struct {
	// Ends are the ends of the input, in their order. A blocked one stays as it was; one that the overlay does not
	// change is the same value.
	Ends     []object.Desired
	Problems []api.Problem // of the Component; if one is no warning, all ends are blocked
	Patches  []Patch       // of the Component; none, if the Component is wrong
	// Err is why this machine could not build the Component, or could not build it with some ends: the first reason. It is no
	// fault of the tree, so Problems does not have it, and the next call tries again. The affected ends, or all of them, are
	// blocked.
	Err error
}

// Patch is one patch of a Component. It does nothing if none of the clusters that share the Component has an object that it
// selects.
type Patch struct {
	Pos     api.Pos
	Text    string // its target, for people
	Selects bool   // it chooses an object of an end, or of what the Component brings in
}

// builder is the part of the sandbox that an Applier needs.
type builder interface {
	// check validates the Component in a directory of a tree; at is the position that names it. With a problem that is no
	// warning, the result must not be used.
	check(tree fs.FS, dir string, at api.Pos) (validated, []api.Problem)
	build(context.Context, job) (buildResult, error)
	width() int // how many builds run at once
}

func (c *Sandbox) check(tree fs.FS, dir string, at api.Pos) (validated, []api.Problem) {
	return validateComponent(tree, dir, at, c.options.Limits)
}

func (c *Sandbox) width() int { return cap(c.slots) }

// Applier applies overlays. It caches what it built, and is safe for concurrent use.
type Applier struct {
	sandbox builder
	kinds   Kinds
	table   table
	ends    *lruCache[endResult]
	bases   *lruCache[*base]
	backoff *backoff
}

// Sizes of an Applier's caches in bytes: about 5,000 ends in which the overlay changes every object.
const (
	endsMemory  = 128 << 20
	basesMemory = 16 << 20
)

// NewApplier makes one that builds in a sandbox. Components may add objects of these kinds.
func NewApplier(c *Sandbox, k Kinds) *Applier { return newApplier(c, k) }

func newApplier(c builder, k Kinds) *Applier {
	return &Applier{
		sandbox: c, kinds: k, table: newTable(),
		ends: newLRUCache[endResult](endsMemory), bases: newLRUCache[*base](basesMemory), backoff: &backoff{},
	}
}

// Apply applies an overlay to the ends of its cluster. It blocks ends on failure: all of them if the
// Component itself is invalid, else those that it cannot be applied to.
func (a *Applier) Apply(ctx context.Context, in Input) Output {
	c, problems := a.sandbox.check(in.Tree, in.Dir, in.At)
	t := &task{Applier: a, in: in, component: c}
	if !hasErrors(problems) {
		more, err := t.prepare(ctx)
		if err != nil {
			return Output{Ends: block(in, object.Because(reason.OverlayInvalid, "build the overlay %s: %v", in.Dir, err)), Problems: problems, Err: err}
		}
		problems = append(problems, more...)
	}
	if hasErrors(problems) {
		return Output{Ends: block(in, invalidOverlay(in, problems)), Problems: problems}
	}
	shapes := t.endResults(ctx)
	out := Output{Ends: slices.Clone(in.Ends), Problems: problems, Patches: t.patches(shapes)}
	for i, s := range shapes {
		if in.Ends[i].Blocked == nil {
			out.Ends[i] = s.apply(in.Ends[i])
		}
		if out.Err == nil {
			out.Err = s.failure
		}
	}
	t.addExtras(&out)
	return out
}

// task is one call of Apply.
type task struct {
	*Applier
	in        Input
	component validated
	targets   []patchTarget // by the Component's patches
	narrow    bool          // the Component changes only what its patches choose
	base      *base
}

// prepare validates and builds the Component without any end; an error is one of this machine.
func (t *task) prepare(ctx context.Context) ([]api.Problem, error) {
	for _, p := range t.component.Patches {
		c, err := newPatchTarget(p.Target)
		if err != nil {
			return []api.Problem{{Pos: p.At, Message: fmt.Sprintf("the target of a patch is invalid: %v", err), Hint: "write names and kinds as regular expressions, and selectors as label selectors"}}, nil
		}
		t.targets = append(t.targets, c)
	}
	t.narrow = t.component.onlyPatches()
	b, err := t.baseOf(ctx)
	if err != nil {
		if _, blamed := inputHint(err); blamed {
			return t.problemsOf(err), nil
		}
		return nil, err
	}
	t.base = b
	return append(slices.Clone(b.problems), t.nameConflicts()...), nil
}

// nameConflicts finds objects of the Component that have the key of an object of an end.
func (t *task) nameConflicts() []api.Problem {
	var out []api.Problem
	for _, w := range t.in.Ends {
		for _, o := range w.Objects {
			if at, ok := t.base.at[o.Key]; ok {
				out = append(out, api.Problem{
					Pos: at, Message: fmt.Sprintf("linkwright already renders %s, for %s", o.Key, w.End),
					Hint: "change it with a patch that has a target, or give your object another name",
				})
			}
		}
	}
	return out
}

// addExtras adds the Component's own objects to the cluster's base.
func (t *task) addExtras(out *Output) {
	i := slices.IndexFunc(out.Ends, func(w object.Desired) bool { return w.End.IsBase() })
	if len(t.base.objects) == 0 || i >= 0 && out.Ends[i].Blocked != nil {
		return
	}
	if i < 0 {
		i = len(out.Ends)
		out.Ends = append(out.Ends, object.Desired{End: object.End{Cluster: t.in.Cluster}})
	}
	out.Ends[i].Objects = slices.Concat(out.Ends[i].Objects, t.base.objects)
	slices.SortStableFunc(out.Ends[i].Objects, func(x, y object.Object) int {
		if x.Phase != y.Phase {
			return int(x.Phase) - int(y.Phase)
		}
		return x.Key.Compare(y.Key)
	})
}

// patches reports for each patch whether it selects any object of an end or of the base.
func (t *task) patches(shapes []endResult) []Patch {
	out := make([]Patch, len(t.component.Patches))
	for i, p := range t.component.Patches {
		chosen := t.base.chosen[i] || slices.ContainsFunc(shapes, func(s endResult) bool { return s.chosen != nil && s.chosen[i] })
		out[i] = Patch{Pos: p.At, Text: describe(p.Target), Selects: chosen}
	}
	return out
}

// hasErrors reports whether a problem is more than a warning.
func hasErrors(problems []api.Problem) bool {
	return slices.ContainsFunc(problems, func(p api.Problem) bool { return !p.Warning })
}

// invalidOverlay is the reason of all ends of a cluster whose Component is invalid.
func invalidOverlay(in Input, problems []api.Problem) *object.Reason {
	first := problems[slices.IndexFunc(problems, func(p api.Problem) bool { return !p.Warning })]
	more := ""
	if n := len(problems) - 1; n > 0 {
		more = fmt.Sprintf("; and %d more: run linkwright validate PATH", n)
	}
	return object.Because(reason.OverlayInvalid, "overlay %s is invalid: %s%s", in.Dir, first, more)
}

// block blocks every end that is not blocked already.
func block(in Input, why *object.Reason) []object.Desired {
	out := slices.Clone(in.Ends)
	for i, w := range out {
		if w.Blocked == nil {
			out[i] = object.Desired{End: w.End, Blocked: why}
		}
	}
	return out
}

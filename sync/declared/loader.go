package declared

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/overlay"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/source"
)

// Origin is a tree of declarations as it was read. Dir is where it lies, seen from the root of its repository or, of a
// plain directory, from the working directory; empty where that is the same. Name is what people call a tree of one file that has no
// name, such as <stdin>; empty otherwise. A tree of one file is Single: it has no directories to choose from.
type Origin struct {
	source.Snapshot
	Dir, Name string
	Single    bool
}

// place names the files of problems as they are seen from where people are.
func (o Origin) place(problems []api.Problem) []api.Problem {
	for i := range problems {
		p := &problems[i]
		if o.Single {
			p.Hint = strings.Replace(p.Hint, fleet.OrPath, "", 1)
		}
		if o.Single && o.Name == "" && p.Code == fleet.NoClusters {
			p.Hint = "linkwright read one file alone: to check it with the rest, run linkwright validate " + cmp.Or(o.Dir, ".")
		}
		p.Pos.File = o.named(p.Pos.File)
		if p.See.File != "" {
			p.See.File = o.named(p.See.File)
		}
	}
	return problems
}

// named is a file of the tree as people see it.
func (o Origin) named(file string) string {
	if o.Name != "" {
		return o.Name
	}
	return path.Join(o.Dir, file)
}

// Options are those of a Loader.
type Options struct {
	Owner        string
	OverlayKinds []string     // kinds of the objects that overlays may add
	MaxLinks     int          // that a tree may declare; 0: DefaultMaxLinks
	Warn         func(string) // is called if builds cannot be isolated
}

// Loader builds trees and applies overlays, in children of this process.
type Loader struct {
	owner    string
	maxLinks int
	sandbox  *overlay.Sandbox
	applier  *overlay.Applier
}

// NewLoader starts nothing: the first build does. Once ctx has ended, no build goes on. Its error is about Options.OverlayKinds.
func NewLoader(ctx context.Context, o Options) (*Loader, error) {
	allowed, err := overlay.ParseKinds(o.OverlayKinds)
	if err != nil {
		return nil, err
	}
	sandbox := overlay.New(overlay.Options{Warn: o.Warn})
	out := &Loader{owner: o.Owner, maxLinks: cmp.Or(o.MaxLinks, DefaultMaxLinks), sandbox: sandbox, applier: overlay.NewApplier(sandbox, allowed)}
	context.AfterFunc(ctx, out.Close)
	return out, nil
}

// Close ends the children.
func (l *Loader) Close() { _ = l.sandbox.Close() } // it fails at nothing that could be told

// Load returns the fleet that a tree declares, built if it says so, or nil, and all problems, whose files are named so that editors and CI find
// them. It is the one place where a tree becomes a fleet. What is no fault of the tree is an error; an overlay that this machine cannot build now is
// none: the ends that it shapes are held, and tell it.
func (l *Loader) Load(ctx context.Context, o Origin) (*fleet.Fleet, []api.Problem, error) {
	return l.LoadWith(ctx, o, func(ctx context.Context, f *fleet.Fleet) ([]api.Problem, error) {
		return l.components(ctx, f), ctx.Err()
	})
}

// LoadOptions judges the overlays of a fleet.
type LoadOptions func(context.Context, *fleet.Fleet) ([]api.Problem, error)

// LoadWith loads a tree; its overlays are read once all else is right.
func (l *Loader) LoadWith(ctx context.Context, o Origin, at LoadOptions) (*fleet.Fleet, []api.Problem, error) {
	if fleet.Unbuilt(o.Tree) {
		if secrets := fleet.Secrets(o.Tree); len(secrets) > 0 {
			return nil, o.place(secrets), nil // nothing is built of them
		}
	}
	tree, problems, err := l.sandbox.Flatten(ctx, o.Tree)
	if err != nil || slices.ContainsFunc(problems, IsError) {
		return nil, o.place(problems), err
	}
	f, more := fleet.Load(o.Commit, tree)
	if problems = append(problems, more...); f != nil {
		if excess := tooManyLinks(f, l.maxLinks); len(excess) > 0 {
			return nil, o.place(append(problems, excess...)), nil
		}
		more, err = at(ctx, f)
		problems = append(problems, more...)
	}
	if err != nil || slices.ContainsFunc(problems, IsError) {
		f = nil
	}
	return f, o.place(problems), err
}

// IsError reports whether a problem is no warning.
func IsError(p api.Problem) bool { return !p.Warning }

// checkTimeout is how long a commit's overlays are read before its fleet is taken as it is: what is wrong with the others holds their ends.
const checkTimeout = time.Minute

// components builds every overlay by itself: what is wrong with one is known before any cluster is asked.
func (l *Loader) components(ctx context.Context, f *fleet.Fleet) []api.Problem {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var out Findings
	for _, c := range f.Clusters {
		if c.Overlay != nil && ctx.Err() == nil {
			base := render.Renderer{Owner: l.owner}.Complete(c, nil)
			out.Add(l.Apply(ctx, c, base).Problems...)
		}
	}
	return out.Sorted()
}

func (l *Loader) input(c fleet.Cluster, ends []object.Desired) overlay.Input {
	return overlay.Input{
		Tree: c.Overlay.Tree, Dir: c.Overlay.Dir, At: c.Overlay.At, Cluster: c.Name, Owner: l.owner,
		Namespace: c.Spec.Linkerd.MulticlusterNamespace, Ends: ends,
	}
}

// Apply applies a cluster's overlay to its ends.
func (l *Loader) Apply(ctx context.Context, c fleet.Cluster, ends []object.Desired) overlay.Output {
	return l.applier.Apply(ctx, l.input(c, ends))
}

// Renderer returns one with overlays applied.
func (l *Loader) Renderer(of plan.Renderer) plan.Renderer { return overlays{of, l} }

// Findings are problems, each told once, however many clusters share what it is about.
type Findings map[api.Problem]bool

// Add adds problems.
func (f *Findings) Add(problems ...api.Problem) {
	if *f == nil {
		*f = Findings{}
	}
	for _, p := range problems {
		(*f)[p] = true
	}
}

// Sorted returns them by position.
func (f *Findings) Sorted() []api.Problem {
	return slices.SortedFunc(maps.Keys(*f), func(a, b api.Problem) int {
		return cmp.Or(api.ComparePos(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint))
	})
}

// overlays applies the clusters' overlays to what is rendered.
type overlays struct {
	plan.Renderer
	loader *Loader
}

// Complete implements plan.Renderer. The cage bounds the time that it takes.
func (r overlays) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	ends = r.Renderer.Complete(c, ends)
	if c.Overlay == nil {
		return ends
	}
	return r.loader.Apply(context.Background(), c, ends).Ends
}

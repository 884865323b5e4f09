package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/overlay"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// kustomizeFlags say what repositories that use kustomize may do.
type kustomizeFlags struct {
	kinds []string
}

func (k *kustomizeFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&k.kinds, "overlay-kinds", overlay.DefaultKinds().Words(),
		"kinds of the objects that overlays may bring in: Kind, Kind.group, or policy.linkerd.io")
}

// open starts nothing: the first build does. Once ctx has ended, no build goes on.
// It may have something to warn of.
func (k *kustomizeFlags) open(ctx context.Context, owner string, warn func(string)) (*kustomize, error) {
	kinds, err := overlay.ParseKinds(k.kinds)
	if err != nil {
		return nil, usage("--overlay-kinds: %w", err)
	}
	cage := overlay.New(overlay.Options{Warn: warn})
	out := &kustomize{owner: owner, cage: cage, applier: overlay.NewApplier(cage, kinds)}
	context.AfterFunc(ctx, out.close)
	return out, nil
}

// warner tells people on stderr.
func warner(stderr io.Writer) func(string) {
	return func(text string) { say(stderr, "linkwright: warning: "+text) }
}

// kustomize builds trees and applies overlays, in children of this process.
type kustomize struct {
	owner   string
	cage    *overlay.Cage
	applier *overlay.Applier
}

// close ends the children.
func (k *kustomize) close() { _ = k.cage.Close() } // it fails at nothing that could be told

// load gives the fleet that a tree declares, built if it says so, or nil, and all problems, whose files are named so
// that editors and CI find them. It is the one place where a tree becomes a fleet. What is no fault of the tree is an
// error; an overlay that this machine cannot build now is none: the ends that it shapes are held, and tell it.
func (k *kustomize) load(ctx context.Context, o origin) (*fleet.Fleet, []api.Problem, error) {
	return k.fleet(ctx, o, func(ctx context.Context, f *fleet.Fleet) ([]api.Problem, error) {
		return k.components(ctx, f), ctx.Err()
	})
}

// validate is load, and every overlay tried on all that its clusters would hold.
func (k *kustomize) validate(ctx context.Context, from origin, o *offline) (*fleet.Fleet, []api.Problem, error) {
	return k.fleet(ctx, from, func(ctx context.Context, f *fleet.Fleet) ([]api.Problem, error) {
		var all findings
		problems, err := k.rehearse(ctx, f)
		all.add(problems...)
		all.add(o.tooOld(f)...)
		return all.sorted(), err
	})
}

// look judges the overlays of a fleet.
type look func(context.Context, *fleet.Fleet) ([]api.Problem, error)

// fleet loads a tree; its overlays are looked at once all else is right.
func (k *kustomize) fleet(ctx context.Context, o origin, at look) (*fleet.Fleet, []api.Problem, error) {
	if fleet.Unbuilt(o.Tree) {
		if secrets := fleet.Secrets(o.Tree); len(secrets) > 0 {
			return nil, o.place(secrets), nil // nothing is built of them
		}
	}
	tree, problems, err := k.cage.Flatten(ctx, o.Tree)
	if err != nil || slices.ContainsFunc(problems, isError) {
		return nil, o.place(problems), err
	}
	f, more := fleet.Load(o.Commit, tree)
	if problems = append(problems, more...); f != nil {
		more, err = at(ctx, f)
		problems = append(problems, more...)
	}
	if err != nil || slices.ContainsFunc(problems, isError) {
		f = nil
	}
	return f, o.place(problems), err
}

func isError(p api.Problem) bool { return !p.Warning }

// looking is how long a commit's overlays are looked at before its fleet is taken as it is: what is wrong with the others
// holds their ends.
const looking = time.Minute

// components builds every overlay by itself: what is wrong with one is known before any cluster is asked.
func (k *kustomize) components(ctx context.Context, f *fleet.Fleet) []api.Problem {
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	var out findings
	for _, c := range f.Clusters {
		if c.Overlay != nil && ctx.Err() == nil {
			base := render.Renderer{Owner: k.owner}.Complete(c, nil)
			out.add(k.applier.Apply(ctx, k.input(c, base)).Problems...)
		}
	}
	return out.sorted()
}

func (k *kustomize) input(c fleet.Cluster, ends []object.Wanted) overlay.Input {
	return overlay.Input{
		Tree: c.Overlay.Tree, Dir: c.Overlay.Dir, At: c.Overlay.At, Cluster: c.Name, Owner: k.owner,
		Namespace: c.Spec.Linkerd.MulticlusterNamespace, Ends: ends,
	}
}

// rehearse applies every overlay to all ends of its clusters, as they are rendered without any cluster: so it also finds
// an end that an overlay cannot be applied to, and a patch that does nothing anywhere.
func (k *kustomize) rehearse(ctx context.Context, f *fleet.Fleet) ([]api.Problem, error) {
	var out findings
	patches := map[overlay.Patch]bool{} // that chose something, without Chosen
	w := k.rehearsal(f)
	for _, c := range f.Clusters {
		if c.Overlay == nil {
			continue
		}
		result := k.applier.Apply(ctx, k.input(c, plan.Wants(w, c.Name, render.New(k.owner))))
		if err := cmp.Or(ctx.Err(), result.Err); err != nil {
			return out.sorted(), fmt.Errorf("apply the overlay %s of cluster %s: %w", c.Overlay.Dir, c.Name, err)
		}
		out.add(result.Problems...)
		for _, p := range result.Patches {
			chosen := p.Chosen
			p.Chosen = false
			patches[p] = patches[p] || chosen
		}
		if !slices.ContainsFunc(result.Problems, isError) {
			out.add(refused(c, result.Ends)...)
		}
	}
	for p, chosen := range patches {
		if !chosen {
			out.add(api.Problem{
				Pos: p.Pos, Warning: true, Code: idlePatch,
				Message: fmt.Sprintf("this patch changes nothing in any cluster: its target is %s", p.Text),
				Hint:    "linkwright render shows what there is",
			})
		}
	}
	return out.sorted(), nil
}

// refused tells of the first end that an overlay cannot be applied to, for all of its cluster.
func refused(c fleet.Cluster, ends []object.Wanted) []api.Problem {
	held := slices.DeleteFunc(slices.Clone(ends), func(w object.Wanted) bool { return w.Held == nil || w.Held.Code != overlay.Reason })
	if len(held) == 0 {
		return nil
	}
	p := api.Problem{Pos: c.Overlay.At, Message: held[0].End.String() + ": " + held[0].Held.Message}
	if more := len(held) - 1; more > 0 {
		p.Message += fmt.Sprintf("; the like for %d more ends in this cluster", more)
	}
	return []api.Problem{p}
}

// idlePatch is the machine's word for a patch that chooses nothing anywhere.
const idlePatch = "IdlePatch"

// rehearsal is a world without clusters, as far as overlays are concerned.
func (k *kustomize) rehearsal(f *fleet.Fleet) plan.World {
	o := offline{owner: k.owner}
	w := plan.World{Owner: k.owner, Fleet: f, Sides: map[api.ClusterName]pair.Side{}}
	var links []fleet.Link
	for _, c := range f.Clusters {
		w.Sides[c.Name] = o.side(f, c)
		if c.Overlay != nil {
			links = append(links, f.Out(c.Name)...)
		}
	}
	w.Fresh = standInCredentials(slices.Values(links))
	return w
}

// findings are problems, each told once, however many clusters share what it is about.
type findings map[api.Problem]bool

func (f *findings) add(problems ...api.Problem) {
	if *f == nil {
		*f = findings{}
	}
	for _, p := range problems {
		(*f)[p] = true
	}
}

func (f *findings) sorted() []api.Problem {
	return slices.SortedFunc(maps.Keys(*f), func(a, b api.Problem) int {
		return cmp.Or(api.ComparePos(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint))
	})
}

// overlays applies the clusters' overlays to what is rendered.
type overlays struct {
	plan.Renderer
	kustomize *kustomize
}

// Complete implements plan.Renderer. The cage bounds the time that it takes.
func (r overlays) Complete(c fleet.Cluster, ends []object.Wanted) []object.Wanted {
	ends = r.Renderer.Complete(c, ends)
	if c.Overlay == nil {
		return ends
	}
	return r.kustomize.applier.Apply(context.Background(), r.kustomize.input(c, ends)).Ends
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/overlay"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// DeclarationFlags bound what a repository may declare.
type DeclarationFlags struct {
	kinds    []string
	maxLinks int
}

// Add adds the flags that bound what a repository may declare.
func (k *DeclarationFlags) Add(f *pflag.FlagSet) {
	f.IntVar(&k.maxLinks, "max-links", declared.DefaultMaxLinks, "refuse a commit that declares more links: more need a higher memory limit")
	f.StringSliceVar(&k.kinds, "overlay-kinds", overlay.DefaultKinds().Words(),
		"kinds of the objects that overlays may add: Kind, Kind.group, or policy.linkerd.io")
}

// MayAdd reports whether overlays may add an object of the kind of this one.
func (k *DeclarationFlags) MayAdd(o object.Key) bool {
	kinds, err := overlay.ParseKinds(k.kinds)
	return err == nil && kinds.Allows(o.Group, o.Kind)
}

// Open starts nothing: the first build does. Once ctx has ended, no build goes on.
// It may have something to warn of.
func (k *DeclarationFlags) Open(ctx context.Context, owner string, warn func(string)) (*Kustomize, error) {
	if k.maxLinks < 1 {
		return nil, Usage("--max-links %d: want at least 1", k.maxLinks)
	}
	loader, err := declared.NewLoader(ctx, declared.Options{Owner: owner, OverlayKinds: k.kinds, MaxLinks: k.maxLinks, Warn: warn})
	if err != nil {
		return nil, Usage("--overlay-kinds: %w", err)
	}
	return &Kustomize{loader, owner}, nil
}

// Warner warns on stderr.
func Warner(stderr io.Writer) func(string) {
	return func(text string) { Say(stderr, "linkwright: warning: "+text) }
}

// Kustomize is a loader for commands that people wait for: they try overlays on all that clusters would hold.
type Kustomize struct {
	*declared.Loader
	owner string
}

// Validate is load, and every overlay tried on all that its clusters would hold.
func (k *Kustomize) Validate(ctx context.Context, from declared.Origin, o *Offline) (*fleet.Fleet, []api.Problem, error) {
	return k.LoadWith(ctx, from, func(ctx context.Context, f *fleet.Fleet) ([]api.Problem, error) {
		var all declared.Findings
		problems, err := k.tryOverlays(ctx, f)
		all.Add(problems...)
		all.Add(o.tooOld(f)...)
		return all.Sorted(), err
	})
}

// tryOverlays applies every overlay to all ends of its clusters, as they are rendered without any cluster: so it also finds
// an end that an overlay cannot be applied to, and a patch that does nothing anywhere.
func (k *Kustomize) tryOverlays(ctx context.Context, f *fleet.Fleet) ([]api.Problem, error) {
	var out declared.Findings
	patches := map[overlay.Patch]bool{} // that chose something, without Selects
	w := k.offline(f)
	for _, c := range f.Clusters {
		if c.Overlay == nil {
			continue
		}
		result := k.Apply(ctx, c, plan.DesiredEnds(w, c.Name, render.New(k.owner)))
		if err := cmp.Or(ctx.Err(), result.Err); err != nil {
			return out.Sorted(), fmt.Errorf("apply the overlay %s of cluster %s: %w", c.Overlay.Dir, c.Name, err)
		}
		out.Add(result.Problems...)
		for _, p := range result.Patches {
			chosen := p.Selects
			p.Selects = false
			patches[p] = patches[p] || chosen
		}
		if !slices.ContainsFunc(result.Problems, declared.IsError) {
			out.Add(refused(c, result.Ends)...)
		}
	}
	for p, chosen := range patches {
		if !chosen {
			out.Add(api.Problem{
				Pos: p.Pos, Warning: true, Code: IdlePatch,
				Message: fmt.Sprintf("this patch changes nothing in any cluster: its target is %s", p.Text),
				Hint:    "linkwright render shows all objects",
			})
		}
	}
	return out.Sorted(), nil
}

// refused reports the first end that an overlay cannot be applied to, for all of its cluster.
func refused(c fleet.Cluster, ends []object.Desired) []api.Problem {
	held := slices.DeleteFunc(slices.Clone(ends), func(w object.Desired) bool { return w.Blocked == nil || w.Blocked.Code != reason.OverlayInvalid })
	if len(held) == 0 {
		return nil
	}
	p := api.Problem{Pos: c.Overlay.At, Message: held[0].End.String() + ": " + held[0].Blocked.Message}
	if more := len(held) - 1; more > 0 {
		p.Message += fmt.Sprintf("; the same for %d more ends in this cluster", more)
	}
	return []api.Problem{p}
}

// IdlePatch is the machine's word for a patch that chooses nothing anywhere.
const IdlePatch = "IdlePatch"

// offline is a snapshot without clusters, as far as overlays are concerned.
func (k *Kustomize) offline(f *fleet.Fleet) state.Snapshot {
	o := Offline{owner: k.owner}
	w := state.Snapshot{Installation: object.Installation{Owner: k.owner}, Declarations: state.Declarations{Fleet: f}, Clusters: map[api.ClusterName]state.Cluster{}}
	var links []fleet.Link
	for _, c := range f.Clusters {
		w.Clusters[c.Name] = o.cluster(f, c)
		if c.Overlay != nil {
			links = append(links, f.Out(c.Name)...)
		}
	}
	w.IssuedCredentials = StandInCredentials(slices.Values(links))
	return w
}

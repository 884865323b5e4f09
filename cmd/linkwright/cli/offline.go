package cli

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// Offline makes snapshots without any cluster: facts come from a file, else from declared values, else they
// are stand-ins like <east: gateway address>; credentials are always stand-ins. Nothing made of such a
// snapshot is ever applied.
type Offline struct {
	owner string
	facts map[api.ClusterName]linkerd.Facts
}

// NewOffline reads a file of facts; without a name there are none.
func NewOffline(owner, factsFile string) (*Offline, error) {
	o := &Offline{owner: owner, facts: map[api.ClusterName]linkerd.Facts{}}
	if factsFile == "" {
		return o, nil
	}
	raw, err := os.ReadFile(factsFile)
	if err != nil {
		return nil, fmt.Errorf("read --facts: %w", err)
	}
	o.facts, err = linkerd.ParseFacts(raw)
	if err != nil {
		return nil, fmt.Errorf("read --facts %s: %w", factsFile, err)
	}
	return o, nil
}

// Snapshot is a fleet whose clusters are all empty and answer everything.
func (o *Offline) Snapshot(f *fleet.Fleet) state.Snapshot {
	w := state.Snapshot{Installation: object.Installation{Owner: o.owner}, Declarations: state.Declarations{Fleet: f}, Clusters: map[api.ClusterName]state.Cluster{}}
	for _, c := range f.Clusters {
		w.Clusters[c.Name] = o.cluster(f, c)
	}
	w.IssuedCredentials = StandInCredentials(f.Links())
	return w
}

func (o *Offline) cluster(f *fleet.Fleet, c fleet.Cluster) state.Cluster {
	side := state.Cluster{Reading: state.Simulated, Facts: linkerd.Placeholders(c.Name, c.Spec, o.facts[c.Name])}
	for _, name := range f.Names(c.Name) {
		if side.SecondNameFacts == nil {
			side.SecondNameFacts = map[api.ClusterName]linkerd.Facts{}
		}
		second, _ := f.Cluster(name)
		facts := linkerd.Placeholders(name, second.Spec, o.facts[name])
		whole := side.Facts
		whole.Gateway = facts.Gateway
		side.SecondNameFacts[name] = whole
	}
	return side
}

// tooOld reports, for each declaration and source, the first link that Linkerd in one of its clusters is too old for. Without --facts all are
// of today's version.
func (o *Offline) tooOld(f *fleet.Fleet) (out []api.Problem) {
	if len(o.facts) == 0 {
		return nil
	}
	facts := make(map[api.ClusterName]linkerd.Facts, len(f.Clusters))
	for _, c := range f.Clusters {
		facts[c.Name] = o.cluster(f, c).Facts
	}
	for _, c := range f.Clusters {
		like := map[api.Pos]int{}
		begun := len(out)
		for _, l := range f.Out(c.Name) {
			source, target := facts[l.Source.Name], facts[l.Target.Canonical()]
			why := render.TooOld(render.Input{Link: l, Source: &source, Target: &target})
			if why == nil {
				continue
			}
			if like[*l.At]++; like[*l.At] == 1 {
				out = append(out, api.Problem{Pos: *l.At, Code: string(why.Code), Message: l.Pair().String() + ": " + why.Message})
			}
		}
		for i, p := range out[begun:] {
			if more := like[p.Pos] - 1; more > 0 {
				out[begun+i].Message += fmt.Sprintf("; the same for more links from there, %d in all", more+1)
			}
		}
	}
	return out
}

// StandInCredentials are the same on both sides of a diff.
func StandInCredentials(links iter.Seq[fleet.Link]) map[api.Pair]linkerd.Credential {
	out := map[api.Pair]linkerd.Credential{}
	for l := range links {
		p := l.Pair()
		token := fmt.Sprintf("<token of %s in %s>", p.Source, p.Target)
		out[p] = linkerd.Credential{Token: object.NewSecret([]byte(token)), Fingerprint: "standin"}
	}
	return out
}

// WithoutClusters has something done with the snapshot of a tree that arguments name, in which there is no cluster.
func (f *Common) WithoutClusters(c *cobra.Command, args []string, factsFile string, do func(state.Snapshot, plan.Renderer) error) error {
	return f.simulate(c, func(ctx context.Context) (declared.Origin, error) { return f.Git.Find(ctx, args) }, factsFile, do)
}

// WithTree is WithoutClusters for a tree that was read before.
func (f *Common) WithTree(c *cobra.Command, from declared.Origin, do func(state.Snapshot, plan.Renderer) error) error {
	return f.simulate(c, func(context.Context) (declared.Origin, error) { return from, nil }, "", do)
}

func (f *Common) simulate(
	c *cobra.Command, find func(context.Context) (declared.Origin, error), factsFile string, do func(state.Snapshot, plan.Renderer) error,
) error {
	show, _, err := f.Management.Display(c)
	if err != nil {
		return err
	}
	k, err := f.Overlays.Open(c.Context(), f.Management.Owner, Warner(c.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer k.Close()
	fl, err := load(c.Context(), find, k, show)
	if err != nil {
		return err
	}
	o, err := NewOffline(f.Management.Owner, factsFile)
	if err != nil {
		return err
	}
	return do(o.Snapshot(fl), k.Renderer(render.New(o.owner)))
}

// load reads a tree, and shows that work.
func load(ctx context.Context, find func(context.Context) (declared.Origin, error), k *Kustomize, show *live.Display) (*fleet.Fleet, error) {
	defer show.Show(ctx, live.Repository)()
	from, err := find(ctx)
	if err != nil {
		return nil, err
	}
	return k.LoadOr(ctx, show, from)
}

// SortedKeys are the objects in either observation whose bodies are known.
func SortedKeys(a, b object.Observation) []object.Key {
	all := map[object.Key]bool{}
	for k := range a.Bodies() {
		all[k] = true
	}
	for k := range b.Bodies() {
		all[k] = true
	}
	return slices.SortedFunc(maps.Keys(all), object.Key.Compare)
}

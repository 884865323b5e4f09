// Package setup assembles one process of linkwright: New connects repository, clusters, renderer and loop.
package setup

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/source"
)

// Options say what is wired. Of Sync, the owner and the account that policies confine are filled in.
type Options struct {
	Access     access.Options
	Management *rest.Config     // of the management cluster
	Source     *source.Source   // closed with the Engine
	Loader     *declared.Loader // closed with the Engine
	Dir        string           // of the declarations in their repository
	Images     []string         // prefixes of images that links may name
	Sync       sync.Options
}

// Engine is a loop with its connections.
type Engine struct {
	Loop     *sync.Loop
	Source   *source.Source
	Clusters *access.Clusters
	Loader   *declared.Loader
}

// New connects to the management cluster alone.
func New(ctx context.Context, o Options) (*Engine, error) {
	c, err := access.Open(ctx, o.Management, o.Access)
	if err != nil {
		return nil, err
	}
	of := object.Installation{Owner: o.Access.Owner, Namespace: o.Access.Namespace}
	l := &sync.Loop{
		Options: o.Sync, Clusters: c, Management: record.ManagementCluster{Cluster: c.Management(), Namespace: of.Namespace}, Log: o.Access.Log,
		Declared: &declared.Branch{Source: o.Source, Loader: o.Loader, Dir: o.Dir, In: of},
		Renderer: Renderer(of.Owner, o.Images, o.Loader), Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy},
		Verifier: c.Trier(), Errors: sync.Errors{Explain: cluster.Explain, Rejection: cluster.Rejection},
	}
	l.Owner, l.Confined = of.Owner, confine.Account{ManagementNamespace: of.Namespace, Images: o.Images}
	return &Engine{Loop: l, Source: o.Source, Clusters: c, Loader: o.Loader}, nil
}

// Renderer renders what an installation may write, with overlays applied.
func Renderer(owner string, images []string, l *declared.Loader) plan.Renderer {
	return l.Renderer(declared.Images{Renderer: render.New(owner), Allowed: images})
}

// Close ends all connections.
func (e *Engine) Close(ctx context.Context) {
	_ = e.Source.Close() // a temporary directory that stays harms nobody
	e.Clusters.Close(ctx)
	e.Loader.Close()
}

// Identity names this process in a lease.
func Identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s_%d", host, os.Getpid())
}

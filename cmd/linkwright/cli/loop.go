package cli

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/setup"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// Common are the flags of every command that reads clusters.
type Common struct {
	Git            GitFlags
	NonFastForward nonFastForwardFlags // of commands that write
	Management     ManagementFlags
	Overlays       DeclarationFlags
	shown          shown
	Writing        Writing // of commands that write; zero: the command only reads
}

// Add adds the flags of every command that reads clusters.
func (f *Common) Add(flags *pflag.FlagSet) {
	f.Git.Add(flags)
	Group(flags, groupCredentials, f.Git.auth.addSecret)
	Group(flags, GroupTrust, f.Git.verify.addManagement)
	Group(flags, GroupClusters, f.Management.add)
	f.Management.Log.Add(flags)
	Group(flags, GroupClusters, f.Overlays.Add)
}

// Engine is what a command works with.
type Engine struct {
	*setup.Engine
	Kustomize *Kustomize
	Live      *live.Display
}

// Open wires the loop. It connects to nothing but what in-cluster configuration needs, and to that only after
// all flags were checked; more checks those of the command alone.
func (f *Common) Open(ctx context.Context, stderr io.Writer, more ...func() error) (*Engine, error) {
	if err := f.Management.Check(); err != nil {
		return nil, err
	}
	show, log, err := f.Management.display(f.shown, stderr)
	if err != nil {
		return nil, err
	}
	accepted, err := f.Management.accepted()
	if err != nil {
		return nil, err
	}
	allowed, err := f.NonFastForward.check()
	if err != nil {
		return nil, err
	}
	var management *access.ManagementCluster // opened below: secrets of the repository are asked for later
	f.Git.auth.secrets = func(ctx context.Context, name string) (map[string][]byte, error) { return management.Secret(ctx, name) }
	f.Git.verify.secrets, f.Git.verify.configMaps = f.Git.auth.secrets, func(ctx context.Context, name string) (map[string][]byte, error) {
		return management.ConfigMap(ctx, name)
	}
	src, err := f.Git.Open()
	if err != nil {
		return nil, err
	}
	for _, check := range more {
		if err := check(); err != nil {
			return nil, err
		}
	}
	k, err := f.Overlays.Open(ctx, f.Management.Owner, func(text string) { log.Warn("kustomize is not sandboxed", "why", text) })
	if err != nil {
		return nil, err
	}
	cfg, err := f.Management.Config()
	if err != nil {
		return nil, err
	}
	if f.Writing.Mode != "" {
		f.Management.Announce(stderr, log)
	}
	e, err := setup.New(ctx, setup.Options{
		Access: f.Management.access(log), Management: cfg, Source: src, Loader: k.Loader, Dir: f.Git.Dir(), Images: f.Management.Images,
		Sync: sync.Options{
			Only: f.Management.onlyNames(), UnreachableSourceTimeout: f.Management.unreachable, Confinement: sync.Confinement{RequireConfinement: f.Management.writes.requireConfinement},
			Overrides: store.Overrides{Accepted: accepted, Abandoned: f.Management.abandoned(), Allowed: allowed, Cap: f.Management.writes.pruneCap},
		},
	})
	if err != nil {
		return nil, err
	}
	management = e.Clusters.Management()
	if f.shown.title != "" {
		e.Loop.Progress = show.Report
	}
	return &Engine{e, k, show}, nil
}

// Read opens an engine that writes nothing, and reads what is declared and every cluster. The engine is the caller's to close, unless
// there is an error.
func (f *Common) Read(c *cobra.Command) (*Engine, state.Snapshot, error) {
	if f.shown.title == "" {
		f.Shows(c, false, "")
	}
	e, err := f.Open(c.Context(), c.ErrOrStderr())
	if err != nil {
		return nil, state.Snapshot{}, err
	}
	e.ReadOnly()
	w, err := e.Look(c.Context(), NoLeadership)
	if err != nil {
		e.Close(c.Context())
	}
	return e, w, err
}

// ReadOnly has the engine write nothing, and wait for nothing.
func (e *Engine) ReadOnly() {
	e.Loop.ReadOnly, e.Loop.Patience = true, 0
}

// Defaults of flags.
const (
	DefaultWait        = time.Minute    // of --wait
	defaultUnreachable = 24 * time.Hour // of --unreachable-source-timeout, also for commands without it: they report what run would do
)

// NoLeadership is the term of who only reads: no process that writes is later.
const NoLeadership = math.MaxInt64

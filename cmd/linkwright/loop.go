package main

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/setup"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// common are the flags of every command that reads clusters.
type common struct {
	git      gitFlags
	rewind   rewindFlags // of commands that write
	home     homeFlags
	overlays kustomizeFlags
}

func (f *common) add(flags *pflag.FlagSet) {
	f.git.add(flags)
	group(flags, groupCredentials, f.git.auth.addSecret)
	group(flags, groupTrust, f.git.verify.addHome)
	group(flags, groupClusters, f.home.add)
	f.home.log.add(flags)
	group(flags, groupClusters, f.overlays.add)
}

// engine is what a command works with.
type engine struct {
	*setup.Engine
	kustomize *kustomize
}

// open wires the loop. It connects to nothing but what in-cluster configuration needs, and to that only when every flag was
// looked at: those of the command's own by more.
func (f *common) open(ctx context.Context, stderr io.Writer, more ...func() error) (*engine, error) {
	if err := f.home.check(); err != nil {
		return nil, err
	}
	log, err := f.home.log.open(stderr)
	if err != nil {
		return nil, err
	}
	accepted, err := f.home.accepted()
	if err != nil {
		return nil, err
	}
	allowed, err := f.rewind.check()
	if err != nil {
		return nil, err
	}
	var home *access.Home // opened below: secrets of the repository are asked for later
	f.git.auth.secrets = func(ctx context.Context, name string) (map[string][]byte, error) { return home.Secret(ctx, name) }
	f.git.verify.secrets, f.git.verify.configMaps = f.git.auth.secrets, func(ctx context.Context, name string) (map[string][]byte, error) {
		return home.ConfigMap(ctx, name)
	}
	src, err := f.git.open()
	if err != nil {
		return nil, err
	}
	for _, check := range more {
		if err := check(); err != nil {
			return nil, err
		}
	}
	k, err := f.overlays.open(ctx, f.home.owner, func(text string) { log.Warn("kustomize is not locked in", "why", text) })
	if err != nil {
		return nil, err
	}
	cfg, err := f.home.openHome()
	if err != nil {
		return nil, err
	}
	e, err := setup.New(ctx, setup.Options{
		Access: f.home.access(log), Home: cfg, Source: src, Loader: k.Loader, Dir: f.git.dir(), Images: f.home.images,
		Sync: sync.Options{
			Only: f.home.onlyNames(), Grace: f.home.grace, Confinement: sync.Confinement{RequireConfinement: f.home.requireConfinement},
			Overrides: store.Overrides{Accepted: accepted, Forget: f.home.forgotten(), Allowed: allowed, Cap: f.home.pruneCap},
		},
	})
	if err != nil {
		return nil, err
	}
	home = e.Clusters.Home()
	return &engine{e, k}, nil
}

// look opens an engine that writes nothing, and reads what is declared and every cluster. The engine is the caller's to close, unless
// there is an error.
func (f *common) look(c *cobra.Command) (*engine, state.Snapshot, error) {
	e, err := f.open(c.Context(), c.ErrOrStderr())
	if err != nil {
		return nil, state.Snapshot{}, err
	}
	e.readOnly()
	w, err := e.Loop.Look(c.Context(), noTerm)
	if errors.Is(err, sync.ErrInvalid) {
		err = exit{exitInvalid, err}
	}
	if err != nil {
		e.Close(c.Context())
	}
	return e, w, err
}

// readOnly makes one pass that writes nothing.
func (e *engine) readOnly() {
	e.Loop.ReadOnly, e.Loop.Patience = true, 0
}

const (
	defaultWait  = time.Minute
	defaultGrace = 24 * time.Hour // of --access-grace, also for commands without it: they tell what run would do
)

// noTerm is the term of who only reads: no process that writes is later.
const noTerm = math.MaxInt64

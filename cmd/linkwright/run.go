package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/web"
)

func runCommand() *cobra.Command {
	var f common
	var listen string
	var observe bool
	c := &cobra.Command{
		Use:   "run --repo URL",
		Short: "Keep the clusters as the repository declares them",
		Long: `Keep the clusters as the repository declares them, until told to stop.

It polls the repository as the SyncPolicy says (default: every minute) and writes only while it holds
the lease linkwright-<owner> in the home cluster, so several replicas are one writer and standbys.
With --observe it reads, plans and reports, and writes nothing and needs no lease.

HTTP: /healthz, /readyz, /metrics, and / for the last report as JSON.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := f.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer e.clusters.close(c.Context())
			return e.serve(c.Context(), &f.home, listen, observe)
		},
	}
	f.git.add(c.Flags())
	f.home.add(c.Flags())
	f.home.addOnly(c.Flags())
	f.home.addLog(c.Flags())
	c.Flags().StringVar(&listen, "listen", ":8080", "address of the HTTP server")
	c.Flags().BoolVar(&observe, "observe", false, "read, plan and report, and write nothing")
	return c
}

// serve runs terms beside the HTTP server until ctx ends or one of the two fails.
func (e *engine) serve(ctx context.Context, h *homeFlags, address string, observe bool) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on --listen: %w", err)
	}
	e.loop.Log.Info("listening", "address", l.Addr().String())
	server := web.New(web.Options{Version: versionString()})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, l, server.Handler()) })
	g.Go(func() error { return e.terms(ctx, h, server, observe) })
	return g.Wait()
}

// terms leads, pass after pass, whenever the lease is ours.
func (e *engine) terms(ctx context.Context, h *homeFlags, server *web.Server, observe bool) error {
	e.loop.Patience = defaultWait
	term := func(ctx context.Context, term int64) error {
		server.SetStandby(false)
		defer server.SetStandby(true)
		e.loop.Log.Info("term begins", "term", term)
		return e.loop.Run(ctx, term, nil, server.Publish)
	}
	if observe {
		e.readOnly()
		return term(ctx, noTerm)
	}
	locks, err := e.locks(h)
	if err != nil {
		return err
	}
	server.SetStandby(true)
	return lead(ctx, locks, lease.Lock.Hold, term)
}

func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // what still runs then is cut off
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

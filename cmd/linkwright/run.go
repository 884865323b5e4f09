package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	gosync "sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/notify"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/setup"
	"github.com/linkwright/linkwright/sync/web"
)

func runCommand() *cobra.Command {
	var f cli.Common
	var s serving
	var status statusFlags
	f.Writing.Mode = cli.DryRunNone // it writes, and has --observe instead of a dry run
	c := &cobra.Command{
		Use:   "run --repo URL",
		Short: "Keep the clusters as the repository declares them",
		Long: `Keep the clusters as the repository declares them, until you stop it.

It polls the repository as the SyncPolicy says, every minute by default. It
writes only while it holds the Lease linkwright-<owner> in the management
cluster, so that one of several replicas writes and the others stand by. With
--observe it reads, plans and reports, writes nothing and needs no Lease.

It serves /healthz, /readyz, /metrics, and / with the last report as JSON. With
--max-sync-age, /healthz fails if no sync has ended for that long. With
--hook-secret-file, a signed POST to /hook starts a sync at once.

A daemon follows decisions in the management cluster within seconds. Record one
with linkwright accept, allow, abandon, approve, suspend, resume or reconcile.`,
		Example: `  linkwright run --repo https://git.example.com/mesh/fleet.git
  linkwright run --repo URL --kubeconfig management.yaml --observe`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := f.Open(c.Context(), c.ErrOrStderr(), s.hook.check, func() error { return status.check(f.Git.Options.Repo) })
			if err != nil {
				return err
			}
			defer e.Close(c.Context())
			limitMemory(e.Loop.Log)
			if s.poster, err = newStatusPoster(e, status, &f); err != nil {
				return err
			}
			return engine{e}.serve(c.Context(), s)
		},
	}
	f.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddConfinement)
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddOnly)
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddGrace)
	s.add(c.Flags())
	cli.Group(c.Flags(), cli.GroupForge, status.add)
	refuseDecisionFlags(c.Flags())
	return c
}

// serving is how a daemon differs from a single sync.
type serving struct {
	listen  string
	observe bool
	maxAge  time.Duration
	hook    hookFlags
	poster  *statusPoster
}

func (s *serving) add(f *pflag.FlagSet) {
	f.StringVar(&s.listen, "listen", ":8080", "address of the HTTP server")
	f.BoolVar(&s.observe, "observe", false, "read, plan and report, and write nothing")
	f.Var(&cli.Span{At: &s.maxAge, None: true}, "max-sync-age", "fail /healthz if no sync has ended for this long while leading; set it longer than any pause of the schedule (default: never)")
	cli.Group(f, cli.GroupForge, s.hook.add)
}

// serve runs terms beside the HTTP servers until ctx ends or one of them fails.
func (e engine) serve(ctx context.Context, s serving) error {
	server := web.New(web.Options{Standby: !s.observe, MaxAge: s.maxAge, Version: versionString(), Requests: e.Clusters.Requests})
	e.Loop.Meter = server
	poke := make(chan struct{}, 1)
	endpoints, err := s.endpoints(ctx, server, poke, e.Loop.Log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, d := range endpoints {
		e.Loop.Log.Info("listening", "address", d.listener.Addr().String(), "for", d.purpose)
		g.Go(func() error { return serveHTTP(ctx, d.listener, d.handler) })
	}
	e.Clusters.Management().Watch()
	g.Go(func() error {
		e.Clusters.Watch(ctx)
		return nil
	})
	posted := s.poster.begin(ctx, g, e.Loop.Log)
	publish := func(r report.Report) {
		server.Publish(r)
		posted(r)
	}
	group := ctx // its cause is why the daemon stops
	g.Go(func() error {
		<-group.Done()
		e.Loop.Log.Info("stopping", "why", message(context.Cause(group)))
		return nil
	})
	g.Go(func() error { return e.terms(ctx, s.observe, daemon{server, poke, publish}) })
	return g.Wait()
}

// daemon is what a period of leadership reports to, and what pokes it.
type daemon struct {
	server  *web.Server
	poke    <-chan struct{}
	publish func(report.Report)
}

// terms leads, sync after sync, whenever this process holds the lease.
func (e engine) terms(ctx context.Context, observe bool, d daemon) error {
	e.Loop.Patience, e.Loop.Changes, e.Loop.Recorded = cli.DefaultWait, e.Clusters, e.Clusters.Recorded()
	e.Loop.Holder = setup.Identity()
	standby := e.Loop.Standby()
	term := func(leading context.Context, term int64) (err error) {
		defer d.server.Lead(leading)()
		e.Loop.Log.Info("leadership begins", "term", term, "holder", e.Loop.Holder)
		defer func() { ended(leading, e.Loop.Log, term, err) }()
		ctx, end := context.WithCancel(leading)
		var beside gosync.WaitGroup
		publish := d.publish
		if !observe {
			beside.Go(func() { e.Clusters.Renewal(e.Loop.Only).Run(ctx) })
			publish = e.restarting(ctx, &beside, publish)
		}
		defer beside.Wait()
		defer end()
		publish, stop, err := e.notifying(leading, observe, publish)
		if err != nil {
			return err
		}
		defer stop()
		return standby.Lead(ctx, term, d.poke, publish)
	}
	if observe {
		e.ReadOnly()
		return term(ctx, cli.NoLeadership)
	}
	locks, err := e.Locks(e.Loop.Only...)
	if err != nil {
		return err
	}
	stop := observing(ctx, standby)
	defer func() { stop() }()
	return e.Lead(ctx, waiting(setup.Syncing(locks), e.Loop.Log), lease.Lock.Hold, func(leading context.Context, number int64) error {
		stop()
		err := term(leading, number)
		stop = observing(ctx, standby)
		return err
	})
}

// notifying has transitions of reports shown as Events, too, until the returned function is called. Who only observes writes none.
func (e engine) notifying(ctx context.Context, observe bool, publish func(report.Report)) (func(report.Report), func(), error) {
	if observe {
		return publish, func() {}, nil
	}
	n, stop, err := notify.Begin(ctx, notify.Options{
		Config: e.Clusters.EventConfig(), Owner: e.Loop.Owner, Log: e.Loop.Log, Key: inventory.RecordKey(e.Loop.Owner, e.Loop.Management.Namespace),
		Record: func(ctx context.Context) (inventory.Record, error) {
			return e.Loop.Management.Record(ctx, e.Loop.Owner)
		},
	})
	return func(r report.Report) {
		publish(r)
		n.Publish(r)
	}, stop, err
}

// observing has a standby keep watches open, and the last revision at hand, until the function that it gives is called.
func observing(ctx context.Context, s *sync.Standby) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	var observing gosync.WaitGroup
	observing.Go(func() { s.Observe(ctx) })
	return func() {
		end()
		observing.Wait()
	}
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// startDeadline bounds a start on a machine that is busy with others.
const startDeadline = 3 * time.Minute

// options are the flags of serve.
type options struct {
	dir         string // created, and removed at the end; must be empty or absent
	name        string // cluster name, the kubeconfig's context
	light       bool   // no scheduler, kwok or node, and two controllers only
	serviceCIDR string
	podCIDR     string
	kwok        string // path of the kwok binary
}

// ready is the one line that serve prints on stdout.
type ready struct {
	Ready      bool           `json:"ready"`
	Name       string         `json:"name"`
	Kubeconfig string         `json:"kubeconfig"`
	AuditLog   string         `json:"auditLog"`
	PIDs       map[string]int `json:"pids"`
}

// serve runs one cluster until its stdin ends, a SIGTERM or SIGINT arrives, or
// a component dies. It then kills the components and removes the directory.
func serve(args []string) int {
	opts, err := parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane serve:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	// A parent that is gone must not stop the cleaning with a SIGPIPE.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel(errParentGone)
	}()
	if err := life(ctx, opts); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane serve %s: %v\n", opts.name, err)
		return 1
	}
	return 0
}

var errParentGone = errors.New("stdin ended")

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.StringVar(&opts.dir, "dir", "", "directory of the cluster, removed at the end")
	flags.StringVar(&opts.name, "name", "cluster", "name of the cluster")
	flags.BoolVar(&opts.light, "light", false, "no scheduler, no node, two controllers only")
	flags.StringVar(&opts.serviceCIDR, "service-cidr", "10.96.0.0/16", "addresses of Services")
	flags.StringVar(&opts.podCIDR, "pod-cidr", "10.160.0.0/16", "addresses of pods")
	flags.StringVar(&opts.kwok, "kwok", "", "kwok binary (default: beside this one)")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.dir == "" {
		return opts, errors.New("--dir is required")
	}
	var err error
	if opts.dir, err = filepath.Abs(opts.dir); err != nil {
		return opts, err
	}
	if opts.kwok == "" {
		self, err := os.Executable()
		if err != nil {
			return opts, err
		}
		opts.kwok = filepath.Join(filepath.Dir(self), "kwok")
	}
	return opts, nil
}

// life is one cluster from its empty directory to its removed one. A context
// that ends is a good end.
func life(ctx context.Context, opts options) error {
	if err := claim(opts.dir); err != nil {
		return err
	}
	defer os.RemoveAll(opts.dir)
	children := newChildren(opts.dir)
	stopEtcd, err := start(ctx, opts, children)
	defer stopEtcd()
	defer children.kill() // first: etcd's graceful stop would wait for the API server
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-children.died:
		return err
	}
}

// claim makes dir, and refuses one that holds anything: it will be removed.
func claim(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("use %s: not empty", dir)
	}
	return nil
}

// start brings everything up in order and prints the ready line. The function
// it returns ends etcd and is never nil.
func start(ctx context.Context, opts options, children *children) (func(), error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, errors.New("not ready in time"))
	defer cancel()
	stopEtcd, etcdURL, err := startEtcd(opts.dir)
	if err != nil {
		return func() {}, fmt.Errorf("start etcd: %w", err)
	}
	port, err := reservePort()
	if err != nil {
		return stopEtcd, fmt.Errorf("reserve port: %w", err)
	}
	files, err := writeFiles(opts, port)
	if err != nil {
		return stopEtcd, fmt.Errorf("write files: %w", err)
	}
	if err := children.start(apiserverName, self, apiserverArgs(opts, files, endpoints{etcd: etcdURL, port: port})); err != nil {
		return stopEtcd, err
	}
	if err := children.until(ctx, "/readyz", func(ctx context.Context) error { return readyz(ctx, files) }); err != nil {
		return stopEtcd, err
	}
	if err := startRest(ctx, opts, files, children); err != nil {
		return stopEtcd, err
	}
	return stopEtcd, json.NewEncoder(os.Stdout).Encode(ready{
		Ready: true, Name: opts.name, Kubeconfig: files.kubeconfig, AuditLog: files.auditLog, PIDs: children.pids(),
	})
}

// startRest starts what needs an API server, and waits until pods can run.
func startRest(ctx context.Context, opts options, files files, children *children) error {
	if err := children.start(controllersName, self, controllersArgs(opts, files)); err != nil {
		return err
	}
	if opts.light {
		return children.until(ctx, "namespace", func(ctx context.Context) error { return usable(ctx, files, light) })
	}
	if err := children.start(schedulerName, self, schedulerArgs(files)); err != nil {
		return err
	}
	if err := children.until(ctx, "node registration", func(ctx context.Context) error { return register(ctx, files) }); err != nil {
		return err
	}
	if err := children.start(kwokName, opts.kwok, kwokArgs(opts, files)); err != nil {
		return err
	}
	return children.until(ctx, "node and service account", func(ctx context.Context) error { return usable(ctx, files, full) })
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// startDeadline bounds a start on a machine that is busy with others.
const startDeadline = 3 * time.Minute

// options are the flags of serve.
type options struct {
	dir         string // created, and removed at the end; must be empty or absent
	name        string // cluster name, the kubeconfig's context
	light       bool   // no scheduler, kwok or node, and two controllers only
	reset       bool   // stdin may ask for resets
	serviceCIDR string
	podCIDR     string
	kwok        string // path of the kwok binary
}

// resetRequest is the line on stdin that asks for a cluster as it was when it was ready. The answer is the line that was printed then.
const resetRequest = "reset"

// ready is the line that serve prints on stdout when the cluster is ready, and after each reset.
type ready struct {
	Ready      bool           `json:"ready"`
	Name       string         `json:"name"`
	Kubeconfig string         `json:"kubeconfig"`
	AuditLog   string         `json:"auditLog"`
	PIDs       map[string]int `json:"pids"`
}

// serve runs one cluster until its stdin ends, a SIGTERM or SIGINT arrives,
// a component dies, or a reset fails. It then kills the components and removes
// the directory.
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
	asked := make(chan string)
	go func() {
		defer cancel(errParentGone)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			select {
			case asked <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := life(ctx, opts, asked); err != nil {
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
	flags.BoolVar(&opts.reset, "reset", false, "reset the cluster for each line "+resetRequest+" on stdin")
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
func life(ctx context.Context, opts options, asked <-chan string) error {
	if err := claim(opts.dir); err != nil {
		return err
	}
	defer os.RemoveAll(opts.dir)
	etcd, err := startEtcd(opts.dir)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer etcd.Close()
	children := newChildren(opts.dir)
	defer children.kill() // first: etcd's graceful stop would wait for the API server
	c := &cluster{opts: opts, children: children, store: store{etcd: v3client.New(etcd.Server)}}
	if err := c.start(ctx, "http://"+etcd.Clients[0].Addr().String()); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-children.died:
			return err
		case request := <-asked:
			if err := c.answer(ctx, request); err != nil {
				return err
			}
		}
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

// cluster is one that runs, or starts.
type cluster struct {
	opts     options
	files    files
	children *children
	store    store
}

// start brings everything up in order and prints the ready line.
func (c *cluster) start(ctx context.Context, etcd string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, errors.New("not ready in time"))
	defer cancel()
	port, err := reservePort()
	if err != nil {
		return fmt.Errorf("reserve port: %w", err)
	}
	if c.files, err = writeFiles(c.opts, port); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	if err := c.children.start(apiserverName, self, apiserverArgs(c.opts, c.files, endpoints{etcd: etcd, port: port})); err != nil {
		return err
	}
	if err := c.children.until(ctx, "/readyz", func(ctx context.Context) error { return readyz(ctx, c.files) }); err != nil {
		return err
	}
	if err := c.startRest(ctx); err != nil {
		return err
	}
	if c.opts.reset {
		if err := c.store.saveBaseline(ctx); err != nil {
			return err
		}
	}
	return c.printReady()
}

// printReady prints the ready line.
func (c *cluster) printReady() error {
	return json.NewEncoder(os.Stdout).Encode(ready{
		Ready: true, Name: c.opts.name, Kubeconfig: c.files.kubeconfig, AuditLog: c.files.auditLog, PIDs: c.children.pids(),
	})
}

// answer does what the parent asks for.
func (c *cluster) answer(ctx context.Context, request string) error {
	if request != resetRequest || !c.opts.reset {
		return fmt.Errorf("%q is asked for on stdin: it can be %s, with --reset", request, resetRequest)
	}
	if err := c.store.reset(ctx, c.files); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return c.printReady()
}

// startRest starts what needs an API server, and waits until pods can run.
func (c *cluster) startRest(ctx context.Context) error {
	if err := c.children.start(controllersName, self, controllersArgs(c.opts, c.files)); err != nil {
		return err
	}
	if c.opts.light {
		return c.children.until(ctx, "namespace", func(ctx context.Context) error { return usable(ctx, c.files, light) })
	}
	if err := c.children.start(schedulerName, self, schedulerArgs(c.files)); err != nil {
		return err
	}
	if err := c.children.until(ctx, "node registration", func(ctx context.Context) error { return register(ctx, c.files) }); err != nil {
		return err
	}
	if err := c.children.start(kwokName, c.opts.kwok, kwokArgs(c.opts, c.files)); err != nil {
		return err
	}
	return c.children.until(ctx, "node and service account", func(ctx context.Context) error { return usable(ctx, c.files, full) })
}

// Command bench takes the figures of docs/explanation/performance.md on real API servers. Every figure is a ratio, or a count, of one
// run on one server: medians over rounds in which all arms take their turns, in alternating order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// options are what all figures share.
type options struct {
	objects, rounds int
	widths          []int
	edits, seconds  int // edits are a second's
	clusters        int
	watches         int
	arms, profiles  string
	program         string
	discovery       bool
}

// figure is one sub-command.
type figure struct {
	name, what string
	take       func(context.Context, options) error
}

func figures() []figure {
	return []figure{
		{"apply", "first apply, nothing changed in one pass, 1 % changed: against a bare PATCH loop and fluxcd/pkg/ssa", takeApply},
		{"memory", "what a daemon retains for every object that it owns", takeMemory},
		{"bound", "the memory of a daemon with a full mesh of -clusters, which another process serves", takeBound},
		{"watches", "what watches cost at which nothing happens: against client-go's Reflector", takeWatches},
		{"drift", "from a foreign edit to its repair", takeDrift},
		{"facts", "how long a changed gateway takes to reach the sources of a ring of clusters; twenty need 10 GiB of memory", takeFacts},
		{"idle", "what a daemon takes at rest with a full mesh of real light clusters, and how long all links take to be ready after its restart; twenty need 10 GiB of memory", takeIdle},
		{"values", "from an edit by hand of a declared value of Linkerd's configuration until it is set back; twenty clusters need 10 GiB of memory", takeValues},
		{"rollout", "from a changed value of Linkerd's configuration until it is known which of 500 workloads must restart", takeRollout},
		{"mirror", "what one mirror of 20 links costs, and how soon it follows: against one process for each link", takeMirror},
		{"isolation", "how long a commit takes to reach the others of a ring of clusters while one hangs; twenty need 10 GiB of memory", takeIsolation},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage()
	}
	opts, widths := options{}, ""
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.IntVar(&opts.objects, "objects", 10_000, "objects of links; nine make a link's end and its inventory")
	flags.IntVar(&opts.rounds, "rounds", 5, "rounds, each of all arms")
	flags.StringVar(&widths, "widths", "4,8,16,32,64", "PATCHes in flight of the bare loop, one arm each")
	flags.StringVar(&opts.arms, "arms", "", "only these, such as one-shot,flux; empty: all")
	flags.StringVar(&opts.profiles, "profiles", "", "directory for profiles: of the CPU for each arm at each stage, of the heap at rest")
	flags.BoolVar(&opts.discovery, "discovery", false, "links with remote discovery and federated services: one object more each, and a Link that is written twice")
	flags.IntVar(&opts.edits, "edits", 50, "foreign edits a second")
	flags.IntVar(&opts.seconds, "seconds", 20, "how long foreign edits go on, or watches are at rest")
	flags.IntVar(&opts.clusters, "clusters", 20, "clusters in a ring, or in a full mesh")
	flags.IntVar(&opts.watches, "watches", 2400, "watches at which nothing happens, 24 for each cluster")
	flags.StringVar(&opts.program, "program", "bin/linkwright", "the program whose daemon is measured")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var err error
	if opts.widths, err = numbers(widths); err != nil {
		return fmt.Errorf("read -widths: %w", err)
	}
	for _, f := range figures() {
		if f.name == args[0] {
			return f.take(ctx, opts)
		}
	}
	return usage()
}

func numbers(list string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", word)
		}
		out = append(out, n)
	}
	return out, nil
}

func usage() error {
	var text strings.Builder
	text.WriteString("bench FIGURE [-objects N] [-rounds N] ...; figures:")
	for _, f := range figures() {
		fmt.Fprintf(&text, "\n  %-10s %s", f.name, f.what)
	}
	return errors.New(text.String())
}

// Command demo shows linkwright at work on this machine: three real control planes dressed as Linkerd
// clusters, a bare Git repository, the daemon. It links all three, moves a gateway, removes a link, and
// checks after each step what the clusters hold. Then it stays up until Ctrl-C; with DEMO_ONCE=1 it ends,
// and the exit code is 1 if anything did not hold.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/linkwright/linkwright/hack/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Stdout, os.Getenv("DEMO_ONCE") == "1")
	stop()
	os.Exit(code)
}

// run is the whole program.
func run(ctx context.Context, out io.Writer, once bool) int {
	linkwright, err := binary()
	if err == nil {
		err = play(ctx, out, options{Linkwright: linkwright, Once: once, In: os.Stdin})
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, "\ndemo:", err) // a terminal that is gone shows nothing
		return 1
	}
	return 0
}

// binary finds bin/linkwright beside the binaries of the test control planes.
func binary() (string, error) {
	dir, err := testbed.Binaries()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "linkwright")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find binary: %w: run make build", err)
	}
	return path, nil
}

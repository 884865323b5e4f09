// Command demo shows linkwright at work on this machine: real control planes with a simulated Linkerd, a bare Git
// repository, the daemon. It links all clusters, moves a gateway, removes a link, and checks after each step what the
// clusters have. Then everything keeps running until Ctrl-C. The exit code is 1 if a check failed.
//
// The environment sets CLUSTERS, the number of clusters; ONLY=clusters, to start clusters and link nothing; DEMO_ONCE=1, to
// end after the script; and DEMO_SVG, the path of a picture of the script's screen to write.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/linkwright/linkwright/hack/testbed"
)

func main() {
	klog.SetLogger(logr.Discard()) // client-go logs each watch that breaks when you stop an API server, as step 4 says
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Stdout, os.Getenv)
	stop()
	os.Exit(code)
}

// run is the whole program.
func run(ctx context.Context, out io.Writer, getenv func(string) string) int {
	o, err := parse(getenv)
	if err == nil {
		err = play(ctx, out, o)
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, "\ndemo:", err) // a closed terminal shows nothing
		return 1
	}
	return 0
}

// parse reads the environment, and finds the binaries.
func parse(getenv func(string) string) (options, error) {
	o := options{Clusters: defaultClusters, SVG: getenv("DEMO_SVG"), In: os.Stdin}
	if text := getenv("DEMO_ONCE"); text != "" {
		once, err := strconv.ParseBool(text)
		if err != nil {
			return o, fmt.Errorf("DEMO_ONCE=%s: want 1 or 0", text)
		}
		o.Once = once
	}
	switch text := getenv("ONLY"); text {
	case "":
	case "clusters":
		o.Idle, o.SVG = true, ""
	default:
		return o, fmt.Errorf("ONLY=%s: want clusters", text)
	}
	if text := getenv("CLUSTERS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return o, fmt.Errorf("CLUSTERS=%s: not a number", text)
		}
		o.Clusters = n
	}
	if _, err := clusterNames(o.Clusters); err != nil {
		return o, err
	}
	path, err := binary()
	o.Linkwright = path
	return o, err
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

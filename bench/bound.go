package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/linkwright/linkwright/hack/bound"
)

// boundVariable is set in the process that serves all clusters but the management cluster: how many clusters there are.
const boundVariable = "LINKWRIGHT_BENCH_BOUND"

// restTime is longer than the two minutes after which Go collects garbage without need.
const restTime = 150 * time.Second

// takeBound returns the memory of a daemon with a full mesh of clusters. Another process serves them, but for the management cluster. The daemon
// starts twice: on clusters without any link, and on clusters with all links.
func takeBound(ctx context.Context, opts options) error {
	if text := os.Getenv(boundVariable); text != "" {
		return serveMembers(ctx, text)
	}
	dir, err := os.MkdirTemp("", "linkwright-bound-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, err := startMembers(ctx, opts.clusters)
	if err != nil {
		return err
	}
	clusters, stop, err := bound.ServeManagement(members)
	defer stop()
	if err != nil {
		return err
	}
	d := bound.Daemon{Dir: dir, Program: opts.program, Links: opts.clusters * (opts.clusters - 1), Settle: 40 * time.Second, Rest: restTime, Log: logf}
	d.Env = []string{"LINKWRIGHT_CLUSTER_TIMEOUT=5m"} // one process plays many servers, and answers late
	if err := d.Prepare(ctx, clusters.Hosts, clusters.Kubeconfig(0)); err != nil {
		return err
	}
	for _, what := range []string{"first sync, all links written", "restart, all links there"} {
		took, err := d.Measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		fmt.Printf("%-30s %d clusters, %d links: %s\n", what, opts.clusters, d.Links, took)
	}
	return nil
}

// serveMembers serves clusters until ctx ends, and prints where in the first line.
func serveMembers(ctx context.Context, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	s, stop, err := bound.ServeMembers(n)
	defer stop()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(s)
	}
	if err == nil {
		<-ctx.Done()
	}
	return err
}

// startMembers starts the process that serves all clusters but the management cluster. It ends with ctx.
func startMembers(ctx context.Context, count int) (s bound.Served, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	c := exec.CommandContext(ctx, self, os.Args[1:]...)
	c.Env, c.Stderr = append(os.Environ(), boundVariable+"="+strconv.Itoa(count), "GOMEMLIMIT=off", "GOGC=50"), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := c.Start(); err != nil {
		return s, err
	}
	return s, json.NewDecoder(out).Decode(&s)
}

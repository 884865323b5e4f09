package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is wall time, and processor time of this process, the API server and etcd.
type cost struct {
	wall, client, server, etcd time.Duration
	requests                   tally
}

// tickLength is how long a tick of the kernel lasts: /proc counts a hundred a second.
const tickLength = 10 * time.Millisecond

// meter measures one control plane.
type meter struct {
	server, etcd int // process ids; etcd's is that of the supervisor, in which it runs
	count        *counter
	profiles     string // directory for profiles of what is measured; empty: none
}

func newMeter(apiserver int, count *counter) (*meter, error) {
	fields, err := stat(apiserver)
	if err != nil {
		return nil, err
	}
	parent, err := strconv.Atoi(fields[1])
	return &meter{server: apiserver, etcd: parent, count: count}, err
}

// measure runs f once the servers are idle; name is that of the profile.
func (m *meter) measure(ctx context.Context, name string, f func(context.Context) error) (cost, error) {
	if err := m.waitIdle(ctx); err != nil {
		return cost{}, err
	}
	stop, err := m.profile(name)
	if err != nil {
		return cost{}, err
	}
	defer stop()
	m.count.take()
	before, err := m.now()
	if err != nil {
		return cost{}, err
	}
	if err := f(ctx); err != nil {
		return cost{}, err
	}
	after, err := m.now()
	if err != nil {
		return cost{}, err
	}
	return cost{
		wall: after.wall - before.wall, client: after.client - before.client, server: after.server - before.server,
		etcd: after.etcd - before.etcd, requests: m.count.take(),
	}, nil
}

// profile takes one of this process until stop is called.
func (m *meter) profile(name string) (stop func(), err error) {
	if m.profiles == "" {
		return func() {}, nil
	}
	file, err := os.Create(filepath.Join(m.profiles, strings.ReplaceAll(name, " ", "-")+".pprof"))
	if err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close() // a profile that is cut off cannot be read
	}, pprof.StartCPUProfile(file)
}

// idleShare is the share of a core below which a server is idle.
const idleShare = 0.1

// waitIdle waits up to 20 s until API server and etcd are idle, and runs the garbage collector.
func (m *meter) waitIdle(ctx context.Context) error {
	runtime.GC()
	every := time.NewTicker(500 * time.Millisecond)
	defer every.Stop()
	last, err := m.now()
	for range 40 {
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
		var now cost
		now, err = m.now()
		busy := now.server + now.etcd - last.server - last.etcd
		if float64(busy) < idleShare*float64(now.wall-last.wall) {
			return err
		}
		last = now
	}
	return err
}

func (m *meter) now() (cost, error) {
	server, err := cpuOf(m.server)
	if err != nil {
		return cost{}, err
	}
	etcd, err := cpuOf(m.etcd)
	if err != nil {
		return cost{}, err
	}
	return cost{wall: time.Duration(time.Now().UnixNano()), client: ownCPU(), server: server, etcd: etcd}, nil
}

// ownCPU is the processor time of this process without its children.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no way to fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func cpuOf(pid int) (time.Duration, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tickLength, err
}

// stat returns the fields of /proc/PID/stat behind the command's name.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// self is this binary, also when its file was replaced by a newer build.
const self = "/proc/self/exe"

// children are the processes of one cluster. The kernel kills them when this
// process dies, however it dies, and also while they are stopped: every one is
// started from one OS thread that lives as long as the process (Pdeathsig is
// tied to the thread).
type children struct {
	dir   string // of the logs
	spawn chan func()
	died  chan error // the first child that ended

	mu   sync.Mutex
	cmds []*exec.Cmd
	wait sync.WaitGroup
}

func newChildren(dir string) *children {
	c := &children{dir: dir, spawn: make(chan func()), died: make(chan error, 1)}
	go func() {
		runtime.LockOSThread() // never unlocked
		for f := range c.spawn {
			f()
		}
	}()
	return c
}

// start runs path with args under the given name; its output goes to NAME.log.
func (c *children) start(name, path string, args []string) error {
	log, err := os.Create(c.log(name))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Args[0] = name
	if path == self {
		cmd.Args = append([]string{"controlplane", name}, args...)
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	result := make(chan error)
	c.spawn <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	c.mu.Lock()
	c.cmds = append(c.cmds, cmd)
	c.mu.Unlock()
	c.wait.Go(func() { c.reap(name, cmd) })
	return nil
}

func (c *children) log(name string) string { return filepath.Join(c.dir, name+".log") }

func (c *children) reap(name string, cmd *exec.Cmd) {
	err := cmd.Wait()
	select {
	case c.died <- fmt.Errorf("%s ended: %v\n%s", name, err, tail(c.log(name))):
	default:
	}
}

// tail is the end of a log, for a person to read why a component died.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// pids returns the process ids by component name.
func (c *children) pids() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for _, cmd := range c.cmds {
		name := cmd.Args[0]
		if name == "controlplane" {
			name = cmd.Args[1]
		}
		out[name] = cmd.Process.Pid
	}
	return out
}

// kill ends all children and waits until they are gone.
func (c *children) kill() {
	c.mu.Lock()
	for _, cmd := range c.cmds {
		_ = cmd.Process.Kill()
	}
	c.mu.Unlock()
	c.wait.Wait()
}

// until asks again until the answer is nil, a child died, or ctx ended.
func (c *children) until(ctx context.Context, what string, ask func(context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case died := <-c.died:
			return died
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-tick.C:
		}
	}
}

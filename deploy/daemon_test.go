package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
)

// daemon runs one while f does something.
func (b *testEnv) daemon(f func(), more ...string) {
	b.Helper()
	b.daemonLogging(func(*logged) { f() }, more...)
}

// logged is what a process that runs has logged so far.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all of it.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// daemonLogging is daemon for what waits for words of its log.
func (b *testEnv) daemonLogging(f func(*logged), more ...string) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	args := append([]string{"run", "--repo", b.repo, "--allow-file-repo", "--kubeconfig", b.managementKubeconfig, "--listen", "127.0.0.1:0"}, more...)
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	var log logged
	cmd.Stderr = &log
	b.must(cmd.Start())
	b.dumpsNothing(cmd.Process.Pid)
	defer func() {
		if b.Failed() {
			stop()
			_ = cmd.Wait() // perhaps once more
			b.Log(log.String())
		}
	}()
	f(&log)
	stop()
	_ = cmd.Wait() // its exit code tells
	text := strings.ToLower(log.String())
	if cmd.ProcessState.ExitCode() != 0 || strings.Contains(text, "forbidden") || strings.Contains(text, "level=error") {
		b.Errorf("linkwright run: exit code %d\n%s", cmd.ProcessState.ExitCode(), text)
	}
}

// dumpsNothing: nothing that is in the daemon's memory gets into a core dump.
func (b *testEnv) dumpsNothing(pid int) {
	b.Helper()
	b.eventually("core dumps are off", func(context.Context) error {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
		if err == nil && !regexp.MustCompile(`(?m)^Max core file size +0 +0 +bytes`).Match(text) {
			err = fmt.Errorf("they are not:\n%s", text)
		}
		return err
	})
}

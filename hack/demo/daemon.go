package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	stopGrace = 15 * time.Second // for the daemon to finish a write and release its Lease
	tailLines = 15
)

// daemon is `linkwright run` as a process of its own.
type daemon struct {
	cmd   *exec.Cmd
	log   string        // path
	ended chan struct{} // closed when the process has ended
	err   error         // why it ended
}

// startDaemon starts a process that appends its log to a file.
func startDaemon(cmd *exec.Cmd, log string) (*daemon, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start daemon: %w", err)
	}
	d := &daemon{cmd: cmd, log: log, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = file, file
	// Its own process group: Ctrl-C at the terminal reaches only the demo, which then stops the daemon.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that started the child ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			err = cmd.Wait()
		}
		d.err = errors.Join(err, file.Close())
		close(d.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start daemon: %w", err)
	}
	return d, nil
}

// stop ends the process with SIGTERM, and kills it if it does not end within stopGrace.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // fails if the process has ended
	select {
	case <-d.ended:
		return nil
	case <-time.After(stopGrace):
		err := d.cmd.Process.Kill()
		<-d.ended
		return errors.Join(fmt.Errorf("the daemon did not stop within %v and was killed", stopGrace), err)
	}
}

// how says how the process ended, in parentheses; empty: it stopped as it was asked to.
func (d *daemon) how() string {
	if d.err == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", d.err)
}

// address is where the daemon serves HTTP, from its log.
func (d *daemon) address() string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(`msg=listening address=(\S+)`).FindAllSubmatch(text, -1)
	if len(found) == 0 {
		return ""
	}
	return string(found[len(found)-1][1])
}

// tail returns the last lines of a file, or the error of reading it.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error() + "\n"
	}
	lines := slices.Collect(strings.Lines(string(text)))
	return strings.Join(lines[max(0, len(lines)-tailLines):], "")
}

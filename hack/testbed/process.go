package testbed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopGrace is how long a supervisor may take to end its children.
const stopGrace = 20 * time.Second

// resetGrace is how long a supervisor may take to reset its cluster.
const resetGrace = time.Minute

// process is the supervisor of a cluster.
type process struct {
	dir    string
	owned  bool           // dir is ours to remove, also when the supervisor could not
	said   readyMessage   // last
	stdin  io.WriteCloser // it lives as long as this is open
	stdout *bufio.Reader
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{}

	stop    sync.Once
	stopErr error
}

// launch starts a supervisor. Its directory is gone, if that fails.
func launch(p plan, dir string) (*process, error) {
	s := &process{
		dir: dir, owned: p.opts.Dir == "", ended: make(chan struct{}),
		cmd: exec.Command(filepath.Join(p.bin, "controlplane"), p.args(dir)...),
	}
	s.cmd.Stderr = &s.stderr
	// They live for a test: less garbage collection is a seventh less of their time.
	env := []string{"GOGC=400"}
	// Many share the processors of a machine that tests: with one thread each, a start takes a third less of them, and rest a fifth.
	if testing.Testing() {
		env = append(env, "GOMAXPROCS=1")
	}
	s.cmd.Env = append(env, append(os.Environ(), "CONTROLPLANE_AHEAD="+p.opts.Ahead[p.name].String())...)
	// An interrupt at the terminal reaches the parent only; its end is enough.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.run(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *process) run() error {
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.stdout, s.cmd.Stdout = bufio.NewReader(stdout), w
	if err := errors.Join(s.cmd.Start(), w.Close()); err != nil {
		return errors.Join(err, stdout.Close())
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	return nil
}

// ready reads a line that says that the cluster is ready, until it is over. A supervisor that ended first told why on stderr.
func (s *process) ready(over <-chan struct{}) error {
	lines := make(chan []byte, 1)
	go func() {
		line, _ := s.stdout.ReadBytes('\n')
		lines <- line
	}()
	select {
	case <-over:
		return errors.New("it was not ready in time")
	case line := <-lines:
		if len(line) == 0 {
			<-s.ended
			return fmt.Errorf("supervisor ended: %s", bytes.TrimSpace(s.stderr.Bytes()))
		}
		s.owned = true
		if err := json.Unmarshal(line, &s.said); err != nil {
			return fmt.Errorf("read %q of supervisor: %w", line, err)
		}
		return nil
	}
}

// reset makes the cluster what it was when it was ready first, also if some of its processes are stopped.
func (s *process) reset() error {
	select {
	case <-s.ended: // its numbers may be those of other processes
		return errors.New("the supervisor has ended")
	default:
	}
	for name, pid := range s.said.PIDs {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			return fmt.Errorf("continue %s: %w", name, err)
		}
	}
	if _, err := io.WriteString(s.stdin, "reset\n"); err != nil {
		return fmt.Errorf("ask supervisor for reset: %w", err)
	}
	over := make(chan struct{})
	defer time.AfterFunc(resetGrace, func() { close(over) }).Stop()
	return s.ready(over)
}

// Stop returns when all processes of the cluster and its directory are gone.
func (s *process) Stop() error {
	s.stop.Do(func() { s.stopErr = s.end() })
	return s.stopErr
}

func (s *process) end() error {
	err := s.stdin.Close()
	if errors.Is(err, os.ErrClosed) { // the supervisor has ended by itself
		err = nil
	}
	select {
	case <-s.ended:
	case <-time.After(stopGrace):
		// Its children die with it.
		err = errors.Join(errors.New("supervisor did not end, killed"), s.cmd.Process.Kill())
		<-s.ended
	}
	return errors.Join(err, s.remove())
}

// remove leaves a directory alone that the supervisor refused.
func (s *process) remove() error {
	if !s.owned {
		return nil
	}
	return os.RemoveAll(s.dir)
}

package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/linkwright/linkwright/render/overlay/sandbox"
)

// errChild means that a child failed for another reason than its job: it is not used again.
var errChild = errors.New("the build process failed")

// buildError is an error about the input of a build: the same job fails again.
type buildError string

// Error implements error.
func (e buildError) Error() string { return string(e) }

// boundError is a bound that the input of a build exceeds.
type boundError struct{ error }

// Unwrap returns the error of the build.
func (e boundError) Unwrap() error { return e.error }

// inputHint returns what a user can do about an error of a build; false: it is an error of this machine.
func inputHint(err error) (hint string, blamed bool) {
	if _, ok := errors.AsType[boundError](err); ok {
		return "make it smaller: docs/explanation/kustomize.md lists the limits of a build", true
	}
	_, blamed = errors.AsType[buildError](err)
	return "", blamed
}

// child is a process that runs one job after the other.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *outputHead
	limits Limits

	locked     bool // by a filter of system calls
	number     uint64
	busy       time.Duration
	timer      *time.Timer // while it is idle
	killedHere atomic.Bool // it was killed here
	kill       func()
	wait       func() // returns when the process is gone and nothing of it is left
}

// startChild starts a program with nothing but three pipes.
func startChild(program string, arguments []string, limits Limits) (*child, error) {
	k := &child{cmd: exec.Command(program, arguments...), stderr: &outputHead{}, limits: limits} //nolint:noctx // it outlives one job
	k.cmd.Env = []string{}
	k.cmd.Dir = string(os.PathSeparator)
	k.cmd.Stderr = k.stderr
	k.cmd.SysProcAttr = sandbox.Apart()
	var err error
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if k.stdout, err = k.cmd.StdoutPipe(); err != nil {
		return nil, errors.Join(err, k.stdin.Close())
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	k.kill = sync.OnceFunc(func() {
		k.killedHere.Store(true)
		_ = k.cmd.Process.Kill() // it may be gone already
	})
	k.wait = sync.OnceFunc(k.reap)
	return k, nil
}

// run sends a job and waits for the result; when ctx ends, it kills the child.
func (k *child) run(ctx context.Context, j job) (buildResult, error) {
	began := time.Now()
	k.stderr.reset()
	defer func() { k.busy += time.Since(began) }()
	stop := context.AfterFunc(ctx, k.kill)
	a, err := k.exchange(j)
	if !stop() { // it was killed, or is about to be
		return buildResult{}, k.timeout(context.Cause(ctx))
	}
	if err != nil {
		return buildResult{}, k.exitError(err)
	}
	switch {
	case a.Exceeds:
		return buildResult{}, boundError{buildError(oneLine(a.Error))}
	case a.Error != "":
		return buildResult{}, buildError(oneLine(a.Error))
	}
	if err := k.check(j, a.Built); err != nil {
		return buildResult{}, k.exitError(err)
	}
	return a.Built, nil
}

// timeout is the error of a job that took too long. It is not about the job if the child had not received it.
func (k *child) timeout(cause error) error {
	err := fmt.Errorf("%w: %w", errChild, cause)
	if k.number > 0 && errors.Is(cause, errTime) {
		return boundError{err}
	}
	return err
}

// exchange sends the job and reads the result; the first time, it exchanges hello and ready before.
func (k *child) exchange(j job) (response, error) {
	limit := k.limits.frame()
	if k.number == 0 {
		if err := k.handshake(limit); err != nil {
			return response{}, err
		}
	}
	k.number++
	switch err := writeFrame(k.stdin, limit, request{Number: k.number, Job: j}); {
	case errors.Is(err, errFrameTooLong):
		return response{}, boundError{fmt.Errorf("send the job: %w", err)}
	case err != nil:
		return response{}, fmt.Errorf("send the job: %w", err)
	}
	var a response
	if err := readFrame(k.stdout, limit, &a); err != nil {
		return response{}, fmt.Errorf("read the result: %w", err)
	}
	if a.Number != k.number {
		return response{}, fmt.Errorf("read the result: it answers job %d, not %d", a.Number, k.number)
	}
	return a, nil
}

func (k *child) handshake(limit int64) error {
	if err := writeFrame(k.stdin, limit, k.limits.hello()); err != nil {
		return fmt.Errorf("send the limits: %w", err)
	}
	var r ready
	if err := readFrame(k.stdout, limit, &r); err != nil {
		return fmt.Errorf("wait until it is ready: %w", err)
	}
	k.locked = r.Locked
	return nil
}

// check validates the result of a child, which is not trusted.
func (k *child) check(j job, b buildResult) error {
	switch {
	case len(b.Objects) > k.limits.Objects:
		return fmt.Errorf("%d objects: at most %d are allowed", len(b.Objects), k.limits.Objects)
	case len(b.Chosen) != len(j.Targets):
		return fmt.Errorf("%d targets are answered, not %d", len(b.Chosen), len(j.Targets))
	}
	for _, o := range b.Objects {
		if _, known := j.Files[o.Origin]; o.Origin != "" && !known {
			return fmt.Errorf("an object comes from %q, which is not a file of the job", o.Origin)
		}
		if object := (map[string]json.RawMessage{}); json.Unmarshal(o.Body, &object) != nil {
			return errors.New("an object is not a JSON object")
		}
	}
	return nil
}

// exitError is the error of a job whose child ended, with the child's last output.
func (k *child) exitError(cause error) error {
	killed := k.wasKilled(cause)
	k.end()
	switch text := exitMessage(k.stderr.String()); {
	case k.number == 0: // it has no job yet
		cause = withOutput(cause, text)
	case k.cmd.ProcessState.ExitCode() == childFull, outOfMemory(text):
		cause = boundError{fmt.Errorf("it needs more than %d MiB of memory", k.limits.Memory>>20)}
	case killed:
		cause = errOutOfMemory
	case isCrash(text):
		cause = fmt.Errorf("%w: %w", cause, buildError(oneLine(text)))
	default:
		cause = withOutput(cause, text)
	}
	return fmt.Errorf("%w: %w", errChild, cause)
}

// errOutOfMemory is the usual cause if the child was killed, and not by this process.
var errOutOfMemory = errors.New("it was killed from outside, because the machine or the container is out of memory")

// wasKilled reports whether something else killed the child. It waits for a child that closed its pipes to end.
func (k *child) wasKilled(cause error) bool {
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) || errors.Is(cause, syscall.EPIPE) {
		late := time.AfterFunc(time.Second, k.kill)
		defer late.Stop()
		k.wait()
	}
	return !k.killedHere.Load() && sandbox.Killed(k.cmd.ProcessState)
}

// end kills the process, and returns when it is gone.
func (k *child) end() {
	k.kill()
	k.wait()
}

func (k *child) reap() {
	_ = k.stdin.Close() // Wait closes stdout and returns how it ended, which is known
	_ = k.cmd.Wait()
}

// withOutput adds the last output of a process to an error.
func withOutput(cause error, text string) error {
	if text == "" {
		return cause
	}
	return fmt.Errorf("%w: %s", cause, oneLine(text))
}

// isCrash recognizes messages of Go's runtime that are caused by the program.
func isCrash(text string) bool {
	return strings.HasPrefix(text, "panic: ") || strings.Contains(text, "goroutine stack exceeds")
}

// outOfMemory recognizes messages of the runtimes of Go and C about missing memory.
func outOfMemory(text string) bool {
	return strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory") ||
		strings.Contains(text, "pthread_create failed")
}

// exitMessage is the output of a process before the stacks of its goroutines, without kustomize's advice.
func exitMessage(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "# Warning"):
		case line == "" && len(out) > 0:
			return strings.Join(out, " ")
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// oneLine shortens a build's error to one line, with paths of the tree. It drops kustomize's remarks that a directory is no
// file.
func oneLine(text string) string {
	const most = 1000
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, treeRoot+"/", "")), " ")
	text = regexp.MustCompile(`accumulation err='[^:]*: '[^']*' must resolve to a file': `).ReplaceAllString(text, "")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// outputHead keeps the first bytes that a process writes to stderr, and discards the rest.
type outputHead struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer; it never fails, so that the process does not block.
func (h *outputHead) Write(p []byte) (int, error) {
	const most = 4 << 10
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), most-len(h.text))]...)
	return len(p), nil
}

func (h *outputHead) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = nil
}

func (h *outputHead) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ToValidUTF8(string(h.text), "?")
}

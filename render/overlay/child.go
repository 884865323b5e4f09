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

// errChild says that a child failed, not what it was to build: it is not used again.
var errChild = errors.New("the build process failed")

// buildError is what a build says against its own input: the same job gives the same again.
type buildError string

// Error implements error.
func (e buildError) Error() string { return string(e) }

// boundError is a bound that a build exceeds: what it was given is to be changed, not this machine.
type boundError struct{ error }

// Unwrap returns what became of the build.
func (e boundError) Unwrap() error { return e.error }

// blames returns why an error of a build is about what it was given, and what to do about it; else this machine failed.
func blames(err error) (hint string, blamed bool) {
	if _, ok := errors.AsType[boundError](err); ok {
		return "make it smaller: docs/explanation/kustomize.md lists the limits of a build", true
	}
	_, blamed = errors.AsType[buildError](err)
	return "", blamed
}

// child is a process that builds one job after the other.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *head
	limits Limits

	locked bool // by a filter of system calls
	number uint64
	worked time.Duration
	timer  *time.Timer // while it is idle
	ours   atomic.Bool // it was killed here
	kill   func()
	wait   func() // returns when the process is gone and nothing of it is left
}

// startChild starts a program with nothing but three pipes.
func startChild(program string, arguments []string, limits Limits) (*child, error) {
	k := &child{cmd: exec.Command(program, arguments...), stderr: &head{}, limits: limits} //nolint:noctx // it outlives one job
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
		k.ours.Store(true)
		_ = k.cmd.Process.Kill() // it may be gone already
	})
	k.wait = sync.OnceFunc(k.reap)
	return k, nil
}

// do sends a job and waits for what becomes of it; when ctx ends, so does the child.
func (k *child) do(ctx context.Context, j job) (built, error) {
	began := time.Now()
	k.stderr.forget()
	defer func() { k.worked += time.Since(began) }()
	stop := context.AfterFunc(ctx, k.kill)
	a, err := k.ask(j)
	if !stop() { // it was killed, or is about to be
		return built{}, k.late(context.Cause(ctx))
	}
	if err != nil {
		return built{}, k.failed(err)
	}
	switch {
	case a.Exceeds:
		return built{}, boundError{buildError(tidy(a.Error))}
	case a.Error != "":
		return built{}, buildError(tidy(a.Error))
	}
	if err := k.check(j, a.Built); err != nil {
		return built{}, k.failed(err)
	}
	return a.Built, nil
}

// late is the end of a job that was not waited for. Before the child had the job, that is not about the job.
func (k *child) late(cause error) error {
	err := fmt.Errorf("%w: %w", errChild, cause)
	if k.number > 0 && errors.Is(cause, errTime) {
		return boundError{err}
	}
	return err
}

// ask exchanges frames: the first time, hello and ready before the job.
func (k *child) ask(j job) (answer, error) {
	limit := k.limits.frame()
	if k.number == 0 {
		if err := k.greet(limit); err != nil {
			return answer{}, err
		}
	}
	k.number++
	switch err := writeFrame(k.stdin, limit, question{Number: k.number, Job: j}); {
	case errors.Is(err, errFrameTooLong):
		return answer{}, boundError{fmt.Errorf("send the job: %w", err)}
	case err != nil:
		return answer{}, fmt.Errorf("send the job: %w", err)
	}
	var a answer
	if err := readFrame(k.stdout, limit, &a); err != nil {
		return answer{}, fmt.Errorf("read the result: %w", err)
	}
	if a.Number != k.number {
		return answer{}, fmt.Errorf("read the result: it answers job %d, not %d", a.Number, k.number)
	}
	return a, nil
}

func (k *child) greet(limit int64) error {
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

// check trusts no child: what it gives must be what was asked for.
func (k *child) check(j job, b built) error {
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

// failed makes the end of the child, and what it said last, the error of the job.
func (k *child) failed(cause error) error {
	killed := k.gone(cause)
	k.end()
	switch text := lastWords(k.stderr.String()); {
	case k.number == 0: // it has no job yet
		cause = said(cause, text)
	case k.cmd.ProcessState.ExitCode() == childFull, outOfMemory(text):
		cause = boundError{fmt.Errorf("it needs more than %d MiB of memory", k.limits.Memory>>20)}
	case killed:
		cause = errMachineFull
	case crashed(text):
		cause = fmt.Errorf("%w: %w", cause, buildError(tidy(text)))
	default:
		cause = said(cause, text)
	}
	return fmt.Errorf("%w: %w", errChild, cause)
}

// errMachineFull is what it mostly means when a process is killed by nobody.
var errMachineFull = errors.New("it was killed from outside, because the machine or the container is out of memory")

// gone reports whether the child was killed, and not here. One that closed its pipes is about to end, and may say why.
func (k *child) gone(cause error) bool {
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) || errors.Is(cause, syscall.EPIPE) {
		late := time.AfterFunc(time.Second, k.kill)
		defer late.Stop()
		k.wait()
	}
	return !k.ours.Load() && sandbox.Killed(k.cmd.ProcessState)
}

// end kills the process, and returns when it is gone.
func (k *child) end() {
	k.kill()
	k.wait()
}

func (k *child) reap() {
	_ = k.stdin.Close() // Wait closes stdout and tells how it ended, which is known
	_ = k.cmd.Wait()
}

// said adds what a process said last.
func said(cause error, text string) error {
	if text == "" {
		return cause
	}
	return fmt.Errorf("%w: %s", cause, tidy(text))
}

// crashed knows what the runtime of Go says where the code that it runs is the cause.
func crashed(text string) bool {
	return strings.HasPrefix(text, "panic: ") || strings.Contains(text, "goroutine stack exceeds")
}

// outOfMemory knows what the runtimes of Go and C say when the kernel gives no more.
func outOfMemory(text string) bool {
	return strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory") ||
		strings.Contains(text, "pthread_create failed")
}

// lastWords is why a process ended: what stands before the stacks of its goroutines. Kustomize's advice is no reason.
func lastWords(text string) string {
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

// tidy shortens what a build says to one line, with paths as they stand in the tree. That a directory is no file is
// what kustomize says of each that leads to the place of an error.
func tidy(text string) string {
	const most = 1000
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, treeRoot+"/", "")), " ")
	text = regexp.MustCompile(`accumulation err='[^:]*: '[^']*' must resolve to a file': `).ReplaceAllString(text, "")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// head keeps the first bytes that a process writes to stderr, and takes the rest without a word.
type head struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer; it never fails, so that the process is not held up.
func (h *head) Write(p []byte) (int, error) {
	const most = 4 << 10
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), most-len(h.text))]...)
	return len(p), nil
}

func (h *head) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ToValidUTF8(string(h.text), "?")
}

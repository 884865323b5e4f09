package overlay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Options are how child processes are started. The zero value starts this program itself, which must call Serve when its first
// argument is Child.
type Options struct {
	Program   string   // default: the running one
	Arguments []string // default: Child
	Children  int      // at the same time, at most; default: as many as there are processors, but two
	Limits    Limits
	Warn      func(string) // called once if this machine lacks a layer of the sandbox; may be nil
}

// Sandbox is the sandbox: it builds kustomizations in isolated child processes. It is safe for concurrent use.
type Sandbox struct {
	options Options
	slots   chan struct{} // one for each child that may work
	memo    *memo
	warned  sync.Once

	mu      sync.Mutex
	closed  bool
	idle    []*child            // the one that worked last is the last
	working map[*child]struct{} // to be ended by Close
	ended   sync.WaitGroup      // children and their timers
}

// idleTimeout is how long a child waits for the next job; it takes some 30 MiB meanwhile.
const idleTimeout = 15 * time.Second

// errClosed is the error of a build after Close.
var errClosed = errors.New("the sandbox is closed")

// errTime means that a build took too long.
var errTime = errors.New("it takes longer than")

// New makes a sandbox; it starts no process yet.
func New(o Options) *Sandbox {
	o.Children = cmp.Or(max(o.Children, 0), min(runtime.GOMAXPROCS(0), 2))
	o.Limits = o.Limits.orDefault()
	if len(o.Arguments) == 0 {
		o.Arguments = []string{Child}
	}
	return &Sandbox{options: o, slots: make(chan struct{}, o.Children), memo: newMemo(), working: map[*child]struct{}{}}
}

// Close kills all children, also those that work, and returns when they are gone. Later builds fail.
func (c *Sandbox) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, k := range c.idle {
		c.dismiss(k)
	}
	c.idle = nil
	for k := range c.working {
		k.kill()
	}
	c.mu.Unlock()
	c.ended.Wait()
	return nil
}

// build runs one job in a child. A failure or timeout of the child is an error of this job alone.
func (c *Sandbox) build(ctx context.Context, j job) (buildResult, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return buildResult{}, context.Cause(ctx)
	}
	limit := c.options.Limits.Time
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w %s", errTime, limit))
	defer cancel()
	if k := c.reuse(); k != nil {
		b, err := c.runIn(ctx, k, j)
		if !errors.Is(err, errChild) || ctx.Err() != nil {
			return b, err
		}
		// It may have been killed while it was idle, because of its memory, which is no fault of this job.
	}
	k, err := c.start()
	if err != nil {
		return buildResult{}, err
	}
	return c.runIn(ctx, k, j)
}

func (c *Sandbox) runIn(ctx context.Context, k *child, j job) (buildResult, error) {
	b, err := k.run(ctx, j)
	if k.number > 0 && !k.locked && c.options.Warn != nil {
		c.warned.Do(func() { c.options.Warn(unfilteredWarning) })
	}
	c.giveBack(k, err)
	return b, err
}

// unfilteredWarning is the warning if the system call filter is missing.
const unfilteredWarning = "this machine does not filter system calls, so the sandbox of kustomize lacks one layer (docs/explanation/kustomize.md)"

// reuse returns an idle child, or nil.
func (c *Sandbox) reuse() *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, k := range slices.Backward(c.idle) {
		c.idle = c.idle[:n]
		if k.timer.Stop() {
			c.working[k] = struct{}{}
			return k
		}
	}
	return nil
}

func (c *Sandbox) start() (*child, error) {
	program := c.options.Program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find linkwright's own program: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	k, err := startChild(program, c.options.Arguments, c.options.Limits)
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	c.ended.Add(1)
	c.working[k] = struct{}{}
	return k, nil
}

// giveBack keeps a child for the next job unless it failed or is old.
func (c *Sandbox) giveBack(k *child, err error) {
	c.mu.Lock()
	delete(c.working, k)
	keep := !c.closed && !errors.Is(err, errChild) && k.busy < c.options.Limits.lifetime()
	if keep {
		k.timer = time.AfterFunc(idleTimeout, func() { c.expire(k) })
		c.idle = append(c.idle, k)
	}
	c.mu.Unlock()
	if !keep {
		k.end()
		c.ended.Done()
	}
}

// expire ends a child after idleTimeout. reuse skips it until it is off the list.
func (c *Sandbox) expire(k *child) {
	defer c.ended.Done()
	c.mu.Lock()
	for i, other := range c.idle {
		if other == k {
			c.idle = append(c.idle[:i:i], c.idle[i+1:]...)
			break
		}
	}
	c.mu.Unlock()
	k.end()
}

// dismiss ends an idle child, unless expire does so already.
func (c *Sandbox) dismiss(k *child) {
	if k.timer.Stop() {
		k.end()
		c.ended.Done()
	}
}

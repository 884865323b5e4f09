package testbed

import (
	"bufio"
	"bytes"
	"context"
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

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// stopGrace is how long a supervisor may take to end its children.
const stopGrace = 20 * time.Second

// Cluster is one running cluster.
type Cluster struct {
	Name string
	// Dir holds the kubeconfig, the audit log and one log per component.
	Dir string
	// Kubeconfig is a path; the file holds CA and token inline.
	Kubeconfig string
	// Config is that of a user who may do everything, without client-side
	// rate limit. Copy it before changing it.
	Config *rest.Config
	// PIDs of the components by program name ("kube-apiserver", …).
	PIDs map[string]int

	owned    bool // Dir is ours to remove, also when the supervisor could not
	ahead    time.Duration
	auditLog string
	audit    audit
	stdin    io.Closer // the supervisor lives as long as this is open
	cmd      *exec.Cmd
	stderr   *bytes.Buffer
	ended    chan struct{}
	stop     sync.Once
	stopErr  error
}

// plan is one cluster to start.
type plan struct {
	bin   string // directory of the binaries
	opts  Options
	name  string
	index int // keeps the address ranges of the clusters of one bed apart
}

// readyMessage is the line by which the supervisor says that it is ready.
type readyMessage struct {
	Kubeconfig string         `json:"kubeconfig"`
	AuditLog   string         `json:"auditLog"`
	PIDs       map[string]int `json:"pids"`
}

func start(ctx context.Context, p plan) (*Cluster, error) {
	started, err := startSlot(ctx)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, err)
	}
	defer started()
	dir, err := p.dir()
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, err)
	}
	c := &Cluster{Name: p.name, Dir: dir, ahead: p.opts.Ahead[p.name], owned: p.opts.Dir == "", stderr: &bytes.Buffer{}, ended: make(chan struct{})}
	stdout, err := c.launch(p)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, errors.Join(err, c.remove()))
	}
	if err := c.awaitReady(ctx, stdout); err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, errors.Join(err, c.Stop()))
	}
	return c, nil
}

func (p plan) dir() (string, error) {
	if p.opts.Dir == "" {
		return os.MkdirTemp("", "testbed-"+p.name+"-")
	}
	return filepath.Abs(filepath.Join(p.opts.Dir, p.name))
}

func (p plan) args(dir string) []string {
	args := []string{
		"serve", "--dir=" + dir, "--name=" + p.name,
		fmt.Sprintf("--service-cidr=10.%d.0.0/16", 64+p.index%64),
		fmt.Sprintf("--pod-cidr=10.%d.0.0/16", 128+p.index%64),
	}
	if p.opts.Light {
		args = append(args, "--light")
	}
	return args
}

func (c *Cluster) launch(p plan) (io.Reader, error) {
	c.cmd = exec.Command(filepath.Join(p.bin, "controlplane"), p.args(c.Dir)...)
	c.cmd.Stderr = c.stderr
	// They live for a test: less garbage collection is a seventh less of their time.
	env := []string{"GOGC=400"}
	// Many share the processors of a machine that tests: with one thread each, a start takes a third less of them, and rest a fifth.
	if testing.Testing() {
		env = append(env, "GOMAXPROCS=1")
	}
	c.cmd.Env = append(env, append(os.Environ(), "CONTROLPLANE_AHEAD="+c.ahead.String())...)
	// An interrupt at the terminal reaches the parent only; its end is enough.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	stdout, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stdout = w
	if err := errors.Join(c.cmd.Start(), w.Close()); err != nil {
		return nil, errors.Join(err, stdout.Close())
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	return stdout, nil
}

// awaitReady reads the announcement; a supervisor that ended first tells why on
// stderr.
func (c *Cluster) awaitReady(ctx context.Context, stdout io.Reader) error {
	lines := make(chan []byte, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadBytes('\n')
		lines <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-lines:
		if len(line) == 0 {
			<-c.ended
			return fmt.Errorf("supervisor ended: %s", bytes.TrimSpace(c.stderr.Bytes()))
		}
		return c.readReady(line)
	}
}

func (c *Cluster) readReady(line []byte) error {
	var a readyMessage
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("read announcement: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", a.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, c.owned = -1, true
	c.Kubeconfig, c.Config, c.PIDs, c.auditLog = a.Kubeconfig, config, a.PIDs, a.AuditLog
	return nil
}

// As is Config with another user agent, the name by which Requests finds what
// was asked with it.
func (c *Cluster) As(userAgent string) *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.UserAgent = userAgent
	return config
}

// Pause stops the API server in mid-air: connections are accepted and nothing
// answers, as of a cluster behind a broken network.
func (c *Cluster) Pause() error { return c.signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (c *Cluster) Resume() error { return c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(sig syscall.Signal) error {
	if err := syscall.Kill(c.PIDs["kube-apiserver"], sig); err != nil {
		return fmt.Errorf("send %v to API server of %s: %w", sig, c.Name, err)
	}
	return nil
}

// Ended is closed when the cluster has ended, also by itself: it ends with any of its processes.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// Stop ends the cluster for good: connections are refused from then on. It
// returns when its processes and its directory are gone.
func (c *Cluster) Stop() error {
	c.stop.Do(func() { c.stopErr = c.end() })
	return c.stopErr
}

func (c *Cluster) end() error {
	err := c.stdin.Close()
	if errors.Is(err, os.ErrClosed) { // the supervisor has ended by itself
		err = nil
	}
	select {
	case <-c.ended:
	case <-time.After(stopGrace):
		// Its children die with it.
		err = errors.Join(errors.New("supervisor did not end, killed"), c.cmd.Process.Kill())
		<-c.ended
	}
	return errors.Join(err, c.remove())
}

// remove leaves a directory alone that the supervisor refused.
func (c *Cluster) remove() error {
	if !c.owned {
		return nil
	}
	return os.RemoveAll(c.Dir)
}

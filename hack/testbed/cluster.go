package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

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

	ahead    time.Duration
	auditLog string
	audit    audit
	process  *process
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
	if p.opts.Pool != nil {
		if c, err := p.opts.Pool.take(p); c != nil || err != nil {
			return c, err
		}
	}
	started, err := startSlot(ctx)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, err)
	}
	defer started()
	dir, err := p.dir()
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, err)
	}
	process, err := launch(p, dir)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, err)
	}
	if err := process.ready(ctx.Done()); err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", p.name, errors.Join(context.Cause(ctx), err, process.Stop()))
	}
	return p.cluster(process)
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
	if p.opts.Pool != nil {
		args = append(args, "--reset")
	}
	return args
}

// cluster is the one that the process runs.
func (p plan) cluster(process *process) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", process.said.Kubeconfig)
	if err != nil {
		return nil, errors.Join(err, process.Stop())
	}
	config.QPS = -1
	return &Cluster{
		Name: p.name, Dir: process.dir, Kubeconfig: process.said.Kubeconfig, Config: config, PIDs: process.said.PIDs,
		ahead: p.opts.Ahead[p.name], auditLog: process.said.AuditLog, process: process,
	}, nil
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
func (c *Cluster) Ended() <-chan struct{} {
	if c.process == nil { // it never began
		return nil
	}
	return c.process.ended
}

// Stop ends the cluster for good: connections are refused from then on. It
// returns when its processes and its directory are gone.
func (c *Cluster) Stop() error { return c.process.Stop() }

package testbed

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// Pool keeps clusters that tests gave back, each as it was when it was ready.
// The zero value is empty. Its clusters end with the process.
type Pool struct {
	mu  sync.Mutex
	all []spare
}

// spare is a cluster that nobody uses.
type spare struct {
	process *process
	light   bool
	index   int // of its address ranges
}

// take returns a cluster for the plan, or nil if there is none of that sort. It is reset once more: controllers may have been late, and it may
// have ended since.
func (pool *Pool) take(p plan) (*Cluster, error) {
	for {
		process := pool.next(p)
		if process == nil {
			return nil, nil
		}
		if err := process.reset(); err == nil {
			return p.again(process)
		}
		if err := process.Stop(); err != nil {
			return nil, fmt.Errorf("stop a cluster that cannot be %s: %w", p.name, err)
		}
	}
}

// next takes one out of the pool; nil if there is none.
func (pool *Pool) next(p plan) *process {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for i, s := range pool.all {
		if s.light == p.opts.Light && s.index == p.index {
			pool.all = slices.Delete(pool.all, i, i+1)
			return s.process
		}
	}
	return nil
}

// again is the cluster of a process, under the name of the plan and with none of the requests so far.
func (p plan) again(process *process) (*Cluster, error) {
	log, err := os.Stat(process.said.AuditLog)
	if err == nil {
		err = renameContext(process.said.Kubeconfig, p.name)
	}
	if err != nil {
		return nil, fmt.Errorf("use cluster for %s again: %w", p.name, errors.Join(err, process.Stop()))
	}
	c, err := p.cluster(process)
	if err != nil {
		return nil, err
	}
	c.audit = audit{path: c.auditLog, size: log.Size(), since: time.Now(), ids: map[string]bool{}}
	return c, nil
}

// put makes a cluster what it was, and keeps it. A cluster that cannot be that any more is stopped.
func (pool *Pool) put(c *Cluster, light bool, index int) error {
	if err := c.process.reset(); err != nil {
		return c.Stop()
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.all = append(pool.all, spare{process: c.process, light: light, index: index})
	return nil
}

// renameContext gives the one context of a kubeconfig, its cluster and its user a name.
func renameContext(path, name string) error {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return err
	}
	old := config.CurrentContext
	if old == name {
		return nil
	}
	config.Clusters[name], config.AuthInfos[name], config.Contexts[name] = config.Clusters[old], config.AuthInfos[old], config.Contexts[old]
	delete(config.Clusters, old)
	delete(config.AuthInfos, old)
	delete(config.Contexts, old)
	config.CurrentContext, config.Contexts[name].Cluster, config.Contexts[name].AuthInfo = name, name, name
	return clientcmd.WriteToFile(*config, path)
}

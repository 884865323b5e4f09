package main

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// logins are the flags of a command that uses a person's own logins.
type logins struct {
	kubeconfig string
	contexts   []string
	timeout    time.Duration // of one request
}

// login is the login of one context. Its requests are not slowed down.
type login struct {
	name   api.ClusterName
	config *rest.Config
}

// addLogins adds the flags; does says what the command does with a cluster.
func (f *logins) addLogins(c *cobra.Command, does string) {
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "file with the contexts (default: those of KUBECONFIG, merged, or ~/.kube/config)")
	c.Flags().StringArrayVar(&f.contexts, "context", nil, does+" the cluster of this context (repeatable)")
	cli.WithoutVariable(c.Flags(), "kubeconfig", "context")
	f.timeout = 15 * time.Second
	c.Flags().Var(&cli.Span{At: &f.timeout}, "cluster-timeout", cli.TimeoutUsage)
}

// namesOf returns the names of clusters, which are those of their contexts.
func namesOf(all []login) []api.ClusterName {
	names := make([]api.ClusterName, len(all))
	for i, l := range all {
		names[i] = l.name
	}
	return names
}

// open reads the logins of all contexts.
func (f *logins) open() ([]login, error) {
	if len(f.contexts) == 0 {
		return nil, cli.Usage("--context is missing: give it once for each cluster")
	}
	file, raw, err := cli.Kubeconfig(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	out := make([]login, len(f.contexts))
	for i, name := range f.contexts {
		cfg, err := cli.Login(file, raw, name)
		if err != nil {
			return nil, err
		}
		cfg.QPS, cfg.Timeout = -1, f.timeout
		out[i] = login{api.ClusterName(name), cfg}
	}
	return out, nil
}

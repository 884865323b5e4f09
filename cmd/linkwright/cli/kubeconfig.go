package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/sync/cluster"
)

// errNoKubeconfig says that a kubeconfig cannot be read.
var errNoKubeconfig = errors.New("read kubeconfig")

// FindCluster gives the configuration of the cluster that flags name, or KUBECONFIG does, or in which this runs, or that ~/.kube/config names, the
// first of them that there is; and which of them it was.
func FindCluster(kubeconfig, context string) (cfg *rest.Config, where string, err error) {
	if kubeconfig == "" && context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if cfg, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
			return cfg, "the cluster that linkwright runs in", err
		}
	}
	file, raw, err := Kubeconfig(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	cfg, err = Login(file, raw, context)
	return cfg, "context " + cmp.Or(context, currentContext(raw)) + " of " + file, err
}

func currentContext(raw []byte) string {
	config, err := clientcmd.Load(raw)
	if err != nil {
		return ""
	}
	return config.CurrentContext
}

// Kubeconfig reads the kubeconfig of who runs the command: the named one, or that of kubectl (KUBECONFIG, or ~/.kube/config).
func Kubeconfig(named string) (file string, raw []byte, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if file = named; file == "" && len(rules.Precedence) > 1 {
		return mergedFiles(rules)
	}
	if file == "" {
		file = clientcmd.NewDefaultPathOptions().GetDefaultFilename()
	}
	if raw, err = os.ReadFile(file); err != nil {
		return "", nil, fmt.Errorf("%w: %w", errNoKubeconfig, err)
	}
	return file, raw, nil
}

// mergedFiles merges the files that KUBECONFIG lists, as kubectl does: of what two declare, the first one's counts. Paths in
// them become absolute.
func mergedFiles(rules *clientcmd.ClientConfigLoadingRules) (name string, raw []byte, err error) {
	name = strings.Join(rules.Precedence, string(filepath.ListSeparator))
	merged, err := rules.Load()
	if err != nil {
		return "", nil, fmt.Errorf("read KUBECONFIG %s: %w", name, err)
	}
	if len(merged.Contexts) == 0 {
		return "", nil, fmt.Errorf("read KUBECONFIG %s: none of these files has a context: give --kubeconfig", name)
	}
	raw, err = clientcmd.Write(*merged)
	return name, raw, err
}

// Login gives the configuration of one context of a kubeconfig; empty: the current one. What it refers to is the operator's own, so
// files are read and credential plugins started.
func Login(file string, raw []byte, context string) (*rest.Config, error) {
	cfg, err := cluster.ParseKubeconfig(raw, context, cluster.Trust{Files: true, Exec: true, Dir: filepath.Dir(file)})
	if err != nil && context != "" {
		return nil, fmt.Errorf("read kubeconfig %s, context %s: %w", file, context, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", file, err)
	}
	return cfg, nil
}

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// onlyClusters is the script of a run that starts clusters with Linkerd and links nothing, for the tutorials.
func (d *demo) onlyClusters() []step {
	return []step{{fmt.Sprintf("Start %d Kubernetes control planes, with simulated pods and a simulated Linkerd", d.Clusters), d.startBed}}
}

// stayIdle shows how to use the clusters, and keeps them until Ctrl-C.
func (d *demo) stayIdle(ctx context.Context) error {
	path, err := d.writeKubeconfig()
	if err != nil {
		return err
	}
	d.screen.note("\nThe clusters run until you press Ctrl-C. In a second terminal, begin with:\n")
	d.screen.note("   export KUBECONFIG=%s", quote(path))
	d.screen.note("   export PATH=%s:\"$PATH\"", quote(filepath.Dir(d.Linkwright)))
	for gone := d.watchClusters(ctx); ; {
		select {
		case name := <-gone:
			d.clusterEnded(name)
		case <-ctx.Done():
			return nil
		}
	}
}

// writeKubeconfig writes a kubeconfig with a context for each cluster, which has its name.
func (d *demo) writeKubeconfig() (path string, err error) {
	all := clientcmdapi.NewConfig()
	for _, c := range d.clusters {
		one, err := clientcmd.LoadFromFile(c.Kubeconfig)
		if err != nil {
			return "", fmt.Errorf("read kubeconfig: %w", err)
		}
		from := one.Contexts[one.CurrentContext]
		all.Clusters[c.Name], all.AuthInfos[c.Name] = one.Clusters[from.Cluster], one.AuthInfos[from.AuthInfo]
		all.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	}
	all.CurrentContext = management
	path = filepath.Join(d.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*all, path); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return path, nil
}

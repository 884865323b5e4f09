// Package bound measures the memory of a daemon, the program itself, with a full mesh of clusters. They are in memory, and serve real HTTP.
package bound

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math"
	"net/http/httptest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// What a daemon needs at most, in bytes, while it writes all links in one sync, which takes most. `bin/bench bound` measures it.
const (
	fixed      = 8 << 20   // live heap without any cluster
	perCluster = 256 << 10 // live heap of watches, and as much for their stacks
	perLink    = 68 << 10  // live heap
	program    = 64 << 20  // what is no heap
)

// liveHeap is what a garbage collection leaves at most.
func liveHeap(clusters, links int) int64 {
	return fixed + int64(clusters)*perCluster + int64(links)*perLink
}

// Needs is the memory that a daemon needs for a full mesh of as many links, without garbage.
func Needs(links int) int64 {
	clusters := int(math.Ceil(math.Sqrt(float64(links)))) + 1
	return program + liveHeap(clusters, links) + int64(clusters)*perCluster
}

// Served are clusters at addresses of this machine. The first is the management cluster, and has the kubeconfigs of all.
type Served struct {
	Hosts []string // by number
	CA    []byte   // PEM
}

// Serve serves clusters, each at an address of its own, until stop is called.
func Serve(count int) (s Served, stop func(), err error) {
	names := make([]api.ClusterName, count)
	for i := range names {
		names[i] = api.ClusterName(Name(i))
	}
	clusters, servers := memcluster.New(memcluster.Options{}, names...), []*httptest.Server{}
	stop = func() {
		for _, server := range servers {
			server.CloseClientConnections()
			server.Close()
		}
	}
	for _, name := range names {
		server := httptest.NewUnstartedServer(clusters.Cluster(name).Handler())
		server.EnableHTTP2 = true
		server.StartTLS()
		servers = append(servers, server)
		s.Hosts, s.CA = append(s.Hosts, server.URL), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		if err := s.dress(clusters.Cluster(name)); err != nil {
			return s, stop, err
		}
	}
	return s, stop, s.putAccess(clusters.Cluster(names[0]))
}

// dress installs Linkerd, and publishes the CA of the server.
func (s Served) dress(c *memcluster.Cluster) error {
	if err := c.InstallLinkerd(testbed.Linkerd{}); err != nil {
		return err
	}
	root := object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"}
	return c.Edit("bound", root, func(content map[string]any) { content["data"] = map[string]any{"ca.crt": string(s.CA)} })
}

// Name is the name of a cluster.
func Name(i int) string { return fmt.Sprintf("c%03d", i) }

// putAccess puts a Secret with a kubeconfig for each cluster into the management cluster.
func (s Served) putAccess(management *memcluster.Cluster) error {
	err := management.Put("bound", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}})
	for i := range s.Hosts {
		if err != nil {
			return err
		}
		err = management.Put("bound", map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": Name(i), "namespace": "linkwright"},
			"data": map[string]any{"kubeconfig": s.Kubeconfig(i)},
		})
	}
	return err
}

// Kubeconfig leads to a cluster.
func (s Served) Kubeconfig(i int) []byte {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": []any{map[string]any{"name": "x", "cluster": map[string]any{"server": s.Hosts[i], "certificate-authority-data": s.CA}}},
		"contexts": []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "x", "user": "x"}}},
		"users":    []any{map[string]any{"name": "x", "user": map[string]any{"token": "x"}}},
	})
	if err != nil {
		panic(err) // it is made of texts
	}
	return text
}

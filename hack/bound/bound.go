// Package bound measures the memory of a daemon, the program itself, with a full mesh of clusters. They are in memory, and serve real HTTP.
package bound

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"

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

// Served are clusters at addresses of this machine. Number 0 is the management cluster, which has the kubeconfigs of all.
type Served struct {
	Hosts []string // by number
	CA    []byte   // PEM
}

// ServeMembers serves clusters 1 to count-1, each at an address of its own, until stop is called. Host 0 is empty.
func ServeMembers(count int) (s Served, stop func(), err error) {
	names := make([]api.ClusterName, 0, count)
	for i := 1; i < count; i++ {
		names = append(names, api.ClusterName(Name(i)))
	}
	clusters, stops := memcluster.New(memcluster.Options{}, names...), []func(){}
	s.Hosts = make([]string, 1, count)
	for _, name := range names {
		host, stop, err := s.serve(clusters.Cluster(name))
		s.Hosts, stops = append(s.Hosts, host), append(stops, stop)
		if err != nil {
			return s, stopAll(stops), err
		}
	}
	return s, stopAll(stops), nil
}

func stopAll(stops []func()) func() {
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// ServeManagement serves the management cluster beside members. Its own process answers in time for the Lease, however busy the members are.
func ServeManagement(members Served) (s Served, stop func(), err error) {
	s = Served{Hosts: slices.Clone(members.Hosts), CA: members.CA}
	cluster := memcluster.New(memcluster.Options{}, api.ClusterName(Name(0))).Cluster(api.ClusterName(Name(0)))
	if s.Hosts[0], stop, err = s.serve(cluster); err == nil {
		err = s.putAccess(cluster)
	}
	return s, stop, err
}

// serve serves a cluster with Linkerd, and notes the CA, which is the same for all servers.
func (s *Served) serve(c *memcluster.Cluster) (host string, stop func(), err error) {
	server := httptest.NewUnstartedServer(c.Handler())
	server.EnableHTTP2 = true
	server.StartTLS()
	s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	stop = func() {
		server.CloseClientConnections()
		server.Close()
	}
	return server.URL, stop, s.dress(c)
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

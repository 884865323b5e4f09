package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/faultproxy"
	"github.com/linkwright/linkwright/hack/testbed"
)

func newSweep(t *testing.T, b *book) *sweep {
	t.Helper()
	s := &sweep{lab: newLab(t, "east", "west"), book: b, proxies: map[string]*faultproxy.Proxy{}, listen: freeAddress(t)}
	for name, at := range map[string]string{"east": "east", "west": "west", "management": "west"} {
		s.proxies[name] = s.through(name, at)
	}
	if err := testbed.Export(t.Context(), s.Cluster("east").Config, testbed.Exported{Namespace: "default", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	s.secondNode()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- testbed.RunMirrors(ctx, s.Cluster("west").Config, testbed.MirrorOptions{Period: 100 * time.Millisecond})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s.groups = s.all(s.clustersByProxy())
	s.reach(s.nothing)
	return s
}

func (s *sweep) clustersByProxy() string {
	return strings.NewReplacer("kubeconfigSecret: {name: east}", "kubeconfigSecret: {name: east-by-proxy}",
		"kubeconfigSecret: {name: west}", "kubeconfigSecret: {name: west-by-proxy}").Replace(s.clusters())
}

// freeAddress is one that nobody listens on, and that no client's end of a connection takes meanwhile: those are at 127.0.0.1.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// secondNode gives the replicas that must not share one another place to go to, while they are replaced.
func (s *sweep) secondNode() {
	s.t.Helper()
	nodes := s.client("west").CoreV1().Nodes()
	list, err := nodes.List(s.t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		s.t.Fatalf("nodes: %v, %v", list, err)
	}
	first := list.Items[0]
	second := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "second", Labels: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/hostname": "second"}},
		Status:     corev1.NodeStatus{Capacity: first.Status.Capacity, Allocatable: first.Status.Allocatable},
	}
	if _, err := nodes.Create(s.t.Context(), second, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// through puts a proxy in front of a cluster, and gives the program access by it.
func (s *sweep) through(name, at string) *faultproxy.Proxy {
	s.t.Helper()
	p, err := faultproxy.New(s.Cluster(at).Config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	raw, err := p.Kubeconfig("")
	if err != nil {
		s.t.Fatal(err)
	}
	if name == "management" {
		s.management = filepath.Join(s.t.TempDir(), "management")
		if err := os.WriteFile(s.management, raw, 0o600); err != nil {
			s.t.Fatal(err)
		}
		return p
	}
	s.access(name+"-by-proxy", string(raw))
	return p
}

package faultproxy_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/faultproxy"
	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/testbed"
)

// live is the cluster of this package's tests; nil without LINKWRIGHT_CLUSTERS.
var live *testbed.Cluster

func TestMain(m *testing.M) { os.Exit(withBed(m)) }

func withBed(m *testing.M) int {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		return leaks.Code(m.Run())
	}
	bed, err := testbed.Start(context.Background(), testbed.Options{Names: []string{"east"}, Light: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	live = bed.Clusters[0]
	code := m.Run()
	if err := bed.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return leaks.Code(code)
}

// scene is a proxy of the test's own, and a namespace.
type scene struct {
	*testing.T
	proxy *faultproxy.Proxy
	via   *kubernetes.Clientset // through the proxy
	past  *kubernetes.Clientset // past it
	ns    string
}

func open(t *testing.T) *scene {
	t.Helper()
	if live == nil {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	proxy, err := faultproxy.New(live.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	s := &scene{T: t, proxy: proxy}
	s.via, s.past = s.client(proxy.Config()), s.client(live.As("past"))
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(t.Name())) + "-"
	made, err := s.past.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name}}, metav1.CreateOptions{})
	s.must(err)
	s.ns = made.Name
	return s
}

// client has connections of its own.
func (s *scene) client(config *rest.Config) *kubernetes.Clientset {
	s.Helper()
	config.WarningHandler = rest.NoWarnings{}
	http, err := rest.HTTPClientFor(config)
	s.must(err)
	s.Cleanup(http.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, http)
	s.must(err)
	return client
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// apply writes a Secret through the proxy, and tries once.
func (s *scene) apply(name string) error {
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q}}`, name)
	return s.via.CoreV1().RESTClient().Patch(types.ApplyPatchType).Namespace(s.ns).Resource("secrets").Name(name).
		Param("fieldManager", "via").Body([]byte(body)).MaxRetries(0).Do(s.Context()).Error()
}

// list reads Secrets through the proxy, and tries once.
func (s *scene) list(params ...string) (*corev1.SecretList, error) {
	req := s.via.CoreV1().RESTClient().Get().Namespace(s.ns).Resource("secrets").MaxRetries(0)
	for i := 0; i < len(params); i += 2 {
		req.Param(params[i], params[i+1])
	}
	list := &corev1.SecretList{}
	return list, req.Do(s.Context()).Into(list)
}

// put makes a Secret past the proxy.
func (s *scene) put(name string) {
	s.Helper()
	_, err := s.past.CoreV1().Secrets(s.ns).Create(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	s.must(err)
}

// there reports whether the server has it.
func (s *scene) there(name string) bool {
	s.Helper()
	list, err := s.past.CoreV1().Secrets(s.ns).List(s.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	s.must(err)
	return len(list.Items) == 1
}

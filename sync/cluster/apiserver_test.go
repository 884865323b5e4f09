package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// live is the cluster of this package's tests; nil without LINKWRIGHT_CLUSTERS.
var live *testbed.Cluster

func TestMain(m *testing.M) { os.Exit(withAPIServer(m)) }

func withAPIServer(m *testing.M) int {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		return leaks.Code(m.Run())
	}
	bed, err := testbed.Start(context.Background(), testbed.Options{Names: []string{"east"}})
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

func needAPIServer(t *testing.T) {
	t.Helper()
	if live == nil {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
}

// counter notes what goes out.
type counter struct {
	next http.RoundTripper
	mu   sync.Mutex
	list []string
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.list = append(c.list, r.Method+" "+r.URL.Path)
	c.mu.Unlock()
	if r.Header.Get("Authorization") != "" {
		return nil, errors.New("the wrapper sees credentials")
	}
	return c.next.RoundTrip(r)
}

// taken returns the requests since it was last asked, in order of their names.
func (c *counter) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.list
	c.list = nil
	slices.Sort(out)
	return out
}

// dial opens a client that counts.
func dial(t *testing.T, cfg *rest.Config, o Options) (*Client, *counter) {
	t.Helper()
	count := &counter{}
	o.Wrap = func(_ api.ClusterName, next http.RoundTripper) http.RoundTripper {
		count.next = next
		return count
	}
	c, err := connect(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c, count
}

// east opens the live cluster, as us and as somebody else, with a namespace of the test's own.
func east(t *testing.T) (*Client, *kubernetes.Clientset, string) {
	t.Helper()
	needAPIServer(t)
	c, _ := dial(t, live.Config, Options{})
	foreign := kubernetes.NewForConfigOrDie(live.As("foreign"))
	return c, foreign, namespace(t, foreign)
}

func namespace(t *testing.T, as *kubernetes.Clientset) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	made, err := as.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// write does a change that must succeed.
func write(t *testing.T, c *Client, ch object.Change) object.Record {
	t.Helper()
	now, err := c.Write(t.Context(), ch)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func create(o object.Object) object.Change {
	return object.Change{Action: object.Create, Key: o.Key, Object: o}
}

func update(o object.Object, was object.Record) object.Change {
	return object.Change{Action: object.Update, Key: o.Key, Object: o, Was: was}
}

// observed returns what a fresh read shows of one object; zero where it is absent.
func observed(t *testing.T, c *Client, o object.Object) object.Record {
	t.Helper()
	observed, err := c.Observe(t.Context(), []object.Watch{{
		Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Names: []string{o.Key.Name},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return observed.Record(o.Key)
}

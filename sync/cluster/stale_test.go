package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// road is what lies between us and an API server: it can cut watches off, hold what is read next, and change the next watch.
type road struct {
	next  http.RoundTripper
	mu    sync.Mutex
	asked []string
	open  []io.Closer
	gate  chan struct{} // nil: open
	stale bool          // the next watch begins at a version that nobody remembers
	say   string        // the next watch gives this and ends
}

func (r *road) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	gate := r.gate
	r.mu.Unlock()
	if gate != nil && q.Method == http.MethodGet {
		<-gate
	}
	if q.URL.Query().Get("watch") == "" {
		r.note("list")
		return r.next.RoundTrip(q)
	}
	r.note("watch")
	r.mu.Lock()
	stale, say := r.stale, r.say
	r.stale, r.say = false, ""
	r.mu.Unlock()
	if say != "" {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(say)), Request: q,
		}, nil
	}
	if stale {
		q = q.Clone(q.Context())
		query := q.URL.Query()
		query.Set("resourceVersion", "1")
		q.URL.RawQuery = query.Encode()
	}
	answer, err := r.next.RoundTrip(q)
	if err == nil {
		r.mu.Lock()
		r.open = append(r.open, answer.Body)
		r.mu.Unlock()
	}
	return answer, err
}

func (r *road) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, what)
}

func (r *road) taken() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := strings.Join(r.asked, " ")
	r.asked = nil
	return out
}

// cut ends all watches and holds what is read until open is called.
func (r *road) cut(stale bool, say string) (open func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	r.gate, r.stale, r.say = gate, stale, say
	ends := r.open
	r.open = nil
	r.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
	}
	return func() { close(gate) }
}

func TestLiveAfterAWatchEnds(t *testing.T) {
	gone := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}}`
	tests := []struct {
		name string
		say  string
		asks string
	}{
		{"it goes on where it was", "", "list watch"},
		{"an event says too old", gone, "list watch list watch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &road{}
			s := watched(t, config(t), Options{})
			s.ride(r)
			w := s.configMaps(object.Reduced)
			s.put("goes", "v")
			s.put("changes", "v")
			s.put("stays", "v")
			mine := configMap(t, s.ns, "mine", nil)
			s.look(w)
			r.taken()
			open := r.cut(false, tt.say)
			s.remove("goes")
			s.patch("changes", `{"metadata":{"labels":{"linkwright.dev/owner":"x"}}}`)
			s.put("comes", "v")
			rec := write(t, s.client, create(mine))
			r.taken()
			open()
			s.until("all of it", func() bool { return s.keys[s.key("goes")] && s.keys[s.key("changes")] && s.keys[s.key("comes")] })
			if got := s.look(w).Record(mine.Key); got != rec {
				t.Errorf("our own write: got %+v, want %+v", got, rec)
			}
			if s.take(); len(s.keys) != 3 || s.all {
				t.Errorf("told all: %v, %v; want what moved", s.all, s.keys)
			}
			s.put("last", "v")
			s.moved("last") // so the last watch is under way
			if asked := r.taken(); asked != tt.asks {
				t.Errorf("asked %q, want %q", asked, tt.asks)
			}
		})
	}
}

// An API server has no history of a kind from before it was installed.
func TestLiveAfterTheServerForgot(t *testing.T) {
	r := &road{}
	s := watched(t, config(t), Options{})
	s.ride(r)
	group := s.ns + ".example.com"
	serve, drop := crd(t, group)
	serve()
	defer drop()
	w := object.Watch{Group: group, Version: "v1", Kind: "Widget", Namespace: s.ns}
	s.look(w)
	open := r.cut(true, "")
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}}}
	widgets := dynamic.NewForConfigOrDie(live.As("foreign")).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"})
	if _, err := widgets.Namespace(s.ns).Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.taken()
	open()
	s.until("the widget", func() bool { return s.keys[object.Key{Group: group, Kind: "Widget", Namespace: s.ns, Name: "a"}] })
	if err := widgets.Namespace(s.ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.keys = map[object.Key]bool{}
	s.until("its end", func() bool { return len(s.keys) > 0 }) // so the last watch is under way
	if asked := r.taken(); asked != "list watch list watch" || s.all {
		t.Errorf("asked %q, told all: %v; want a look where the server is, a watch that is refused, and a relist", asked, s.all)
	}
}

// ride has the cluster opened by way of a road.
func (s *scene) ride(r *road) {
	s.Helper()
	ctx := context.WithoutCancel(s.Context())
	if err := s.registry.Stop(ctx, "east"); err != nil {
		s.Fatal(err)
	}
	s.registry = New(Options{Wrap: func(_ api.ClusterName, next http.RoundTripper) http.RoundTripper {
		r.next = next
		return r
	}})
	if err := s.registry.Spawn(ctx, "east", live.Config); err != nil {
		s.Fatal(err)
	}
	s.client = client(s.T, s.registry, "east")
}

// A changed configuration is watched before it is used, and the old one ends with its last callback.
func TestReplaceSyncsBeforeItSwaps(t *testing.T) {
	s := watched(t, config(t), Options{})
	w := s.configMaps(object.Reduced)
	s.look(w)
	old, inside, leave, done := s.client, make(chan bool), make(chan bool), make(chan error)
	go func() {
		done <- s.registry.WithClient(t.Context(), "east", func(c *Client) error {
			inside <- true
			<-leave
			_, err := c.Live(t.Context(), []object.Watch{w})
			return err
		})
	}()
	<-inside
	other := rest.CopyConfig(live.Config)
	other.UserAgent = "another"
	if err := s.registry.Replace(t.Context(), "east", other); err != nil {
		t.Fatal(err)
	}
	s.until("replaced", func() bool { return s.all })
	if s.client = client(t, s.registry, "east"); s.client == old {
		t.Fatal("Replace: the old client is still used")
	}
	s.count.taken()
	s.look(w)
	if asked := s.count.taken(); len(asked) > 0 {
		t.Errorf("Live right after Replace asked %v, want nothing", asked)
	}
	leave <- true
	if err := <-done; err != nil {
		t.Errorf("the callback that began before: %v", err)
	}
	old.feeds.mu.Lock()
	defer old.feeds.mu.Unlock()
	if n := len(old.feeds.open); n != 0 {
		t.Errorf("the old client still watches %d scopes", n)
	}
	s.all = false
	s.still("what the new one shows")
}

// A hundred clusters come and go, and TestMain finds no goroutine that is left.
func TestManyClusters(t *testing.T) {
	s := watched(t, config(t), Options{})
	watches := []object.Watch{s.configMaps(object.Reduced), {Version: "v1", Kind: "Secret", Namespace: s.ns, Depth: object.Whole}}
	s.put("a", "v")
	registry := New(Options{Timeout: time.Minute})
	each := func(f func(api.ClusterName) error) {
		t.Helper()
		var g errgroup.Group
		g.SetLimit(50)
		for i := range 100 {
			g.Go(func() error { return f(api.ClusterName(fmt.Sprintf("c%d", i))) })
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	}
	each(func(name api.ClusterName) error {
		if err := registry.Spawn(t.Context(), name, live.Config); err != nil {
			return err
		}
		return registry.WithClient(t.Context(), name, func(c *Client) error {
			observed, err := c.Live(t.Context(), watches)
			if err == nil && observed.Record(s.key("a")).IsZero() {
				return fmt.Errorf("%s does not see what is there", name)
			}
			return err
		})
	})
	s.put("b", "v")
	reported := map[api.ClusterName]bool{}
	for len(reported) < 100 {
		<-registry.Moved()
		for name, m := range registry.Take() {
			reported[name] = slices.Equal(m.Keys, []object.Key{s.key("b")})
		}
	}
	each(func(name api.ClusterName) error {
		if !reported[name] {
			return fmt.Errorf("%s does not tell what moved", name)
		}
		return registry.Stop(t.Context(), name)
	})
	if names := registry.Names(); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

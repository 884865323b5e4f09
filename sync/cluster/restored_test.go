package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// restorable answers as an API server does over an etcd that may be set back: a watch from a version that is still to come is
// answered, and shows nothing (k8s.io/apiserver pkg/storage/cacher, getAllEventsSinceLocked and processInterval).
type restorable struct {
	mu    sync.Mutex
	at    int
	name  string // of the only Secret
	asked []string
	tear  context.CancelFunc // of the last watch
	says  string             // the next watch gives this and ends
}

func (r *restorable) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	query, body := q.URL.Query(), io.NopCloser(strings.NewReader(coreKinds))
	switch {
	case query.Get("watch") != "":
		r.asked = append(r.asked, "watch "+query.Get("resourceVersion"))
		body = r.watch(q.Context())
	case query.Get("limit") != "":
		r.asked = append(r.asked, "list "+query.Get("limit"))
		body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d"},`+
			`"items":[{"metadata":{"name":%q,"namespace":"ns","uid":%[2]q,"resourceVersion":"1"}}]}`, r.at, r.name)))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: q}, nil
}

// watch ends when it is torn, or by its time.
func (r *restorable) watch(ctx context.Context) io.ReadCloser {
	body, w := io.Pipe()
	says := r.says
	r.says = ""
	ctx, r.tear = context.WithTimeout(ctx, watchFor)
	go func() {
		if says == "" {
			<-ctx.Done()
		} else {
			_, _ = io.WriteString(w, says)
		}
		_ = w.Close()
	}()
	return body
}

func (r *restorable) set(at int, name, says string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.name, r.says = at, name, says
	r.tear()
}

func (r *restorable) taken() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := strings.Join(r.asked, ", ")
	r.asked = nil
	return out
}

// A feed is not stale for as long as it takes a server whose etcd was restored to come to where it was before.
func TestLiveAfterTheServerWasSetBack(t *testing.T) {
	large := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,` +
		`"message":"Timeout: Too large resource version: 900, current: 7","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}}`
	for _, tt := range []restoration{
		{name: "its time is over", at: 900, found: "a", asks: "watch 900"},
		{name: "torn, the server went on", at: 950, found: "a", torn: true, asks: "list 1, watch 900"},
		{name: "torn, the server is where it was", at: 900, found: "a", torn: true, asks: "list 1, watch 900"},
		{name: "torn, the server was set back", at: 7, found: "b", torn: true, asks: "list 1, list 500, watch 7", told: 2},
		{name: "a server that says so", at: 900, found: "a", says: large, torn: true, asks: "list 1, watch 900, list 500, watch 900"},
	} {
		t.Run(tt.name, func(t *testing.T) { synctest.Test(t, tt.test) })
	}
}

// restoration is what becomes of a feed that was at 900 and showed a, a minute later.
type restoration struct {
	name  string
	at    int    // the server is
	found string // the only Secret then
	says  string
	torn  bool
	asks  string
	told  int // keys
}

func (tt restoration) test(t *testing.T) {
	server := &restorable{at: 900, name: "a"}
	c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	watches := []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns"}}
	if _, err := c.Live(t.Context(), watches); err != nil {
		t.Fatal(err)
	}
	server.taken()
	if tt.torn {
		time.Sleep(time.Minute)
		server.set(tt.at, tt.found, tt.says)
	} else {
		time.Sleep(watchFor)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	if asked := server.taken(); asked != tt.asks {
		t.Errorf("asked %q, want %q", asked, tt.asks)
	}
	if m, _ := c.feeds.take(); len(m.Keys) != tt.told || m.All {
		t.Errorf("told %+v, want %d keys", m, tt.told)
	}
	observed, err := c.Live(t.Context(), watches)
	if err != nil || observed.Record(object.Key{Kind: "Secret", Namespace: "ns", Name: tt.found}).IsZero() {
		t.Errorf("Live: %v, without %s", err, tt.found)
	}
}

// What the real server does: it answers, and shows nothing.
func TestLiveAfterARealServerWasSetBack(t *testing.T) {
	r := &road{}
	s := watched(t, config(t), Options{})
	s.ride(r)
	w := s.configMaps(object.Reduced)
	s.put("a", "v")
	s.look(w)
	s.put("b", "v")
	s.moved("b") // so the watch is under way
	feeds := s.client.feeds
	feeds.mu.Lock()
	for _, f := range feeds.open {
		f.at = "99" + f.at // as if all this were of before a backup
	}
	feeds.mu.Unlock()
	r.taken()
	open := r.cut(false, "")
	s.remove("a")
	open()
	s.moved("a")
	if s.look(w).Record(s.key("a")) != (object.Record{}) {
		t.Error("what was deleted is still shown")
	}
	s.put("c", "v")
	s.moved("c")
	if asked := r.taken(); asked != "list list watch" || s.all {
		t.Errorf("asked %q, told all: %v; want a look where the server is, and a relist", asked, s.all)
	}
}

package cluster

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// A write of linkwright is told where a look gave up before the watch showed it: nobody would look again.
func TestWhatALookGaveUpWaitingForIsTold(t *testing.T) {
	for _, gaveUp := range []bool{false, true} {
		s := mergeScopes([]object.Watch{{Version: "v1", Kind: "ConfigMap", Namespace: "ns"}})[0]
		f := &feed{scope: s, condition: complete, at: "5", pending: map[object.Key]pendingWrite{}}
		l := newFeeds(func() {})
		l.open[s], l.scopes = f, []scope{s}
		key := object.Key{Kind: "ConfigMap", Namespace: "ns", Name: "a"}
		l.underway(key)
		l.wrote(object.Change{Action: object.Create, Key: key}, object.Record{UID: "u", ResourceVersion: "7"}, nil)
		if gaveUp {
			_ = l.behindError(t.Context().Err())
		}
		l.apply(f, event{watch.Added, object.Item{Namespace: "ns", Name: "a", Record: object.Record{UID: "u", ResourceVersion: "7"}}, "7"})
		if _, reported := l.take(); reported != gaveUp {
			t.Errorf("given up: %v; told: %v", gaveUp, reported)
		}
	}
}

// late serves a kind once it is told to.
type late struct{ served atomic.Bool }

func (l *late) RoundTrip(q *http.Request) (*http.Response, error) {
	answer := func(code int, body string) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: q}, nil
	}
	switch {
	case q.URL.Query().Get("watch") != "":
		body, w := io.Pipe() // nothing comes
		context.AfterFunc(q.Context(), func() { _ = w.CloseWithError(q.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: q}, nil
	case q.URL.Path == "/apis":
		return answer(http.StatusOK, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case !l.served.Load():
		return answer(http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case q.URL.Path == "/apis/example.com/v1":
		return answer(http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"widgets","kind":"Widget"}]}`)
	}
	return answer(http.StatusOK, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"items":[]}`)
}

// A kind that comes to be served moves its cluster although nobody asks: else an end that is held without it would be held for ever.
func TestLiveTellsThatAKindCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &late{}
		c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{
			Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		widgets := []object.Watch{{Group: "example.com", Version: "v1", Kind: "Widget"}}
		if observed, err := c.Live(t.Context(), widgets); err != nil || len(observed.Unserved) != 1 {
			t.Fatalf("before: unserved %v, %v", observed.Unserved, err)
		}
		time.Sleep(askAgain + time.Second)
		if m, reported := c.feeds.take(); reported {
			t.Errorf("while it is not served: told %+v", m)
		}
		server.served.Store(true)
		time.Sleep(askAgain + time.Second)
		if m, _ := c.feeds.take(); !m.All {
			t.Errorf("served: told %+v, want all", m)
		}
		if observed, err := c.Live(t.Context(), widgets); err != nil || len(observed.Unserved) != 0 {
			t.Errorf("served: unserved %v, %v", observed.Unserved, err)
		}
	})
}

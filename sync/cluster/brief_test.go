package cluster

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// hasty answers lists slowly, and ends watches at once.
type hasty struct{ asked atomic.Int32 }

func (h *hasty) RoundTrip(q *http.Request) (*http.Response, error) {
	body := coreKinds
	switch query := q.URL.Query(); {
	case query.Get("watch") != "":
		body = ""
	case query.Get("limit") != "":
		h.asked.Add(1)
		time.Sleep(2 * shortWatch)
		body = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[]}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: q,
	}, nil
}

// A watch that ends as soon as it begins is reported, and begun again ever more seldom, also where what goes before it takes long.
func TestBriefWatchesBehindSlowLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &hasty{}
		c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		watches := []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns"}}
		if _, err := c.Live(t.Context(), watches); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if asked := server.asked.Load(); asked > 30 {
			t.Errorf("asked for %d lists in five minutes", asked)
		}
		if _, err := c.Live(t.Context(), watches); err == nil || !strings.Contains(err.Error(), "the watch ends as soon as it begins") {
			t.Errorf("Live: %v", err)
		}
	})
}

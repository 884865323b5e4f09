package access

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/web"
)

// server answers with a status, or not at all.
type server int

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	if s == 0 {
		return nil, errors.New("no answer")
	}
	return &http.Response{StatusCode: int(s), Body: http.NoBody}, nil
}

func TestTraffic(t *testing.T) {
	c := newClusters(Options{})
	c.want = []fleet.Cluster{{Name: "east", Spec: api.Cluster{Linkerd: api.Linkerd{Namespace: "linkerd"}}}}
	c.declare()
	for _, q := range []struct {
		method, url string
		answer      server
	}{
		{http.MethodGet, "/apis/apps/v1/namespaces/x/deployments?limit=500", 200},
		{http.MethodGet, "/apis/apps/v1/namespaces/x/deployments?limit=500&continue=y", 200},
		{http.MethodGet, "/apis/apps/v1/namespaces/x/deployments?watch=1", 200},
		{http.MethodGet, "/api/v1/namespaces/linkerd-multicluster/secrets/a", 200},
		{http.MethodGet, "/api/v1/namespaces/linkerd/secrets/cluster-credentials-west", 404},
		{http.MethodPatch, "/api/v1/namespaces/linkerd/secrets/cluster-credentials-west", 200},
		{http.MethodPatch, "/api/v1/namespaces/x/services/a", 429},
		{http.MethodDelete, "/api/v1/namespaces/x/services/a", 0},
		{http.MethodPost, "/api/v1/namespaces/x/serviceaccounts/a/token", 503},
		{http.MethodPut, "/api/v1/namespaces/x/services/a", 409},
	} {
		r, err := http.NewRequestWithContext(t.Context(), q.method, "https://192.0.2.1"+q.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.count("east", q.answer).RoundTrip(r)
		if (err != nil) != (q.answer == 0) {
			t.Errorf("%s %s: %v", q.method, q.url, err)
		}
		if err == nil {
			_ = answer.Body.Close()
		}
	}
	want := map[web.Sent]int{
		{Cluster: "east", Verb: "list", Code: "2xx", About: "objects"}:    2,
		{Cluster: "east", Verb: "watch", Code: "2xx", About: "objects"}:   1,
		{Cluster: "east", Verb: "get", Code: "2xx", About: "objects"}:     1,
		{Cluster: "east", Verb: "get", Code: "4xx", About: "credentials"}: 1,
		{Cluster: "east", Verb: "patch", Code: "2xx", About: "objects"}:   1,
		{Cluster: "east", Verb: "patch", Code: "429", About: "objects"}:   1,
		{Cluster: "east", Verb: "delete", Code: "none", About: "objects"}: 1,
		{Cluster: "east", Verb: "create", Code: "5xx", About: "objects"}:  1,
		{Cluster: "east", Verb: "update", Code: "4xx", About: "objects"}:  1,
	}
	if diff := cmp.Diff(want, c.traffic.counts()); diff != "" {
		t.Errorf("traffic: -want +got\n%s", diff)
	}
}

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// listed serves ConfigMaps of a namespace that may be listed, and watched only once that is granted, without any network.
type listed struct {
	at      atomic.Int64 // the resourceVersion of all
	lists   atomic.Int64
	granted atomic.Bool
	closed  atomic.Bool // not even listed
}

func (s *listed) RoundTrip(q *http.Request) (*http.Response, error) {
	to := httptest.NewRecorder()
	watches := q.URL.Query().Get("watch") != ""
	switch {
	case q.URL.Path == "/api/v1":
		say(http.StatusOK, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`)(to, q)
	case s.closed.Load() || watches && !s.granted.Load():
		say(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"configmaps is forbidden: User cannot watch","reason":"Forbidden","code":403}`)(to, q)
	case watches:
		silent, end := io.Pipe()
		context.AfterFunc(q.Context(), func() { end.CloseWithError(q.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Body: silent, Header: http.Header{"Content-Type": {"application/json"}}, Request: q}, nil
	default:
		s.lists.Add(1)
		at := s.at.Load()
		say(http.StatusOK, fmt.Sprintf(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d"},"items":[`+
			`{"metadata":{"name":"a","namespace":"linkerd","uid":"u","resourceVersion":"%d"}}]}`, at, at))(to, q)
	}
	return to.Result(), nil
}

// A kind that may be listed and not watched is listed every 30 s, and named as unwatched, whether or not it may be hidden. If it may not be
// listed any more, it is hidden.
func TestUnwatchedKindIsListedEveryThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &listed{}
		server.at.Store(5)
		c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{
			Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		kind := object.Key{Kind: "ConfigMap", Namespace: "linkerd"}
		a := object.Key{Kind: "ConfigMap", Namespace: "linkerd", Name: "a"}
		look := func(mayHide bool) object.Observation {
			t.Helper()
			observed, err := c.Live(t.Context(), []object.Watch{{Version: "v1", Kind: kind.Kind, Namespace: kind.Namespace, Depth: object.Metadata, MayBeForbidden: mayHide}})
			if err != nil {
				t.Fatal(err)
			}
			return observed
		}
		for _, mayHide := range []bool{false, true} {
			observed := look(mayHide)
			if diff := cmp.Diff([]object.Key{kind}, observed.Unwatched); diff != "" || len(observed.Hidden) > 0 || observed.Record(a).IsZero() {
				t.Fatalf("may be hidden %t: hidden %v, unwatched: -want +got\n%s", mayHide, observed.Hidden, diff)
			}
		}
		before := server.lists.Load()
		server.at.Add(1)
		time.Sleep(2*pollEvery + time.Second)
		if got := look(true).Record(a).ResourceVersion; got != "6" || server.lists.Load() > before+6 {
			t.Errorf("a minute after a foreign change: at %s, want 6, by %d lists", got, server.lists.Load()-before)
		}
		server.closed.Store(true)
		time.Sleep(pollEvery + time.Second)
		if observed := look(true); !slices.Equal(observed.Hidden, []object.Hidden{{Key: kind, By: object.Installation{Owner: object.DefaultOwner}}}) || len(observed.Unwatched) > 0 {
			t.Errorf("closed: hidden %v, unwatched %v", observed.Hidden, observed.Unwatched)
		}
		server.closed.Store(false)
		server.granted.Store(true)
		time.Sleep(pollEvery + time.Second)
		if observed := look(true); len(observed.Hidden)+len(observed.Unwatched) > 0 || observed.Record(a).IsZero() {
			t.Errorf("granted: hidden %v, unwatched %v", observed.Hidden, observed.Unwatched)
		}
	})
}

// A kind that a real API server lets linkwright list and not watch is shown as it is listed, again after each write of linkwright.
func TestLiveListsWhatMayNotBeWatched(t *testing.T) {
	cfg := rest.CopyConfig(config(t))
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "lists-" + strings.ToLower(t.Name()), Groups: []string{"system:authenticated"}}
	s := watched(t, cfg, Options{})
	s.grant(cfg.Impersonate.UserName,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "create", "patch"}},
	)
	w := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: s.ns, Depth: object.Metadata, MayBeForbidden: true}
	observed := s.look(w)
	if want := []object.Key{{Kind: "ConfigMap", Namespace: s.ns}}; !slices.Equal(observed.Unwatched, want) || len(observed.Hidden) > 0 {
		t.Fatalf("unwatched %v, hidden %v", observed.Unwatched, observed.Hidden)
	}
	if _, err := s.foreign.CoreV1().ConfigMaps(s.ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	o := configMap(t, s.ns, "own", nil)
	now, err := s.client.Write(t.Context(), object.Change{Action: object.Create, Key: o.Key, Object: o})
	if err != nil {
		t.Fatal(err)
	}
	observed = s.look(w)
	if observed.Record(o.Key) != now || observed.Record(object.Key{Kind: "ConfigMap", Namespace: s.ns, Name: "foreign"}).IsZero() {
		t.Errorf("after our write: ours %v, want %v, %d shown", observed.Record(o.Key), now, observed.Len())
	}
}

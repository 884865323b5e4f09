package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// closed serves one Secret, which may be read by name once that is granted, and a ConfigMap that may always be.
type closed struct{ granted atomic.Bool }

func (s *closed) RoundTrip(q *http.Request) (*http.Response, error) {
	to := httptest.NewRecorder()
	at := q.URL.Path
	name := at[strings.LastIndex(at, "/")+1:]
	switch {
	case at == "/api/v1":
		say(http.StatusOK, `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
			`{"name":"secrets","kind":"Secret","namespaced":true},{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`)(to, q)
	case name == "a" && (strings.Contains(at, "configmaps") || s.granted.Load()):
		say(http.StatusOK, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"linkerd","uid":"u","resourceVersion":"5"}}`)(to, q)
	default:
		say(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is forbidden","reason":"Forbidden","code":403}`)(to, q)
	}
	return to.Result(), nil
}

// secretA returns what closed serves once it is granted.
func secretA(hides bool) object.Watch {
	return object.Watch{Version: "v1", Kind: "Secret", Namespace: "linkerd", Names: []string{"a"}, MayBeForbidden: hides}
}

func (s *closed) connect(t *testing.T) *Client {
	t.Helper()
	c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{
		Owner: "blue", Namespace: "ops",
		Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return s },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What may not be hidden is an error.
func TestNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(closed).connect(t)
		defer c.close()
		for what, look := range map[string]func(context.Context, []object.Watch) (object.Observation, error){"Observe": c.Observe, "Live": c.Live} {
			if _, err := look(t.Context(), []object.Watch{secretA(true), secretA(false)}); Explain(err).Code != reason.Forbidden {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// What may be hidden is reported, and the rest is given. A right that is granted counts within 30 s.
func TestHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &closed{}
		c := server.connect(t)
		defer c.close()
		all := object.Watch{Version: "v1", Kind: "Secret", Namespace: "elsewhere", MayBeForbidden: true}
		some := object.Watch{Version: "v1", Kind: "ConfigMap", Selector: "a", MayBeForbidden: true}
		blue := object.Installation{Owner: "blue", Namespace: "ops"}
		watches := []object.Watch{secretA(true), all, some, {Version: "v1", Kind: "ConfigMap", Namespace: "linkerd", Names: []string{"a"}}}
		secret, config := object.Key{Kind: "Secret", Namespace: "linkerd", Name: "a"}, object.Key{Kind: "ConfigMap", Namespace: "linkerd", Name: "a"}
		others := []object.Hidden{{Key: object.Key{Kind: "ConfigMap"}, Selector: "a", By: blue}, {Key: object.Key{Kind: "Secret", Namespace: "elsewhere"}, By: blue}}
		want := append(slices.Clone(others), object.Hidden{Key: secret, By: blue})
		same := func(what string, want []object.Hidden, look func(context.Context, []object.Watch) (object.Observation, error)) object.Observation {
			t.Helper()
			observed, err := look(t.Context(), watches)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if diff := cmp.Diff(want, observed.Hidden); diff != "" {
				t.Errorf("%s: hidden: -want +got\n%s", what, diff)
			}
			return observed
		}
		for _, observed := range []object.Observation{same("Observe", want, c.Observe), same("Live", want, c.Live)} {
			if observed.Record(config).IsZero() || observed.Hides(secret) == nil || observed.Hides(config) != nil {
				t.Errorf("the rest: %v, hidden: %v", observed.Record(config), observed.Hides(secret))
			}
		}
		server.granted.Store(true)
		time.Sleep(pollEvery + time.Second)
		if observed := same("half a minute after it was granted", others, c.Live); observed.Record(secret).IsZero() || observed.Hides(secret) != nil {
			t.Error("the Secret is hidden still")
		}
		if moves, ok := c.feeds.take(); !ok || !moves.All {
			t.Errorf("what is seen now is not told: %v", moves)
		}
	})
}

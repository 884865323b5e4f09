package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// named serves Secrets that may be asked for by name only, without any network.
type named struct {
	t    *testing.T
	mu   sync.Mutex
	at   int              // the resourceVersion of all
	asks map[string][]int // seconds since begun, by name
	of   time.Time
}

func (n *named) RoundTrip(q *http.Request) (*http.Response, error) {
	to := httptest.NewRecorder()
	name := q.URL.Path[strings.LastIndex(q.URL.Path, "/")+1:]
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case q.URL.Path == "/api/v1":
		say(http.StatusOK, coreKinds)(to, q)
		return to.Result(), nil
	case name == "secrets" || q.URL.Query().Get("watch") != "":
		n.t.Errorf("asked %s %s, which takes rights to list or watch", q.Method, q.URL)
	case q.Method == http.MethodPatch:
		n.at++
	case !strings.Contains(q.Header.Get("Accept"), "as=PartialObjectMetadata;"):
		n.t.Errorf("asked for %s as %q: more than its metadata", name, q.Header.Get("Accept"))
	default:
		n.asks[name] = append(n.asks[name], int(time.Since(n.of).Seconds()))
	}
	say(http.StatusOK, fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+
		`"metadata":{"name":%q,"namespace":"linkerd","uid":"u","resourceVersion":"%d"}}`, name, n.at))(to, q)
	return to.Result(), nil
}

// taken is when each name was asked for, since the last time.
func (n *named) taken() map[string][]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.asks
	n.asks = map[string][]int{}
	return out
}

// What may only be asked for by name is asked for when a daemon begins, after writes of its own, and every ten minutes;
// however often anybody looks meanwhile. Of its metadata alone.
func TestPolledIsAskedForEveryTenMinutesAndAfterOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &named{t: t, at: 5, asks: map[string][]int{}, of: time.Now()}
		c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{
			Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		secrets := []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "linkerd", Names: []string{"a", "b"}, Depth: object.Metadata, Polled: true}}
		look := func() object.Observation {
			seen, err := c.Live(t.Context(), secrets)
			if err != nil {
				t.Fatal(err)
			}
			return seen
		}
		until := func(minute, second int, want map[string][]int) {
			t.Helper()
			for end := server.of.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second); time.Now().Before(end); time.Sleep(5 * time.Second) {
				look()
			}
			if diff := cmp.Diff(want, server.taken()); diff != "" {
				t.Errorf("asked, by name, at seconds, until %d:%02d: -want +got\n%s", minute, second, diff)
			}
		}
		look()
		until(9, 55, map[string][]int{"a": {0}, "b": {0}})
		until(29, 0, map[string][]int{"a": {600, 1200}, "b": {600, 1200}})
		o := secret(t, "linkerd", "a", corev1.SecretTypeOpaque)
		now, err := c.Write(t.Context(), object.Change{Action: object.Update, Key: o.Key, Object: o})
		if err != nil {
			t.Fatal(err)
		}
		if got := look().Record(o.Key); got != now {
			t.Errorf("after our write it is shown as %+v, want %+v", got, now)
		}
		until(29, 30, map[string][]int{"a": {1740}})
		until(48, 0, map[string][]int{"a": {2340}, "b": {1800, 2400}})
	})
}

// What is not ready is asked for again soon, and less and less often.
func TestPolledIsAskedForSoonWhileItIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var asked []int
		server := says(func(q *http.Request) (*http.Response, error) {
			to := httptest.NewRecorder()
			if q.URL.Path == "/apis/apps/v1" {
				say(http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":["get"]}]}`)(to, q)
				return to.Result(), nil
			}
			at := int(time.Since(begun).Seconds())
			asked = append(asked, at)
			ready := 0
			if at > 40 && at < 700 || at > 5000 {
				ready = 1
			}
			say(http.StatusOK, fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","namespace":"linkerd","uid":"u","resourceVersion":"%d"},`+
				`"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":%d}}`, len(asked), ready))(to, q)
			return to.Result(), nil
		})
		c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		watches := []object.Watch{{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "linkerd", Names: []string{"a"}, Depth: object.Whole, Polled: true, Health: true}}
		seen, err := c.Live(t.Context(), watches)
		if err != nil {
			t.Fatal(err)
		}
		key := object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd", Name: "a"}
		if _, whole := seen.Body(key); seen.Record(key).Health.IsZero() || !whole {
			t.Errorf("it was seen as %s, whole %t", seen.Record(key).Health, whole)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		want := []int{0, 5, 15, 35, 75, 675, 1275, 1280, 1290, 1310, 1350, 1430, 1590, 1910, 2510, 3110, 3710, 4310, 4910, 5510, 6110, 6710}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

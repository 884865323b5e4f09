package access

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/web"
)

// What requests are about, as linkwright_requests_total tells them apart.
const (
	aboutObjects     = "objects"
	aboutCredentials = "credentials"
	aboutLease       = "lease"
	aboutEvents      = "events"
)

// managementLabel is no name of a cluster, so that none can have it.
const managementLabel = "(management)"

func always(about string) func(*http.Request) string {
	return func(*http.Request) string { return about }
}

// traffic counts what is sent to clusters. linkwright's credentials are added later, and never seen here.
type traffic struct {
	mu   gosync.Mutex
	sent map[web.Sent]int // mu
}

func newTraffic() *traffic { return &traffic{sent: map[web.Sent]int{}} }

// counts returns what was sent so far.
func (t *traffic) counts() map[web.Sent]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.sent)
}

// through counts all that goes to a cluster by next; about says of each what it is about.
func (t *traffic) through(name api.ClusterName, next http.RoundTripper, about func(*http.Request) string) http.RoundTripper {
	return counting{t, name, next, about}
}

type counting struct {
	traffic *traffic
	name    api.ClusterName
	next    http.RoundTripper
	about   func(*http.Request) string
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	kind := web.Sent{Cluster: string(c.name), Verb: verb(r), Code: "none", About: c.about(r)}
	if err == nil {
		kind.Code = class(answer.StatusCode)
	}
	c.traffic.mu.Lock()
	defer c.traffic.mu.Unlock()
	c.traffic.sent[kind]++
	return answer, err
}

// WrappedRoundTripper implements apimachinery's net.RoundTripperWrapper: client-go cancels requests through it, and logs if it cannot.
func (c counting) WrappedRoundTripper() http.RoundTripper { return c.next }

// verb returns that of RBAC; what is not about resources, such as discovery, counts as get.
func verb(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method != http.MethodGet:
		return strings.ToLower(r.Method)
	case query.Get("watch") != "":
		return "watch"
	case query.Get("limit") != "": // we never list but by pages
		return "list"
	}
	return "get"
}

// class is 429, or the first digit of a code: 2xx.
func class(code int) string {
	if code == http.StatusTooManyRequests {
		return strconv.Itoa(code)
	}
	return strconv.Itoa(code/100) + "xx"
}

// secretIn reports whether a request asks for single Secrets of a namespace.
func secretIn(r *http.Request, namespace string) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/api/v1/namespaces/"+namespace+"/secrets/")
}

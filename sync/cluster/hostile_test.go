package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// answers maps a path to what a server says there.
type answers map[string]func(w http.ResponseWriter, r *http.Request)

func say(code int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// inTurn returns the answers one after the other, the last for ever.
func inTurn(all ...func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	var asked atomic.Int64 // by requests of any connection
	return func(w http.ResponseWriter, r *http.Request) { all[min(int(asked.Add(1)), len(all))-1](w, r) }
}

func status(code int, reason string) func(http.ResponseWriter, *http.Request) {
	return say(code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"told so","code":%d}`, reason, code))
}

const coreKinds = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","namespaced":true}]}`

func list(meta string, names ...string) func(http.ResponseWriter, *http.Request) {
	var items []string
	for _, name := range names {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":"2"}}`, name))
	}
	return say(http.StatusOK, `{"kind":"SecretList","apiVersion":"v1","metadata":{`+meta+`},"items":[`+strings.Join(items, ",")+`]}`)
}

// hostile returns a client of a server that says what the test wants; it knows Secrets alone.
func hostile(t *testing.T, says answers) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f, ok := says[r.URL.Path]; ok {
			f(w, r)
			return
		}
		if r.URL.Path == "/api/v1" {
			say(http.StatusOK, coreKinds)(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	c, _ := dial(t, &rest.Config{Host: server.URL}, Options{Timeout: time.Second})
	return c
}

const secrets = "/api/v1/namespaces/ns/secrets"

func TestObserveGivesNoPart(t *testing.T) {
	watch := object.Watch{Version: "v1", Kind: "Secret", Namespace: "ns", Depth: object.Whole}
	meta := watch
	meta.Depth = object.Reduced
	other := object.Watch{Group: "example.com", Version: "v1", Kind: "Widget"}
	byName := watch
	byName.Names = []string{"a"}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"kind":"SecretList","items":[`))
	}
	groups := `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"version":"v1"}]}]}`
	tests := []struct {
		name  string
		watch object.Watch
		says  answers
		code  reason.Code
		told  string // what the message holds
	}{
		{"server hangs", watch, answers{secrets: hang}, reason.Timeout, "read Secret in namespace ns"},
		{"discovery hangs", watch, answers{"/api/v1": hang}, reason.Timeout, "discover v1"},
		{"body is cut off", watch, answers{secrets: cut}, reason.Unreachable, "read Secret in namespace ns"},
		{"metadata is cut off", meta, answers{secrets: cut}, reason.Unreachable, "read Secret in namespace ns"},
		{"list is truncated", watch, answers{secrets: list(`"remainingItemCount":3`, "a")}, reason.Unknown, "truncated: 3 items"},
		{"list goes round", watch, answers{secrets: list(`"continue":"x"`, "a")}, reason.Unknown, "same page twice"},
		{"list of something else", watch, answers{secrets: say(200, `{"kind":"PodList","items":[]}`)}, reason.Unknown, `not a list of Secret but "PodList"`},
		{"metadata of something else", meta, answers{secrets: say(200, `{"kind":"APIGroupList","apiVersion":"v1"}`)}, reason.Unknown, "not a list of metadata"},
		{"a page of a portal", meta, answers{secrets: say(200, `{}`)}, reason.Unknown, "Kind"},
		{"object without name", watch, answers{secrets: list("", "")}, reason.Unknown, "without name"},
		{"expired twice", watch, answers{secrets: inTurn(list(`"continue":"x"`, "a"), status(410, "Expired"))}, reason.Unavailable, "twice"},
		{"not authorized", watch, answers{"/api/v1": status(401, "Unauthorized")}, reason.Unauthorized, "renew"},
		{"forbidden", watch, answers{secrets: status(403, "Forbidden")}, reason.Forbidden, "read Secret in namespace ns"},
		{"server fault", watch, answers{secrets: status(500, "InternalError")}, reason.Unavailable, "told so"},
		{"throttled", watch, answers{secrets: status(429, "TooManyRequests")}, reason.Throttled, "linkwright tries again"},
		{"404 of a proxy for a name", byName, answers{}, reason.NotFound, "read Secret a in namespace ns: "},
		{"404 of a proxy for a list", watch, answers{}, reason.NotFound, "read Secret in namespace ns"},
		{"group list fails", other, answers{"/apis": status(503, "ServiceUnavailable")}, reason.Unavailable, "discover example.com/v1"},
		{"group list is forbidden", other, answers{"/apis": status(403, "Forbidden")}, reason.Forbidden, "discover example.com/v1"},
		{"group is listed but not served", other, answers{"/apis": say(200, groups)}, reason.Unknown, "but does not serve it"},
		{"group list of a portal", other, answers{"/apis": say(200, `{}`)}, reason.Unknown, "check that this is the address of an API server"},
		{"discovery of a portal", watch, answers{"/api/v1": say(200, `{}`)}, reason.Unknown, "check that this is the address of an API server"},
		{"group is broken", other, answers{"/apis/example.com/v1": status(503, "ServiceUnavailable")}, reason.Unavailable, "discover example.com/v1"},
		{"cluster-scoped kind in a namespace", object.Watch{Version: "v1", Kind: "Node", Namespace: "ns"}, answers{
			"/api/v1": say(200, strings.ReplaceAll(strings.ReplaceAll(coreKinds, "Secret", "Node"), `true`, `false`)),
		}, reason.Unknown, "cluster-scoped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := hostile(t, tt.says)
			observed, err := c.Observe(t.Context(), []object.Watch{tt.watch})
			why := Explain(err)
			if why.Code != tt.code || !strings.Contains(why.Message, tt.told) {
				t.Errorf("Observe: got %+v, want %s that says %q", why, tt.code, tt.told)
			}
			if observed.Len()+len(observed.Unserved) != 0 {
				t.Errorf("Observe: got a part: %+v", observed)
			}
		})
	}
}

func TestListBeginsOnceMoreWhenItExpires(t *testing.T) {
	c := hostile(t, answers{secrets: inTurn(
		list(`"continue":"x"`, "old"), status(410, "Expired"),
		list(`"continue":"y"`, "a"), list("", "b"))})
	observed, err := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns", Depth: object.Whole}})
	if got := fmt.Sprint(names(observed.Records())); err != nil || got != "[Secret a Secret b]" {
		t.Errorf("Observe: got %s, %v, want what the second list has alone", got, err)
	}
}

func TestThrottledIsAskedAgain(t *testing.T) {
	wait := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		status(429, "TooManyRequests")(w, r)
	}
	c := hostile(t, answers{secrets: inTurn(wait, wait, list("", "a"))})
	observed, err := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns", Depth: object.Whole}})
	if err != nil || observed.Len() != 1 {
		t.Errorf("Observe: got %v, %v, want one object", names(observed.Records()), err)
	}
}

// Nobody asks for a connection that is something else from then on; what is read of it ends with the server alone.
func TestSwitchedConnections(t *testing.T) {
	gone := make(chan struct{})
	switched := func(w http.ResponseWriter, _ *http.Request) {
		raw, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = raw.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: it\r\n\r\n"))
		<-gone
		_ = raw.Close()
	}
	defer close(gone)
	all := scope{location: location{kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, namespace: "ns"}}
	for what, ask := range map[string]func(*Client) error{
		"list": func(c *Client) error {
			_, err := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns"}})
			return err
		},
		"watch": func(c *Client) error {
			_, err := c.watch(t.Context(), resource{GroupVersionKind: all.kind, plural: "secrets", namespaced: true}, all, "1")
			return err
		},
		"write": func(c *Client) error {
			key := object.Key{Kind: "Secret", Namespace: "ns", Name: "a"}
			_, err := c.Write(t.Context(), object.Change{Action: object.Create, Key: key, Object: object.Object{Key: key, Version: "v1", Body: object.NewBody([]byte(`{}`))}})
			return err
		},
	} {
		c, got := hostile(t, answers{secrets: switched, secrets + "/a": switched}), make(chan error, 1)
		go func() { got <- ask(c) }()
		select {
		case err := <-got:
			if !errors.Is(err, errSwitched) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: nothing ends it", what)
		}
	}
}

// A cluster leads nobody to another address: neither a read, nor a watch, nor a write follows its redirects.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var led atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		led.Add(1)
		list("", "stolen")(w, r)
	}))
	t.Cleanup(inside.Close)
	ns := scope{location: location{kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, namespace: "ns"}}
	key := object.Key{Kind: "Secret", Namespace: "ns", Name: "a"}
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
		away := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL+r.URL.Path, code) }
		c := hostile(t, answers{secrets: away, secrets + "/a": away})
		_, read := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns", Depth: object.Whole}})
		_, meta := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns"}})
		_, watch := c.watch(t.Context(), resource{GroupVersionKind: ns.kind, plural: "secrets", namespaced: true}, ns, "1")
		_, write := c.Write(t.Context(), object.Change{Action: object.Create, Key: key, Object: object.Object{Key: key, Version: "v1", Body: object.NewBody([]byte(`{}`))}})
		for what, err := range map[string]error{"read": read, "read of metadata": meta, "watch": watch, "write": write} {
			if err == nil {
				t.Errorf("%s answered with %d: no error", what, code)
			}
		}
	}
	if led.Load() > 0 {
		t.Errorf("%d requests went where the cluster led them", led.Load())
	}
}

func TestDeleteBelievesNoProxy(t *testing.T) {
	c := hostile(t, answers{})
	_, err := c.Write(t.Context(), object.Change{
		Action: object.Delete, Key: object.Key{Kind: "Secret", Namespace: "ns", Name: "a"}, Was: object.Record{UID: "u", ResourceVersion: "2"},
	})
	if Explain(err).Code != reason.NotFound {
		t.Errorf("delete answered with a proxy's 404: got %v, want code %s", err, reason.NotFound)
	}
}

func TestDeadClusterFailsFast(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, count := dial(t, &rest.Config{Host: server.URL}, Options{})
	begun := time.Now()
	_, err := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret"}, {Group: "apps", Version: "v1", Kind: "Deployment"}})
	if why := Explain(err); why.Code != reason.Unreachable {
		t.Errorf("Observe: got %+v, want %s", why, reason.Unreachable)
	}
	if took := time.Since(begun); took > dialTimeout || len(count.taken()) > 2 {
		t.Errorf("Observe of a dead cluster took %v", took)
	}
	_, err = c.Write(t.Context(), object.Change{Action: object.Delete, Key: object.Key{Kind: "Secret", Name: "a"}, Was: object.Record{UID: "u"}})
	if why := Explain(err); why.Code != reason.Unreachable {
		t.Errorf("Write: got %+v, want %s", why, reason.Unreachable)
	}
}

func TestHandshakeFollowsTheTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 2 * time.Second: 2 * time.Second, 10 * time.Second: 5 * time.Second, 40 * time.Second: 30 * time.Second,
	} {
		own, _, err := dialler(&rest.Config{Host: "https://example.com"}, Options{Timeout: timeout}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if own.TLSHandshakeTimeout != want {
			t.Errorf("--cluster-timeout %v: the handshake may take %v, want %v", timeout, own.TLSHandshakeTimeout, want)
		}
	}
}

func TestStrangersAreNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	c, _ := dial(t, &rest.Config{Host: server.URL, BearerToken: "hush"}, Options{})
	_, err := c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret"}})
	if why := Explain(err); why.Code != reason.UntrustedCertificate || strings.Contains(why.Message, "hush") {
		t.Errorf("Observe: got %+v, want %s", why, reason.UntrustedCertificate)
	}
}

// denied returns what an API server answers to a write.
func denied(why metav1.StatusReason, message string) error {
	return fmt.Errorf("delete: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: why, Message: message}})
}

func TestExplain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		err  error
		code reason.Code
	}{
		{nil, ""},
		{errors.New("something"), reason.Unknown},
		{fmt.Errorf("read: %w", ctx.Err()), reason.Canceled},
		{fmt.Errorf("create: %w", ErrExists), reason.ObjectExists},
		{context.DeadlineExceeded, reason.Timeout},
		{AccessError{errors.New("Secret linkwright/east does not exist")}, reason.AccessInvalid},
		{AccessError{context.DeadlineExceeded}, reason.AccessInvalid}, // the management cluster is silent, not this one
		{AccessError{ctx.Err()}, reason.Canceled},
		{AccessError{denied(metav1.StatusReasonForbidden, "secrets are forbidden")}, reason.Forbidden},
		{denied(metav1.StatusReasonInvalid, `secrets "a" is forbidden: ValidatingAdmissionPolicy 'linkwright.secrets' with binding 'linkwright.secrets' denied request: no`), reason.AdmissionDenied},
		{denied(metav1.StatusReasonForbidden, `secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), reason.AdmissionDenied},
		{denied(metav1.StatusReasonForbidden, `admission webhook "validate.example.com" denied the request: no`), reason.AdmissionDenied},
		{denied(metav1.StatusReasonForbidden, `secrets "a" is forbidden: User "linkwright" cannot delete resource "secrets"`), reason.Forbidden},
		{denied(metav1.StatusReasonInvalid, `Service "a" is invalid: spec.ports: Required value`), reason.Invalid},
	}
	for _, tt := range tests {
		if got := Explain(tt.err); got.Code != tt.code {
			t.Errorf("Explain(%v): got %+v, want code %s", tt.err, got, tt.code)
		}
	}
	if got := Explain(errors.Join(errors.New("a"), errors.New("b"))).Message; got != "a; b" {
		t.Errorf("Explain of two errors: got %q, want one line", got)
	}
}

// No group, version, namespace or name leads a request elsewhere: nothing goes out.
func TestPathsLeadNowhereElse(t *testing.T) {
	for _, w := range []object.Watch{
		{Group: "policy.linkerd.io", Version: "../../api/v1/namespaces/x/secrets/y", Kind: "Server"},
		{Group: "..", Version: "v1", Kind: "Server"},
		{Group: "a/b", Version: "v1", Kind: "Server"},
		{Version: "v1", Kind: "Secret", Namespace: "ns/../../x"},
		{Version: "v1", Kind: "Secret", Namespace: ".."},
		{Version: "v1", Kind: "Secret", Namespace: "ns", Names: []string{"../../nodes"}},
		{Version: "v1", Kind: "Secret", Namespace: "ns", Names: []string{"a%2fb"}},
	} {
		c := hostile(t, answers{})
		c.http.RegisterProtocol("http", elsewhere{t})
		c.kinds.set(schema.GroupVersion{Version: "v1"}, map[string]resource{
			"Secret": {GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, plural: "secrets", namespaced: true},
		})
		if _, err := c.Observe(t.Context(), []object.Watch{w}); err == nil || !strings.Contains(err.Error(), "invalid resource name") {
			t.Errorf("Observe(%+v): %v, want an invalid name", w, err)
		}
	}
}

// elsewhere is where no request may go.
type elsewhere struct{ t *testing.T }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	e.t.Errorf("a request went to %s", r.URL)
	return nil, errors.New("refused")
}

package fault

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		method, url string
		want        Request
	}{
		{"GET", "/api/v1/namespaces/n/services/s", Request{Verb: "get", Version: "v1", Resource: "services", Namespace: "n", Name: "s"}},
		{"HEAD", "/api/v1/nodes/s", Request{Verb: "get", Version: "v1", Resource: "nodes", Name: "s"}},
		{"GET", "/api/v1/services", Request{Verb: "list", Version: "v1", Resource: "services"}},
		{"GET", "/api/v1/services?limit=5&continue=x", Request{Verb: "list", Version: "v1", Resource: "services", Continued: true}},
		{"GET", "/api/v1/services?watch=1", Request{Verb: "watch", Version: "v1", Resource: "services"}},
		{
			"GET", "/api/v1/namespaces/n/services?watch=true&fieldSelector=metadata.name%3Ds",
			Request{Verb: "watch", Version: "v1", Resource: "services", Namespace: "n", Name: "s"},
		},
		{
			"GET", "/api/v1/namespaces/n/services?fieldSelector=metadata.name%3Ds",
			Request{Verb: "list", Version: "v1", Resource: "services", Namespace: "n", Name: "s"},
		},
		{"GET", "/api/v1/services?watch=false", Request{Verb: "list", Version: "v1", Resource: "services"}},
		{
			"POST", "/apis/apps/v1/namespaces/n/deployments?dryRun=All",
			Request{Verb: "create", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "n", DryRun: true},
		},
		{
			"PUT", "/apis/g.example.com/v1beta1/widgets/w/status",
			Request{Verb: "update", Group: "g.example.com", Version: "v1beta1", Resource: "widgets", Name: "w", Subresource: "status"},
		},
		{"PATCH", "/api/v1/namespaces/n/secrets/s", Request{Verb: "patch", Version: "v1", Resource: "secrets", Namespace: "n", Name: "s"}},
		{"DELETE", "/api/v1/namespaces/n/secrets/s", Request{Verb: "delete", Version: "v1", Resource: "secrets", Namespace: "n", Name: "s"}},
		{"DELETE", "/api/v1/namespaces/n/secrets", Request{Verb: "deletecollection", Version: "v1", Resource: "secrets", Namespace: "n"}},
		{
			"DELETE", "/api/v1/namespaces/n/secrets?fieldSelector=metadata.name%3Ds",
			Request{Verb: "deletecollection", Version: "v1", Resource: "secrets", Namespace: "n", Name: "s"},
		},
		{"GET", "/api/v1/namespaces", Request{Verb: "list", Version: "v1", Resource: "namespaces"}},
		{"GET", "/api/v1/namespaces/n", Request{Verb: "get", Version: "v1", Resource: "namespaces", Namespace: "n", Name: "n"}},
		{
			"PUT", "/api/v1/namespaces/n/finalize",
			Request{Verb: "update", Version: "v1", Resource: "namespaces", Namespace: "n", Name: "n", Subresource: "finalize"},
		},
		{
			"POST", "/api/v1/namespaces/n/serviceaccounts/a/token",
			Request{Verb: "create", Version: "v1", Resource: "serviceaccounts", Namespace: "n", Name: "a", Subresource: "token"},
		},
		{"GET", "/apis/apps/v1", Request{Verb: "get"}},
		{"GET", "/api/v1", Request{Verb: "get"}},
		{"GET", "/version", Request{Verb: "get"}},
		{"GET", "/", Request{Verb: "get"}},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		c.want.Path = u.Path
		if diff := cmp.Diff(c.want, Of(c.method, u)); diff != "" {
			t.Errorf("Of(%s %s): -want +got\n%s", c.method, c.url, diff)
		}
	}
}

func TestRuleMatches(t *testing.T) {
	q := Request{Verb: "get", Path: "/p", Group: "apps", Resource: "deployments", Namespace: "n", Name: "a", Subresource: "status"}
	for _, c := range []struct {
		rule Rule
		want bool
	}{
		{Rule{}, true},
		{Rule{Verb: "get", Resource: "deployments", Namespace: "n", Name: "a", Subresource: "status"}, true},
		{Rule{Resource: "deployments.apps"}, true},
		{Rule{Resource: "deployments.extensions"}, false},
		{Rule{Verb: "list"}, false},
		{Rule{Resource: "services"}, false},
		{Rule{Namespace: "m"}, false},
		{Rule{Name: "b"}, false},
		{Rule{Subresource: "scale"}, false},
		{Rule{Path: "/p"}, true},
		{Rule{Path: "/p/q"}, false},
		{Rule{Continued: true}, false},
	} {
		if got := c.rule.matches(q); got != c.want {
			t.Errorf("matches(%+v): got %t, want %t", c.rule, got, c.want)
		}
	}
}

func TestStrikeHitsTheNthAlone(t *testing.T) {
	var rules Rules
	struck := func(of ...Rule) (out string) {
		rules.Set(of...)
		for range 5 {
			if rules.Strike(Request{Verb: "list"}).Kind == Pass {
				rules.Strike(Request{Verb: "get"})
				out += "."
			} else {
				out += "x"
			}
		}
		return out
	}
	cut := Fault{Kind: Cut}
	for _, c := range []struct {
		rules []Rule
		want  string
	}{
		{nil, "....."},
		{[]Rule{{Verb: "list", Fault: cut}}, "x...."},
		{[]Rule{{Verb: "list", Nth: 3, Fault: cut}}, "..x.."},
		{[]Rule{{Verb: "list", Nth: 2, Times: 2, Fault: cut}}, ".xx.."},
		{[]Rule{{Verb: "list", Nth: 4, Times: Always, Fault: cut}}, "...xx"},
		{[]Rule{{Verb: "list", Nth: 1, Fault: cut}, {Verb: "list", Nth: 5, Fault: cut}}, "x...x"},
	} {
		if got := struck(c.rules...); got != c.want {
			t.Errorf("strike(%+v): got %s, want %s", c.rules, got, c.want)
		}
	}
}

func TestStrikeCallsAllAndDoesTheFirst(t *testing.T) {
	var rules Rules
	calls := ""
	note := func(s string) func(Request) { return func(Request) { calls += s } }
	rules.Set(
		Rule{Times: Always, Fault: Fault{Before: note("a"), Delay: 1}},
		Rule{Fault: Fault{Kind: Refuse, Code: http.StatusConflict, Before: note("b")}},
		Rule{Fault: Fault{Kind: Hang, Delay: 2, After: note("c")}},
	)
	f := rules.Strike(Request{})
	f.Before(Request{})
	f.After(Request{})
	if f.Kind != Refuse || f.Code != http.StatusConflict || f.Delay != 3 || calls != "abc" {
		t.Errorf("strike: got %s %d after %d, calls %s, want refuse 409 after 3, calls abc", f.Kind, f.Code, f.Delay, calls)
	}
}

func TestRefusal(t *testing.T) {
	q := Request{Verb: "patch", Resource: "services", Namespace: "n", Name: "a"}
	for code, is := range map[int]func(error) bool{
		401: apierrors.IsUnauthorized, 403: apierrors.IsForbidden, 404: apierrors.IsNotFound, 409: apierrors.IsConflict,
		410: apierrors.IsResourceExpired, 422: apierrors.IsInvalid, 429: apierrors.IsTooManyRequests, 500: apierrors.IsInternalError,
		503: apierrors.IsServiceUnavailable, 504: apierrors.IsTimeout,
	} {
		err := Fault{Code: code}.Refusal(q)
		if !is(err) || int(err.ErrStatus.Code) != code || err.ErrStatus.Status != "Failure" {
			t.Errorf("Refusal(%d): got %+v", code, err.ErrStatus)
		}
	}
	q.Verb = "create"
	if err := (Fault{Code: http.StatusConflict}).Refusal(q); !apierrors.IsAlreadyExists(err) {
		t.Errorf("Refusal(409) of a create: got %v, want that it exists", err)
	}
	for _, f := range []Fault{{Code: 429, RetryAfter: 7}, {Code: 503, RetryAfter: 7}} {
		if got := f.Refusal(q).ErrStatus.Details.RetryAfterSeconds; got != 7 {
			t.Errorf("Refusal(%d): asks for %d s, want 7", f.Code, got)
		}
	}
}

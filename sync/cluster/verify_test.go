package cluster

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// tested returns a server over TLS that answers by path, and counts what it is asked.
func tested(t *testing.T, says answers) (*httptest.Server, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		if f, ok := says[r.URL.Path]; ok {
			f(w, r)
			return
		}
		say(http.StatusOK, `{"kind":"PartialObjectMetadataList","items":[]}`)(w, r)
	}))
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

const canary = "hush-canary-token"

// kubeconfigFor leads to a server, and trusts its certificate unless other is given.
func kubeconfigFor(server *httptest.Server, other []byte) object.Secret {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if other != nil {
		ca = other
	}
	return object.NewSecret(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],
"users":[{"name":"u","user":{"token":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`,
		server.URL, base64.StdEncoding.EncodeToString(ca), canary))
}

func lists() []object.List {
	return []object.List{
		{Version: "v1", Resource: "pods"},
		{Group: "policy.linkerd.io", Version: "v1beta3", Resource: "servers", Optional: true},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
	}
}

// babbles says something that never ends.
func babbles(w http.ResponseWriter, _ *http.Request) {
	_, err := w.Write([]byte(`{"a":"`))
	for err == nil {
		_, err = w.Write([]byte(strings.Repeat("x", 1<<16)))
	}
}

// codeOf returns the code of what did not pass, whose message says where, and quotes nothing.
func codeOf(t *testing.T, why *object.Reason, at *httptest.Server) string {
	t.Helper()
	if why == nil {
		return ""
	}
	if strings.Contains(why.Message, canary) || !strings.Contains(why.Message, at.Listener.Addr().String()) {
		t.Errorf("Try: %q quotes the token, or does not say where", why.Message)
	}
	return string(why.Code)
}

func TestTry(t *testing.T) {
	const servers, replicasets = "/apis/policy.linkerd.io/v1beta3/servers", "/apis/apps/v1/replicasets"
	echo := func(code int) func(http.ResponseWriter, *http.Request) { // as a hostile server quotes what it was sent
		return func(w http.ResponseWriter, r *http.Request) { status(code, r.Header.Get("Authorization"))(w, r) }
	}
	tests := []struct {
		name    string
		says    answers
		code    string // empty: it passes
		refused bool
		asked   int
	}{
		{"all pass", nil, "", false, 3},
		{"a kind that need not be served", answers{servers: status(404, "NotFound")}, "", false, 3},
		{"a kind that must be", answers{replicasets: status(404, "NotFound")}, string(reason.NotFound), false, 3},
		{"the token is refused", answers{"/api/v1/pods": echo(401)}, string(reason.Unauthorized), true, 4},
		{"one right is missing", answers{replicasets: echo(403)}, string(reason.Forbidden), true, 12},
		{"rights that come a moment later", answers{"/api/v1/pods": inTurn(echo(403), echo(401), say(200, `{"kind":"PodList"}`))}, "", false, 5},
		{"the server is busy", answers{"/api/v1/pods": echo(429)}, string(reason.Unavailable), false, 1},
		{"the server is broken", answers{"/api/v1/pods": echo(500)}, string(reason.Unavailable), false, 1},
		{"it leads elsewhere", answers{"/api/v1/pods": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, replicasets, http.StatusFound)
		}}, string(reason.Unavailable), false, 1},
		{"a portal", answers{"/api/v1/pods": say(200, `<html>`)}, string(reason.Unknown), false, 1},
		{"an answer without an end", answers{"/api/v1/pods": babbles}, string(reason.Unknown), false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, asked := tested(t, tt.says)
			why, refused := Verifier{}.Try(t.Context(), object.Login{Config: kubeconfigFor(server, nil), Lists: lists()})
			code := codeOf(t, why, server)
			if code != tt.code || refused != tt.refused || len(asked()) != tt.asked {
				t.Errorf("Try: got %v, refused %t after %d requests; want %q, %t, %d", why, refused, len(asked()), tt.code, tt.refused, tt.asked)
			}
			for _, q := range asked() {
				if !strings.HasSuffix(q, "?limit=1 Bearer "+canary) {
					t.Errorf("asked %q", q)
				}
			}
		})
	}
}

// No proxy that linkwright's environment names is asked, and a server whose certificate does not fit is sent no token.
func TestTryTrustsTheKubeconfigAlone(t *testing.T) {
	server, asked := tested(t, nil)
	otherUser, _ := tested(t, nil)
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:9")
	if why, _ := (Verifier{}).Try(t.Context(), object.Login{Config: kubeconfigFor(server, nil), Lists: lists()}); why != nil {
		t.Errorf("Try beside a proxy: %v", why)
	}
	other, err := testbed.NewTrustAnchors()
	if err != nil {
		t.Fatal(err)
	}
	before := len(asked())
	why, refused := Verifier{}.Try(t.Context(), object.Login{Config: kubeconfigFor(server, []byte(other)), Lists: lists()})
	if why == nil || why.Code != reason.UntrustedCertificate || !refused || len(asked()) > before {
		t.Errorf("Try of a stranger: got %v, refused %t, %d requests", why, refused, len(asked())-before)
	}
	otherUser.Close()
	begun := time.Now()
	why, refused = Verifier{}.Try(t.Context(), object.Login{Config: kubeconfigFor(otherUser, nil), Lists: lists()})
	if why == nil || why.Code != reason.Unreachable || refused || time.Since(begun) > tryTimeout {
		t.Errorf("Try of nobody: got %v, refused %t after %s", why, refused, time.Since(begun))
	}
	for _, config := range []string{"", "{", `{"current-context":"c"}`} {
		if why, refused := (Verifier{}).Try(t.Context(), object.Login{Config: object.NewSecret([]byte(config))}); why == nil || refused {
			t.Errorf("Try(%q): got %v, refused %t", config, why, refused)
		}
	}
}

// On a real API server: a login without rights, with them, and one that is none.
func TestTryOnAServer(t *testing.T) {
	_, foreign, ns := east(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := foreign.CoreV1().ServiceAccounts(ns).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	granted, err := foreign.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	try := func(token string, want string) {
		t.Helper()
		config := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],`+
			`"users":[{"name":"u","user":{"token":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`,
			live.Config.Host, base64.StdEncoding.EncodeToString(live.Config.CAData), token)
		why, refused := Verifier{}.Try(t.Context(), object.Login{Config: object.NewSecret(config), Lists: lists()})
		code := ""
		if why != nil {
			code = string(why.Code)
		}
		if code != want || refused != (want != "") {
			t.Errorf("Try: got %v, refused %t; want %q", why, refused, want)
		}
	}
	try(granted.Status.Token, string(reason.Forbidden))
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"", "apps", "policy.linkerd.io"}, Resources: []string{"pods", "replicasets", "servers"}, Verbs: []string{"list"}}}
	if _, err := foreign.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: account.Name}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	try(granted.Status.Token, "") // at once: that the right takes a moment is no refusal
	try(granted.Status.Token+"x", string(reason.Unauthorized))
}

// Once it was refused, a round that does not end says nothing against it; one that passes does.
func TestTryAfterARefusal(t *testing.T) {
	const pods = "/api/v1/pods"
	for name, hangs := range map[string]bool{"then nobody answers": true, "then it passes": false} {
		var mu sync.Mutex
		rounds := 0
		server, _ := tested(t, answers{pods: func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			rounds++
			first := rounds == 1
			mu.Unlock()
			switch {
			case first:
				status(http.StatusForbidden, "no")(w, r)
			case hangs:
				<-r.Context().Done()
			default:
				say(http.StatusOK, `{"kind":"PartialObjectMetadataList","items":[]}`)(w, r)
			}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		why, refused := Verifier{}.Try(ctx, object.Login{Config: kubeconfigFor(server, nil), Target: "east", Lists: lists()})
		if refused != hangs || (codeOf(t, why, server) == string(reason.Forbidden)) != hangs {
			t.Errorf("%s: %v, refused %v", name, why, refused)
		}
	}
}

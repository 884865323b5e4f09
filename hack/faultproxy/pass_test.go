package faultproxy_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/hack/fault"
)

// reply is an answer as it comes, without what differs from one to the next.
type reply struct {
	Proto  string
	Code   int
	Header http.Header
	Body   string
}

func (s *scene) raw(config *rest.Config, path, accept string) reply {
	s.Helper()
	config.DisableCompression = true // or the transport would undo it
	client, err := rest.HTTPClientFor(config)
	s.must(err)
	defer client.CloseIdleConnections()
	ask, err := http.NewRequestWithContext(s.Context(), http.MethodGet, config.Host+path, http.NoBody)
	s.must(err)
	ask.Header.Set("Accept", accept)
	ask.Header.Set("Accept-Encoding", "gzip")
	answer, err := client.Do(ask)
	s.must(err)
	body, err := io.ReadAll(answer.Body)
	s.must(err)
	s.must(answer.Body.Close())
	for _, name := range []string{"Audit-Id", "Date"} {
		answer.Header.Del(name)
	}
	return reply{answer.Proto, answer.StatusCode, maps.Clone(answer.Header), string(body)}
}

func TestWhatIsNotStruckIsUntouched(t *testing.T) {
	s := open(t)
	s.put("a")
	big := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "big"}, StringData: map[string]string{"k": strings.Repeat("0123456789", 1<<15)}}
	made, err := s.past.CoreV1().Secrets(s.ns).Create(t.Context(), big, metav1.CreateOptions{})
	s.must(err)
	s.proxy.Set(fault.Rule{Name: "other", Times: fault.Always, Fault: fault.Fault{Kind: fault.ResetBefore}})
	secrets := "/api/v1/namespaces/" + s.ns + "/secrets"
	exact := "?resourceVersionMatch=Exact&resourceVersion=" + made.ResourceVersion // or that of the list moves
	for _, path := range []string{secrets + exact, secrets + exact + "&limit=1", secrets + "/a", secrets + "/none", "/apis/apps/v1", "/apis/none/v1", "/version"} {
		for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			want, got := s.raw(live.As("past"), path, accept), s.raw(s.proxy.Config(), path, accept)
			if want.Proto != "HTTP/2.0" {
				t.Errorf("the server speaks %s", want.Proto)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s as %s: -past +through the proxy\n%s", path, accept, diff)
			}
		}
	}
}

// whoever says whom the server takes a client for.
func (s *scene) who(config *rest.Config) (string, error) {
	s.Helper()
	got, err := s.client(config).AuthenticationV1().SelfSubjectReviews().Create(s.Context(), &authv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return got.Status.UserInfo.Username, nil
}

func TestCredentials(t *testing.T) {
	s := open(t)
	_, err := s.past.CoreV1().ServiceAccounts(s.ns).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	s.must(err)
	token, err := s.past.CoreV1().ServiceAccounts(s.ns).CreateToken(t.Context(), "a", &authv1.TokenRequest{}, metav1.CreateOptions{})
	s.must(err)
	account := "system:serviceaccount:" + s.ns + ":a"
	for name, c := range map[string]struct {
		change func(*rest.Config)
		want   string
	}{
		"its own":       {func(*rest.Config) {}, "testbed:admin"},
		"a token":       {func(c *rest.Config) { c.BearerToken = token.Status.Token }, account},
		"impersonation": {func(c *rest.Config) { c.Impersonate.UserName = "jane" }, "jane"},
		"a wrong token": {func(c *rest.Config) { c.BearerToken = "wrong" }, ""},
		"none":          {func(c *rest.Config) { c.BearerToken = "" }, ""},
	} {
		config := s.proxy.Config()
		c.change(config)
		got, err := s.who(config)
		if got != c.want || c.want == "" && !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) {
			t.Errorf("%s: the server takes it for %q, %v, want %q", name, got, err, c.want)
		}
	}
	for given, want := range map[string]string{"": "testbed:admin", token.Status.Token: account} {
		text, err := s.proxy.Kubeconfig(given)
		s.must(err)
		file := filepath.Join(t.TempDir(), "kubeconfig")
		s.must(os.WriteFile(file, text, 0o600))
		config, err := clientcmd.BuildConfigFromFlags("", file)
		s.must(err)
		if got, err := s.who(config); got != want || err != nil {
			t.Errorf("kubeconfig: the server takes it for %q, %v, want %q", got, err, want)
		}
	}
}

// late is a body that comes after the headers were answered, if these alone are.
type late struct{ io.Reader }

func (l late) Read(to []byte) (int, error) {
	time.Sleep(300 * time.Millisecond)
	return l.Reader.Read(to)
}

// A server refuses by the headers alone. A client that hears of it sends no more of its body, and waits for the end of the
// answer, which must not wait for that body.
func TestRefusedBeforeItIsSent(t *testing.T) {
	s := open(t)
	config := s.proxy.Config()
	config.BearerToken = "wrong"
	client, err := rest.HTTPClientFor(config)
	s.must(err)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+"/api/v1/namespaces/"+s.ns+"/secrets", late{strings.NewReader("{}")})
	s.must(err)
	answer, err := client.Do(ask)
	s.must(err)
	_, err = io.ReadAll(answer.Body)
	s.must(err)
	s.must(answer.Body.Close())
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %s", answer.Status)
	}
}

// A client that leaves takes nothing else down with it.
func TestClientThatLeaves(t *testing.T) {
	s := open(t)
	watch, err := s.via.CoreV1().Secrets(s.ns).Watch(t.Context(), metav1.ListOptions{})
	s.must(err)
	defer watch.Stop()
	for range 10 {
		ctx, leave := context.WithCancel(t.Context())
		s.proxy.Set(fault.Rule{Verb: "get", Fault: fault.Fault{Before: func(fault.Request) { leave() }}})
		if _, err := s.via.CoreV1().Secrets(s.ns).Get(ctx, "a", metav1.GetOptions{}); err == nil {
			t.Error("the request succeeded")
		}
	}
	s.must(s.apply("a"))
	if event := s.event(watch); event != "ADDED a" {
		t.Errorf("the watch on the same connection: got %s", event)
	}
}

package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

const canary = "canary-5f2c"

// server is git http-backend behind TLS and a password, counting requests.
type server struct {
	*httptest.Server
	requests atomic.Int32
	sent     atomic.Int64                                                   // bytes of answers
	ca       string                                                         // in PEM
	before   func(w http.ResponseWriter, q *http.Request, body string) bool // true: it has answered; may be nil
}

// backend is git http-backend.
func backend(r repo) http.Handler {
	return &cgi.Handler{
		Path: filepath.Join(r.git("--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
}

// serveHTTP serves plain http until the test ends.
func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func serve(t *testing.T, r repo, allow func(*http.Request) bool) *server {
	t.Helper()
	git := backend(r)
	s := &server{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		s.requests.Add(1)
		if !allow(q) {
			// A server that repeats what it was sent must not make us repeat it.
			http.Error(w, "who is "+q.Header.Get("Authorization")+canary+"?", http.StatusUnauthorized)
			return
		}
		if s.before != nil {
			body, err := io.ReadAll(q.Body)
			if err != nil {
				t.Error(err)
			}
			q.Body = io.NopCloser(bytes.NewReader(body))
			if s.before(w, q, string(body)) {
				return
			}
		}
		git.ServeHTTP(counting{w, &s.sent}, q)
	}))
	t.Cleanup(s.Close)
	s.ca = toPEM("CERTIFICATE", s.Certificate().Raw)
	return s
}

type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.sent.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

func keep(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func basic(user, password string) func(*http.Request) bool {
	return func(q *http.Request) bool {
		u, p, ok := q.BasicAuth()
		return ok && u == user && p == password
	}
}

func TestPollOverHTTPS(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/second.yaml", "kind: Cluster\n")
	r.push("second")
	srv := serve(t, r, func(q *http.Request) bool { return basic("git", canary)(q) && shallow(t, q) })
	s := open(t, source.Options{
		Repo: srv.URL + "/fleet.git", Path: "fleet", Keys: with("ca.crt", srv.ca, "password", canary+"\n"),
	})
	first := poll(t, s)
	if got := srv.requests.Swap(0); got != 2 {
		t.Errorf("the first poll made %d requests, want 2: the listing and the fetch", got)
	}
	if again := poll(t, s); again != first {
		t.Error("an unchanged head did not give the same snapshot")
	}
	if got := srv.requests.Swap(0); got != 1 {
		t.Errorf("a poll of an unchanged head made %d requests, want 1: the listing", got)
	}
	r.write("fleet/west.yaml", "kind: Cluster\n")
	head := r.push("west")
	if got := poll(t, s); string(got.Commit) != head {
		t.Errorf("Commit: -want +got\n-%s\n+%s", head, got.Commit)
	}
	if got := srv.requests.Swap(0); got != 2 {
		t.Errorf("a poll of a moved head made %d requests, want 2: the listing and the fetch", got)
	}
	if err := s.Follows(t.Context(), api.Commit(head), first.Commit); err != nil {
		t.Errorf("Follows: %v", err)
	}
	if got := srv.requests.Swap(0); got != 0 {
		t.Errorf("whether a commit follows its parent took %d requests, want none", got)
	}
}

// shallow reports whether a request, if it is one for objects, asks for no ancestors, or names what it has.
func shallow(t *testing.T, q *http.Request) bool {
	t.Helper()
	body, err := io.ReadAll(q.Body)
	if err != nil {
		t.Error(err)
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	ok := q.Method == http.MethodGet || bytes.Contains(body, []byte("deepen 1")) || bytes.Contains(body, []byte("have "))
	if !ok {
		t.Errorf("the whole history was asked for: %q", body)
	}
	return ok
}

func TestPollReadsCredentialsAnew(t *testing.T) {
	r := newRepo(t)
	srv := serve(t, r, func(q *http.Request) bool { return q.Header.Get("Authorization") == "Bearer "+canary })
	keys := with("ca.crt", srv.ca, "bearerToken", canary+"-old")
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: func(ctx context.Context) (source.Keys, error) { return keys(ctx) }})
	_, err := s.Poll(t.Context())
	refuse(t, err, srv.URL, "credentials are missing or wrong")
	hidden(t, err)
	keys = with("ca.crt", srv.ca, "bearerToken", canary)
	poll(t, s)
}

func TestPollTakesCredentialsOfTheURL(t *testing.T) {
	r := newRepo(t)
	for user, allow := range map[string]func(*http.Request) bool{
		"ann:" + canary + "%21": basic("ann", canary+"!"),
		canary:                  basic(canary, ""),
	} {
		srv := serve(t, r, allow)
		s := open(t, source.Options{Repo: strings.Replace(srv.URL, "//", "//"+user+"@", 1) + "/fleet.git", Keys: with("ca.crt", srv.ca)})
		poll(t, s)
		if want := srv.URL + "/fleet.git"; s.String() != want {
			t.Errorf("String() = %s, want %s", s, want)
		}
	}
}

// GitHub and GitLab give any commit that a ref reaches by its full hash, which spares fetching the history.
func TestAtByHash(t *testing.T) {
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	r.write("fleet/west.yaml", "kind: Cluster\n")
	r.push("west")
	r.git("-C", r.bare, "config", "uploadpack.allowReachableSHA1InWant", "true")
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	if got, err := s.At(t.Context(), first); err != nil || string(got.Commit) != first {
		t.Errorf("At(%q) = %s, %v", first, got.Commit, err)
	}
	if _, err := s.At(t.Context(), strings.Repeat("1", 40)); !errors.Is(err, source.ErrRefGone) {
		t.Errorf("At of an unknown commit: %v is not %v", err, source.ErrRefGone)
	}
}

// Whatever goes wrong, the error tells who did not answer how, and never the credential.
func TestErrorsHideCredentials(t *testing.T) {
	r := newRepo(t)
	srv := serve(t, r, basic("git", "another"))
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/busy/info/refs" {
			http.Error(w, canary, http.StatusServiceUnavailable)
			return
		}
		if q.URL.Path == "/says/info/refs" {
			_, _ = fmt.Fprintf(w, "%04xERR no entry for %s", len("ERR no entry for ")+len(canary)+4, canary)
			return
		}
		_, _ = w.Write([]byte("<html>you sent " + q.Header.Get("Authorization") + canary))
	}))
	defer page.Close()
	away := httptest.NewServer(http.RedirectHandler("http://"+canary+"@127.0.0.1:1/info/refs", http.StatusFound))
	defer away.Close()
	for name, tt := range map[string]struct{ url, ca, words string }{
		"refused":        {srv.URL + "/fleet.git", srv.ca, "credentials are missing or wrong"},
		"not trusted":    {srv.URL + "/fleet.git", "", "if the certificate is right, give its CA: ca.crt"},
		"nobody there":   {"http://127.0.0.1:1/fleet.git", "", "refused"},
		"no Git":         {page.URL + "/fleet.git", "", "returned a web page"},
		"busy":           {page.URL + "/busy", "", "answered 503"},
		"told by Git":    {page.URL + "/says", "", "no entry for [redacted]"},
		"redirected":     {away.URL, "", "it redirects to http://127.0.0.1:1, where linkwright sends no credentials"},
		"not a protocol": {"https://127.0.0.1:1", srv.ca, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, source.Options{Repo: strings.Replace(tt.url, "//", "//git:"+canary+"@", 1), Keys: with("ca.crt", tt.ca)})
			_, err := s.Poll(t.Context())
			refuse(t, err, tt.words, "read "+tt.url)
			hidden(t, err)
		})
	}
}

// silentListener accepts and says nothing.
func silentListener(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr()
}

func TestPollOfAHangingServer(t *testing.T) {
	addr := silentListener(t)
	for _, url := range []string{"http://" + addr.String() + "/fleet.git", "ssh://git@" + addr.String() + "/fleet.git"} {
		s := open(t, source.Options{Repo: url, Timeout: 100 * time.Millisecond, Keys: keys(t).keys(t)})
		_, err := s.Poll(t.Context())
		refuse(t, err, addr.String(), "not done within 100ms")
	}
}

func TestPollAfterCancel(t *testing.T) {
	r := newRepo(t)
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	snap := poll(t, s)
	ctx := canceled(t)
	_, err := s.Poll(ctx)
	refuse(t, err, "canceled")
	if again := poll(t, s); again != snap {
		t.Error("a canceled poll lost the snapshot")
	}
}

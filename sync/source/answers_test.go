package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

// answers returns what can be wrong with a server. Each repeats what it was sent, and a canary of its own.
func answers(git http.Handler) map[string]struct {
	serve   http.HandlerFunc
	words   string
	patient bool // a later poll has to wait
} {
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, canary+q.Header.Get("Authorization"), code)
		}
	}
	return map[string]struct {
		serve   http.HandlerFunc
		words   string
		patient bool
	}{
		"401":            {status(401), "the credentials are missing or wrong (401", false},
		"403":            {status(403), "the credentials are not allowed to read it (403", false},
		"404":            {status(404), "no repository there that linkwright may read (404", false},
		"429":            {status(429, "Retry-After", "120"), "answered 429: too many requests: linkwright must wait for 2m0s", true},
		"GitHub's limit": {status(403, "X-RateLimit-Remaining", "0"), "answered 403: too many requests", true},
		"500":            {status(500), "the server answered 500", true},
		"garbage": {func(w http.ResponseWriter, q *http.Request) {
			_, _ = fmt.Fprint(w, "zzzz", canary, q.Header.Get("Authorization"))
		}, "does not speak Git", false},
		"a page": {func(w http.ResponseWriter, q *http.Request) {
			_, _ = fmt.Fprint(w, "<html>", canary, q.Header.Get("Authorization"))
		}, "a web page", false},
		"an error of Git's": {func(w http.ResponseWriter, q *http.Request) {
			text := "ERR \x1b[31m" + sharp + " sent " + q.Header.Get("Authorization")
			_, _ = fmt.Fprintf(w, "%04x%s", len(text)+4, text)
		}, "sent Basic [redacted]", false},
		"a long header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat(canary, 10_000))
		}, "header", false},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, "does not speak Git", false},
		"a hang": {func(_ http.ResponseWriter, q *http.Request) {
			<-q.Context().Done()
		}, "not done within", true},
		"hung up":             {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", true},
		"a reset in mid-pack": {inMidPack(git, true), "was cut off or is damaged", true},
		"a pack too short":    {inMidPack(git, false), "was cut off or is damaged", true},
	}
}

// inMidPack returns half of what Git answers, and then hangs up, or ends as if that were all.
func inMidPack(git http.Handler, hangUp bool) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			git.ServeHTTP(w, q)
			return
		}
		whole := httptest.NewRecorder()
		git.ServeHTTP(whole, q)
		body := whole.Body.Bytes()
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		if hangUp {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		_, _ = io.Copy(w, bytes.NewReader(body[:len(body)*2/3]))
		if hangUp {
			panic(http.ErrAbortHandler)
		}
	}
}

// Whatever a server answers: a clear error, no secret in it, the last snapshot still there without asking, and a poll that
// succeeds as soon as the server does and was left alone for as long as it should be.
func TestPollOfAServerThatFails(t *testing.T) {
	for name, tt := range answers(nil) {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			git := backend(r)
			broken := answers(git)[name].serve
			var failing atomic.Bool
			srv := serve(t, r, basic("git", sharp))
			good := srv.Config.Handler
			srv.Config.ErrorLog = quiet()
			srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if failing.Load() {
					srv.requests.Add(1)
					broken(w, q)
					return
				}
				good.ServeHTTP(w, q)
			})
			s := open(t, source.Options{
				Repo: srv.URL + "/fleet.git", Timeout: 3 * time.Second, Keys: with("ca.crt", srv.ca, "password", sharp),
			})
			before := poll(t, s)
			r.write("fleet/west.yaml", "kind: Cluster\n")
			r.push("west")
			failing.Store(true)
			_, err := s.Poll(t.Context())
			refuse(t, err, tt.words, "read "+srv.URL+"/fleet.git at HEAD")
			hidden(t, err, s)
			if strings.ContainsRune(err.Error(), '\x1b') {
				t.Errorf("error %q acts on a terminal", err)
			}
			failing.Store(false)
			afterwards(t, s, srv, before.Commit, tt.patient)
		})
	}
}

// afterwards reads what a failure leaves: the snapshot before it, and a pause where the server is to be spared.
func afterwards(t *testing.T, s *source.Source, srv *server, before api.Commit, patient bool) {
	t.Helper()
	asked := srv.requests.Load()
	again, err := s.At(t.Context(), string(before))
	if err != nil || again.Commit != before || srv.requests.Load() != asked {
		t.Errorf("At(%s), which the store holds: %v, %d requests", before.Short(), err, srv.requests.Load()-asked)
	}
	_, err = s.Poll(t.Context())
	if !patient {
		if err != nil {
			t.Errorf("Poll once it is mended: %v", err)
		}
		return
	}
	var waiting *source.Waiting
	if !errors.As(err, &waiting) || srv.requests.Load() != asked {
		t.Fatalf("Poll within the pause: %v, %d requests", err, srv.requests.Load()-asked)
	}
	refuse(t, err, "linkwright tries again at "+waiting.Until.UTC().Format("15:04:05"))
	hidden(t, err)
}

// Once the pause is over the host is asked again, and one success ends it: no restart, no flag.
func TestPollAfterThePause(t *testing.T) {
	r := newRepo(t)
	srv := serve(t, r, func(*http.Request) bool { return true })
	good := srv.Config.Handler
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	_, first := s.Poll(t.Context())
	refuse(t, first, "the server answered 502")
	srv.Config.Handler = good
	_, err := s.Poll(t.Context())
	var waiting *source.Waiting
	if !errors.As(err, &waiting) {
		t.Fatalf("Poll within the pause: %v", err)
	}
	if same := strings.ReplaceAll(err.Error(), waiting.Fleeting(), ""); same != first.Error() {
		t.Errorf("the same cause: first %q, then %q", first, same)
	}
	time.Sleep(time.Until(waiting.Until))
	poll(t, s)
	poll(t, s)
}

// Who shares Hosts shares the pause, and hears of it by the same words.
func TestPollSharesThePause(t *testing.T) {
	r := newRepo(t)
	srv := serve(t, r, func(*http.Request) bool { return true })
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		srv.requests.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	o := source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca, "password", sharp), Hosts: new(source.Hosts)}
	_, err := open(t, o).Poll(t.Context())
	refuse(t, err, "the server answered 503")
	o.Repo = srv.URL + "/other.git"
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, "other.git", "the server answered 503", "linkwright tries again at")
	hidden(t, err)
	if got := srv.requests.Load(); got != 1 {
		t.Errorf("the host was asked %d times, want 1", got)
	}
}

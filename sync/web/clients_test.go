package web

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wrong returns the headers of an unidentified cluster.
func wrong() http.Header { return headers("X-Gitea-Signature", strings.Repeat("0", 64)) }

// TestHookAmongStrangers: those who send without end, by signature or token, from the very same address, keep no true sender out.
func TestHookAmongStrangers(t *testing.T) {
	h := hear(t)
	codes := map[int]int{}
	for range 200 {
		for _, header := range []http.Header{wrong(), headers("X-Gitlab-Token", "a guess")} {
			q := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(hookBody))
			q.Header = header
			w := httptest.NewRecorder()
			h.hook.ServeHTTP(w, q)
			codes[w.Code]++
		}
	}
	if codes[http.StatusUnauthorized] < clientBurst || codes[http.StatusTooManyRequests] < 300 {
		t.Errorf("a stranger's flood: %v", codes)
	}
	h.post(http.StatusAccepted, strings.NewReader(hookBody), signed())
	h.post(http.StatusAccepted, strings.NewReader(hookBody), headers("X-Gitlab-Token", secretText))
}

// A wrong token is refused without reading the body.
func TestHookReadsNoBodyOfAWrongToken(t *testing.T) {
	h := hear(t)
	body := &endless{}
	h.post(http.StatusUnauthorized, body, headers("X-Gitlab-Token", "a guess"))
	if body.read > 0 {
		t.Errorf("%d bytes were read", body.read)
	}
}

func TestStrangersAreForgotten(t *testing.T) {
	s := newClientLimits()
	for i := range 3 * maxClients {
		s.spend(fmt.Sprint(i))
	}
	if len(s.by) > maxClients {
		t.Errorf("%d addresses are remembered", len(s.by))
	}
}

// A suspect gives way before others that were there earlier.
func TestSuspectsGiveWayFirst(t *testing.T) {
	var b bodies
	var stopped []int
	for i := range hookBodies + 2 {
		b.enter(&body{suspect: i == 5, stop: func() { stopped = append(stopped, i) }})
	}
	if diff := cmp.Diff([]int{5, 0}, stopped); diff != "" || len(b.read) != hookBodies {
		t.Errorf("gave way: -want +got\n%s, and %d are left", diff, len(b.read))
	}
}

// slow sends the beginning of a body, and gives what is answered, once it is.
func slow(t *testing.T, address string) <-chan int {
	t.Helper()
	conn, err := net.Dial("tcp", address) //nolint:noctx // of this test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err = fmt.Fprintf(conn, "POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nX-Gitea-Signature: %064d\r\n\r\nabc", 0); err != nil {
		t.Fatal(err)
	}
	out := make(chan int, 1)
	go func() {
		code := 0
		if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			code = answer.StatusCode
			_ = answer.Body.Close()
		}
		out <- code
	}()
	return out
}

// patient serves a hook on a real connection.
func patient(t *testing.T, h *hearing, patience time.Duration) *httptest.Server {
	t.Helper()
	hook, err := h.server.Hook(HookOptions{SecretFile: h.file, Poke: h.poke, Log: slog.New(slog.NewJSONHandler(h, nil)), patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	return server
}

// A body that does not come ends with linkwright's patience, also where the server has more.
func TestHookSlowBody(t *testing.T) {
	h := hear(t)
	if code := <-slow(t, patient(t, h, 50*time.Millisecond).Listener.Addr().String()); code != http.StatusRequestTimeout {
		t.Errorf("a body that does not come: %d", code)
	}
	h.counted("cut", 1)
}

// Who holds all places open loses the oldest to whoever comes, and nobody waits for him.
func TestHookHeldOpen(t *testing.T) {
	h := hear(t)
	server := patient(t, h, time.Hour)
	ended := make(chan int, 2*hookBodies)
	for range 2 * hookBodies { // half of them give way to the others
		answer := slow(t, server.Listener.Addr().String())
		go func() { ended <- <-answer }()
	}
	for range hookBodies {
		if code := <-ended; code != http.StatusRequestTimeout {
			t.Fatalf("a body that gave way: %d", code)
		}
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/hook", strings.NewReader(hookBody))
	if err != nil {
		t.Fatal(err)
	}
	q.Header = signed()
	answer, err := server.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted || len(ended) > 1 {
		t.Errorf("a true sender among them: %d, and %d gave way", answer.StatusCode, len(ended))
	}
	server.CloseClientConnections()
}

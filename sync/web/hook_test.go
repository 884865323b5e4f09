package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func secretFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// written returns the secrets of a file.
func written(t *testing.T, text string) hookSecrets {
	t.Helper()
	secrets, err := HookOptions{SecretFile: secretFile(t, text)}.secrets()
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// hearing is a server with a hook, what it logged, and what it poked.
type hearing struct {
	t      *testing.T
	server *Server
	hook   http.Handler
	file   string
	poke   chan struct{}
	mu     sync.Mutex
	log    bytes.Buffer
}

// Write is for the log.
func (h *hearing) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *hearing) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

func hear(t *testing.T) *hearing {
	t.Helper()
	return hearAt(t, New(Options{}))
}

func hearAt(t *testing.T, s *Server) *hearing {
	t.Helper()
	h := &hearing{t: t, server: s, file: secretFile(t, secretText+"\n"), poke: make(chan struct{}, 1)}
	var err error
	h.hook, err = h.server.Hook(HookOptions{SecretFile: h.file, Poke: h.poke, Log: slog.New(slog.NewJSONHandler(h, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// poked reports whether a poll was asked for since the last look.
func (h *hearing) poked() bool {
	select {
	case <-h.poke:
		return true
	default:
		return false
	}
}

// post sends a body and gives the answer, which is the one that is wanted.
func (h *hearing) post(want int, body io.Reader, header http.Header) *httptest.ResponseRecorder {
	h.t.Helper()
	q := httptest.NewRequest(http.MethodPost, "/hook", body)
	q.Header = header
	w := httptest.NewRecorder()
	h.hook.ServeHTTP(w, q)
	if w.Code != want {
		h.t.Errorf("POST /hook with %v: %d %q, want %d", header, w.Code, w.Body, want)
	}
	return w
}

func (h *hearing) counted(result string, n int) {
	h.t.Helper()
	want := fmt.Sprintf(`linkwright_hook_requests_total{result=%q} %d`, result, n)
	if got := ours(h.t, h.server); !slices.Contains(got, want) {
		h.t.Errorf("metrics lack %s: %q", want, got)
	}
}

func signed(more ...string) http.Header {
	return headers(append(more, "X-Hub-Signature-256", "sha256="+sign(sha256.New, secretText, hookBody))...)
}

func TestHookPokes(t *testing.T) {
	h := hear(t)
	for range 3 { // one poke waits for all of them
		h.post(http.StatusAccepted, strings.NewReader(hookBody), signed("X-GitHub-Event", "push"))
	}
	if !h.poked() || h.poked() {
		t.Error("three requests are not one poke")
	}
	h.counted("accepted", 3)
	for _, event := range []string{"X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event"} {
		h.post(http.StatusOK, strings.NewReader(hookBody), signed(event, "ping"))
	}
	h.post(http.StatusOK, strings.NewReader(hookBody), signed("X-Event-Key", "diagnostics:ping"))
	if h.poked() {
		t.Error("a ping pokes")
	}
	h.counted("ping", 4)
}

// TestHookRefuses: whatever is wrong, an unidentified cluster reads the same words, and no log and no page repeats what he sent.
func TestHookRefuses(t *testing.T) {
	h := hear(t)
	bad := []http.Header{
		headers(), headers("X-Gitlab-Token", canary), headers("X-Hub-Signature-256", canary),
		headers("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64)), headers("X-Hub-Signature-256", ""),
		headers("X-GitHub-Event", "ping"),
	}
	var answers []string
	for _, header := range bad {
		w := h.post(http.StatusUnauthorized, strings.NewReader(hookBody+canary), header)
		answers = append(answers, fmt.Sprint(w.Body, w.Header()))
	}
	if answers = slices.Compact(answers); len(answers) != 1 || strings.Contains(answers[0], canary) {
		t.Errorf("refusals differ, or repeat: %q", answers)
	}
	h.counted("refused", len(bad))
	if h.poked() {
		t.Error("a stranger pokes")
	}
	if got := h.logged(); strings.Contains(got, canary) || strings.Count(got, "\n") != 1 || !strings.Contains(got, "refused") {
		t.Errorf("log: %s; want one line for all of them", got)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead} {
		w := httptest.NewRecorder()
		h.hook.ServeHTTP(w, httptest.NewRequest(method, "/hook", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s /hook: %d %v", method, w.Code, w.Header())
		}
	}
	if got := ask(h.server, http.MethodPost, "/hook"); got.Code != http.StatusNotFound {
		t.Errorf("a server without a hook answers POST /hook with %d", got.Code)
	}
}

// endless is a body of far too much that costs nothing.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 4*maxHookBody {
		return 0, io.EOF
	}
	e.read += len(p)
	return len(p), nil
}

func TestHookBodyIsBounded(t *testing.T) {
	h := hear(t)
	body := &endless{}
	announced := httptest.NewRequest(http.MethodPost, "/hook", body)
	announced.Header, announced.ContentLength = signed(), maxHookBody+1
	w := httptest.NewRecorder()
	h.hook.ServeHTTP(w, announced)
	if w.Code != http.StatusRequestEntityTooLarge || body.read > 0 {
		t.Errorf("an announced body that is too large: %d, and %d bytes of it were read", w.Code, body.read)
	}
	h.post(http.StatusRequestEntityTooLarge, body, signed())
	if body.read > maxHookBody+1<<16 {
		t.Errorf("%d bytes were read", body.read)
	}
	h.counted("large", 2)
	exactly := bytes.Repeat([]byte{'x'}, maxHookBody)
	h.post(http.StatusAccepted, bytes.NewReader(exactly), headers("X-Gitea-Signature", sign(sha256.New, secretText, string(exactly))))
}

func TestHookFlood(t *testing.T) {
	h := hear(t)
	codes := map[int]int{}
	for range 1000 {
		q := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(hookBody))
		q.Header = signed()
		w := httptest.NewRecorder()
		h.hook.ServeHTTP(w, q)
		codes[w.Code]++
	}
	if codes[http.StatusAccepted] < hookBurst || codes[http.StatusTooManyRequests] < 900 {
		t.Errorf("a flood: %v", codes)
	}
	if !h.poked() || h.poked() {
		t.Error("a flood is not one poke")
	}
}

func TestHookOfAStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hearAt(t, New(Options{Standby: true}))
		w := h.post(http.StatusServiceUnavailable, strings.NewReader(hookBody), signed())
		if w.Header().Get("Retry-After") == "" || h.poked() {
			t.Errorf("a standby: %v", w.Header())
		}
		h.counted("standby", 1)
		leading, lose := context.WithCancel(t.Context())
		end := h.server.Lead(leading)
		h.post(http.StatusAccepted, strings.NewReader(hookBody), signed())
		lose() // what was begun goes on
		synctest.Wait()
		h.post(http.StatusServiceUnavailable, strings.NewReader(hookBody), signed())
		end()
		end = h.server.Lead(t.Context())
		h.post(http.StatusAccepted, strings.NewReader(hookBody), signed())
		end() // by an error, while the lease is held
		h.post(http.StatusServiceUnavailable, strings.NewReader(hookBody), signed())
	})
}

// TestHookRotation: the file counts as it is, and one that is of no use lets nobody in.
func TestHookRotation(t *testing.T) {
	h := hear(t)
	change := func(text string) {
		if err := os.WriteFile(h.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("the next secret of mine\n" + secretText + "\n")
	h.post(http.StatusAccepted, strings.NewReader(hookBody), signed())
	change("the next secret of mine\n")
	h.post(http.StatusUnauthorized, strings.NewReader(hookBody), signed())
	h.post(http.StatusAccepted, strings.NewReader(hookBody), headers("X-Gitlab-Token", "the next secret of mine"))
	for _, text := range []string{"", "\n \n", "short"} {
		change(text)
		h.post(http.StatusServiceUnavailable, strings.NewReader(hookBody), headers("X-Gitlab-Token", cmp.Or(strings.TrimSpace(text), "x")))
	}
	if err := os.Remove(h.file); err != nil {
		t.Fatal(err)
	}
	h.post(http.StatusServiceUnavailable, strings.NewReader(hookBody), signed())
	h.counted("error", 4)
	change(secretText)
	h.post(http.StatusAccepted, strings.NewReader(hookBody), signed())
}

func TestHookNeedsASecret(t *testing.T) {
	many := strings.Repeat("a secret that is long enough\n", maxHookSecrets+1)
	for text, want := range map[string]string{
		"": "is empty", " \n\n": "is empty", "long enough, I should say\nfifteen bytes..\n": ":2: is shorter than 16 bytes", many: "at most 8",
	} {
		_, err := New(Options{}).Hook(HookOptions{SecretFile: secretFile(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "fifteen") {
			t.Errorf("a file of %q: %v, want %s", text, err, want)
		}
	}
	if _, err := New(Options{}).Hook(HookOptions{SecretFile: "/nowhere"}); err == nil {
		t.Error("without a file there is a hook")
	}
}

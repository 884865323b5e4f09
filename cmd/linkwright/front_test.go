package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// front is git http-backend behind TLS and a password; what stands between it and its clients can be changed.
type front struct {
	*httptest.Server
	dir      atomic.Pointer[string] // the repositories
	password atomic.Pointer[string]
	ca       string
	fault    atomic.Pointer[fault]
	struck   atomic.Int32 // requests that met the fault
}

// fault answers in place of the server, or lets it answer into something that is not what a client gets.
type fault func(w http.ResponseWriter, r *http.Request, git http.Handler)

func newFront(t *testing.T, dir string) *front {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := &front{ca: filepath.Join(t.TempDir(), "ca.pem")}
	f.holds(dir)
	f.wants(faultCanary)
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != *f.password.Load() {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		git := &cgi.Handler{
			Path:   filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
			Env:    []string{"GIT_PROJECT_ROOT=" + *f.dir.Load(), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
			Stderr: io.Discard,
		}
		if now := f.fault.Load(); now != nil {
			f.struck.Add(1)
			(*now)(w, r, git)
			return
		}
		git.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	write(t, f.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})))
	return f
}

// holds says where the repositories are from now on.
func (f *front) holds(dir string) { f.dir.Store(&dir) }

// wants is a change of the password at the server.
func (f *front) wants(password string) { f.password.Store(&password) }

func (f *front) set(now fault) {
	f.struck.Store(0)
	if now == nil {
		f.fault.Store(nil)
		return
	}
	f.fault.Store(&now)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func answers(code int, headers ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		http.Error(w, "you sent "+r.Header.Get("Authorization"), code)
	}
}

// hangs holds a request until its client gives up.
func hangs(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client went
	<-r.Context().Done()
}

func babbles(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, "<html>please log in, "+r.Header.Get("Authorization"))
}

// cut gives half of every pack and then ends, by the rules of http or by a reset of the connection.
func cut(reset bool) fault {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		if r.Method == http.MethodGet {
			git.ServeHTTP(w, r)
			return
		}
		whole := httptest.NewRecorder()
		git.ServeHTTP(whole, r)
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()*2/3])
		if reset {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

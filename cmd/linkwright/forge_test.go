package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

const hookSecret = canary + "-of-the-hook-and-long"

// hub is a forge: git http-backend behind TLS and a token, and its API for statuses. It notes when Git is listed.
type hub struct {
	*httptest.Server
	bare, ca, token string

	mu       sync.Mutex
	listings []time.Time
	statuses []string      // "COMMIT STATE DESCRIPTION"
	answer   int           // of the API
	hang     chan struct{} // until this is closed, it does not answer; nil: it does
	hanging  atomic.Int32
}

// newHub serves the lab's repository, to which commits are pushed from now on.
func (l *lab) newHub() *hub {
	l.t.Helper()
	dir := l.t.TempDir()
	h := &hub{bare: filepath.Join(dir, "mesh", "fleet.git"), ca: filepath.Join(dir, "ca"), token: filepath.Join(dir, "token"), answer: http.StatusCreated}
	l.git("clone", "-q", "--bare", l.repo, h.bare)
	l.git("remote", "add", "origin", h.bare)
	path, err := exec.Command("git", "--exec-path").Output() //nolint:noctx // it ends by itself
	if err != nil {
		l.t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/api/v1/") {
			h.status(w, q)
			return
		}
		if _, password, _ := q.BasicAuth(); password != canary {
			http.Error(w, "who is "+password, http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(q.URL.Path, "/info/refs") {
			h.mu.Lock()
			h.listings = append(h.listings, time.Now())
			h.mu.Unlock()
		}
		backend.ServeHTTP(w, q)
	}))
	l.t.Cleanup(h.Close)
	l.keep(h.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})))
	l.keep(h.token, canary+"\n")
	return h
}

func (l *lab) keep(file, text string) {
	l.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // some of them are hooks
		l.t.Fatal(err)
	}
}

func (h *hub) status(w http.ResponseWriter, q *http.Request) {
	h.mu.Lock()
	hang := h.hang
	h.mu.Unlock()
	if hang != nil {
		h.hanging.Add(1)
		<-hang
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var s struct{ State, Description, Context string }
	err := json.NewDecoder(q.Body).Decode(&s)
	commit, ok := strings.CutPrefix(q.URL.Path, "/api/v1/repos/mesh/fleet/statuses/")
	if err != nil || !ok || q.Header.Get("Authorization") != "Bearer "+canary || s.Context != "linkwright" {
		http.Error(w, canary, http.StatusNotFound)
		return
	}
	h.statuses = append(h.statuses, commit+" "+s.State+" "+s.Description)
	w.WriteHeader(h.answer)
	_, _ = io.WriteString(w, canary)
}

func (h *hub) answers(code int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = code
}

// silent keeps the API from answering until what it gives is called.
func (h *hub) silent() (speak func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hang = make(chan struct{})
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		close(h.hang)
		h.hang = nil
	})
}

// has says that a status was posted, and all of them.
func (h *hub) has(status string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.statuses, status)
}

func (h *hub) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.statuses)
}

// listed is the first listing after a moment.
func (h *hub) listed(after time.Time) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.listings, func(at time.Time) bool { return at.After(after) })
	if i < 0 {
		return time.Time{}, false
	}
	return h.listings[i], true
}

// flags lead to the hub, and have statuses posted there.
func (h *hub) flags() []string {
	return []string{
		"--git-ca-file", h.ca, "--git-password-file", h.token, "--status", "gitea", "--repo", h.URL + "/mesh/fleet.git",
	}
}

func (l *lab) headOf() string {
	l.t.Helper()
	out, err := exec.Command("git", "-C", l.repo, "rev-parse", "HEAD").Output() //nolint:noctx // it ends by itself
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// at starts the program against the hub; flags that come last win.
func (l *lab) at(ctx context.Context, out, stderr io.Writer, args ...string) *exec.Cmd {
	l.t.Helper()
	c := exec.CommandContext(ctx, "linkwright", append(args, "--kubeconfig", l.Cluster("west").Kubeconfig)...)
	c.Stdout, c.Stderr, c.Env = out, stderr, append(os.Environ(), "TMPDIR="+l.temp)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	return c
}

// TestForge: a push is noticed at once, and its commit gets a status.
func TestForge(t *testing.T) {
	l := newLab(t, "east", "west")
	l.commit(l.clusters() + link("west", "east", ""))
	h := l.newHub()
	t.Run("a status by sync", func(t *testing.T) { l.t = t; l.statusOfSync(h) })
	t.Run("a push pokes", func(t *testing.T) { l.t = t; l.pushPokes(h) })
}

func (l *lab) statusOfSync(h *hub) {
	sync := func(code int) string {
		var out bytes.Buffer
		c := l.at(l.t.Context(), &out, &out, append([]string{"sync"}, h.flags()...)...)
		_ = c.Wait() // its exit code is checked
		if got := c.ProcessState.ExitCode(); got != code || strings.Contains(out.String(), canary) {
			l.t.Errorf("sync: exit code %d, want %d, and no canary\n%s", got, code, out.String())
		}
		return out.String()
	}
	sync(cli.ExitDone)
	h.answers(http.StatusForbidden)
	if out := sync(cli.ExitDone); !strings.Contains(out, "warning: post status of commit") || !strings.Contains(out, "may not write commit statuses") {
		l.t.Errorf("a status that is refused is no warning:\n%s", out)
	}
	h.answers(http.StatusCreated)
	good := l.headOf()
	l.commit(l.clusters() + link("west", "east", ", selctor: {}"))
	l.git("push", "-q", "origin", "main")
	sync(cli.ExitInvalid)
	want := []string{
		good + " success 2 clusters, 1 link: 1 Progressing", good + " success 2 clusters, 1 link: 1 Progressing",
		l.headOf() + " failure not applied: 1 error in the declarations; the applied revision is " + good[:12],
	}
	if got := h.all(); !slices.Equal(got, want) {
		l.t.Errorf("statuses:\n%q, want\n%q", got, want)
	}
}

var endpoints = regexp.MustCompile(`address=(\S+) for="?([^"\n]+)`)

// pushPokes: from git push with a post-receive hook to the listing of refs a moment goes by, while the interval is an hour.
func (l *lab) pushPokes(h *hub) {
	dir := l.t.TempDir()
	secret, log := filepath.Join(dir, "secret"), filepath.Join(dir, "log")
	l.keep(secret, hookSecret+"\n")
	ctx, stop := context.WithCancel(l.t.Context())
	daemon, at := l.listening(ctx, log, append([]string{"--hook-secret-file", secret}, h.flags()...))
	l.keep(filepath.Join(h.bare, "hooks", "post-receive"), fmt.Sprintf("#!/bin/sh\nexec poke %s %s\n", at["hooks"], secret))
	hourly := l.clusters() + policy("interval: 1h") + "---\n" + link("west", "east", "")
	l.commit(hourly)
	l.git("push", "-q", "origin", "main")
	l.eventually("the status of the first push", func() bool { return h.has(l.headOf() + " success 2 clusters, 1 link: 1 Progressing") })

	speak := h.silent() // an API that hangs at the very host keeps nobody from reading Git
	defer speak()
	for _, text := range []string{"", link("east", "west", "")} {
		l.commit(hourly + text)
		l.syncsAtOnce(h)
		l.eventually("a status is on its way", func() bool { return h.hanging.Load() == 1 })
	}
	speak()
	l.eventually("the status of the push", func() bool { return h.has(l.headOf() + " success 2 clusters, 2 links: 2 Progressing") })
	l.endpoints(at, secret)
	stop()
	_ = daemon.Wait() // it was asked to stop
	if raw, err := os.ReadFile(log); err != nil || bytes.Contains(raw, []byte(canary)) || !bytes.Contains(raw, []byte("result=accepted")) {
		l.t.Errorf("log: %v\n%s", err, raw)
	}
}

// syncsAtOnce pushes, and measures until the sync began.
func (l *lab) syncsAtOnce(h *hub) {
	l.t.Helper()
	start := time.Now()
	l.git("push", "-q", "origin", "main")
	var began time.Time
	l.eventually("Git is looked at", func() (ok bool) { began, ok = h.listed(start); return ok })
	took := began.Sub(start)
	l.t.Logf("from the beginning of git push to the listing of refs: %s", took)
	if took > moment {
		l.t.Errorf("a push was noticed after %s, want less than %s", took, moment)
	}
}

// listening starts a daemon with an address for hooks, and gives its addresses by what they are for.
func (l *lab) listening(ctx context.Context, log string, args []string) (*exec.Cmd, map[string]string) {
	l.t.Helper()
	f, err := os.Create(log)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = f.Close() })
	c := l.at(ctx, io.Discard, f, append([]string{"run", "--listen", "127.0.0.1:0", "--hook-listen", "127.0.0.1:0"}, args...)...)
	at := map[string]string{}
	l.eventually("the daemon listens", func() bool { //nolint:contextcheck // the lab has its own
		raw, _ := os.ReadFile(log)
		for _, m := range endpoints.FindAllSubmatch(raw, -1) {
			at[string(m[2])] = "http://" + string(m[1])
		}
		return len(at) == 2
	})
	return c, at
}

// endpoints: each address answers what is its own; a stranger and a standby get their answers.
func (l *lab) endpoints(at map[string]string, secret string) {
	if got := get(at["hooks"] + "/metrics"); got.status != http.StatusNotFound {
		l.t.Errorf("the hook's address shows metrics: %+v", got)
	}
	if got := get(at["hooks"] + "/hook"); got.status != http.StatusMethodNotAllowed {
		l.t.Errorf("GET /hook: %+v", got)
	}
	if code, err := post(at["all but hooks"], hookSecret); err != nil || code != http.StatusMethodNotAllowed && code != http.StatusNotFound {
		l.t.Errorf("the other address answers hooks: %d %v", code, err)
	}
	if code, err := post(at["hooks"], "another secret, of a stranger"); err != nil || code != http.StatusUnauthorized {
		l.t.Errorf("a stranger: %d %v", code, err)
	}
	if got := get(at["all but hooks"] + "/metrics").body; !strings.Contains(got, `linkwright_hook_requests_total{result="refused"} 1`) {
		l.t.Errorf("metrics: %s", got)
	}
	ctx, stop := context.WithCancel(l.t.Context())
	standby, beside := l.listening(ctx, l.t.TempDir()+"/log", []string{"--repo", l.repo, "--allow-file-repo", "--hook-secret-file", secret})
	if code, err := post(beside["hooks"], hookSecret); err != nil || code != http.StatusServiceUnavailable {
		l.t.Errorf("a standby: %d %v", code, err)
	}
	stop()
	_ = standby.Wait() // it was asked to stop
}

// poke is the program that the post-receive hook starts, as curl would be: URL and file of the secret.
func poke() {
	secret, err := os.ReadFile(os.Args[2])
	code := 0
	if err == nil {
		code, err = post(os.Args[1], strings.TrimSpace(string(secret)))
	}
	if err != nil || code != http.StatusAccepted {
		fmt.Fprintln(os.Stderr, "poke:", code, err)
		os.Exit(1)
	}
}

func post(base, secret string) (int, error) {
	const body = "push"
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, body)                                                  // a hash takes everything
	q, err := http.NewRequest(http.MethodPost, base+"/hook", strings.NewReader(body)) //nolint:noctx // of our own daemon
	if err != nil {
		return 0, err
	}
	q.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err
	}
	return r.StatusCode, r.Body.Close()
}

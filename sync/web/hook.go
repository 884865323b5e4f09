package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxHookBody = 25 << 20 // bytes; GitHub's own bound, and nobody sends more
	// Each that is too short is a mistake, and each that is too many work for whoever sends a body.
	minHookSecret, maxHookSecrets = 16, 8
	// Requests of true senders in a second, and at once. More would not poll more often: polls take turns.
	hookRate, hookBurst = 10, 20
	hookBodies          = 64 // read at once, none of them kept
	hookPatience        = 5 * time.Second
	hookWords           = "The signature is missing or wrong.\n"
)

// HookOptions say who may ask for a poll.
type HookOptions struct {
	// SecretFile holds the secrets that senders sign with, one on a line, each of them valid. It is read for every request.
	SecretFile string
	// Poke is sent to for every request that is believed; one that waits there stands for all that come meanwhile. Its
	// capacity must be at least one.
	Poke chan<- struct{}
	// Log gets results, never anything that a request holds.
	Log *slog.Logger

	patience time.Duration // with a body; zero: hookPatience
}

// hook answers who says that Git has something new. It believes a signature alone, and all it does is say "look now": who
// could forge one would gain a poll.
type hook struct {
	HookOptions
	server  *Server
	limit   *rate.Limiter // of those who are believed
	bodies  bodies
	clients *clientLimits
	// Strangers do not fill a log.
	refusals, errors rate.Sometimes
}

// Hook answers POST of /hook. It fails where the secrets cannot be read, or are none that protect.
func (s *Server) Hook(o HookOptions) (http.Handler, error) {
	if _, err := o.secrets(); err != nil {
		return nil, err
	}
	h := &hook{
		HookOptions: o, server: s, limit: rate.NewLimiter(hookRate, hookBurst),
		clients:  newClientLimits(),
		refusals: rate.Sometimes{Interval: time.Minute}, errors: rate.Sometimes{Interval: time.Minute},
	}
	mux := http.NewServeMux()
	mux.Handle("POST /hook", h)
	return mux, nil
}

// secrets reads the file. The errors name it, and lines by their number.
func (o HookOptions) secrets() (hookSecrets, error) {
	raw, err := os.ReadFile(o.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("read hook secret: %w", err)
	}
	var out hookSecrets
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if len(line) < minHookSecret {
			return nil, fmt.Errorf("hook secret %s:%d: is shorter than %d bytes: make one with openssl rand -hex 32", o.SecretFile, n, minHookSecret)
		}
		out = append(out, line)
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("hook secret %s: is empty: make one with openssl rand -hex 32", o.SecretFile)
	case len(out) > maxHookSecrets:
		return nil, fmt.Errorf("hook secret %s: holds %d secrets, and at most %d can be valid at once: remove the old ones", o.SecretFile, len(out), maxHookSecrets)
	}
	return out, nil
}

// hookResult is what becomes of a request, as its sender sees it and as it is counted.
type hookResult struct {
	name    string
	code    int
	message string
	after   string // seconds until it may be worth another try
}

// hookResults returns every result there is; the names are the metric's label.
func hookResults() map[string]hookResult {
	out := map[string]hookResult{}
	for _, r := range []hookResult{
		{"accepted", http.StatusAccepted, "A sync begins.\n", ""},
		{"ping", http.StatusOK, "The signature is right.\n", ""},
		{"refused", http.StatusUnauthorized, hookWords, ""},
		{"large", http.StatusRequestEntityTooLarge, "The body is too large.\n", ""},
		{"cut", http.StatusRequestTimeout, "The body did not arrive.\n", ""},
		{"limited", http.StatusTooManyRequests, "Too many requests.\n", "1"},
		{"standby", http.StatusServiceUnavailable, "This replica does not lead.\n", "1"},
		{"error", http.StatusServiceUnavailable, "The secret cannot be read here.\n", "60"},
	} {
		out[r.name] = r
	}
	return out
}

func (h *hook) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r := hookResults()[h.respond(w, q)]
	h.server.metrics.add("linkwright_hook_requests_total", 1, r.name)
	switch r.name {
	case "accepted", "ping":
		h.Log.Info("hook", "result", r.name)
	default:
		h.refusals.Do(func() { h.Log.Warn("hook", "result", r.name) })
	}
	if r.after != "" {
		w.Header().Set("Retry-After", r.after)
	}
	head(w, "text/plain; charset=utf-8")
	w.WriteHeader(r.code)
	_, _ = w.Write([]byte(r.message)) // the client went away: nobody is left to tell
}

// respond names the result, and pokes where the request is believed. What is cheap to see comes before the body, and nothing is
// limited before it is known who asks: strangers keep nobody out.
func (h *hook) respond(w http.ResponseWriter, q *http.Request) string {
	p, ok := signatureOf(q.Header)
	switch {
	case h.server.isStandby():
		return "standby"
	case !ok:
		return "refused"
	case q.ContentLength > maxHookBody:
		return "large"
	}
	secrets, err := h.secrets()
	if err != nil {
		h.errors.Do(func() { h.Log.Error("hook secret cannot be used", "error", err) })
		return "error"
	}
	if result := h.verify(w, q, p, secrets); result != "" {
		return result
	}
	switch {
	case ping(q.Header):
		return "ping"
	case !h.limit.Allow():
		return "limited"
	}
	select {
	case h.Poke <- struct{}{}:
	default: // one waits already, and will see this push, too
	}
	return "accepted"
}

// verify names what is wrong, or nothing. A token needs no body to be wrong.
func (h *hook) verify(w http.ResponseWriter, q *http.Request, p signature, secrets hookSecrets) string {
	from := address(q)
	if p.token != "" && !p.known(secrets) {
		return h.rateLimited(from)
	}
	defer h.bodies.receive(w, h.clients.untrusted(from), cmp.Or(h.patience, hookPatience))()
	right, err := p.holds(secrets, http.MaxBytesReader(w, q.Body, maxHookBody))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case p.token != "": // right without the body, which was read for its sender's sake
		return ""
	case large:
		return "large"
	case err != nil:
		return "cut"
	case !right:
		return h.rateLimited(from)
	}
	return ""
}

// rateLimited is for a wrong proof.
func (h *hook) rateLimited(from string) string {
	if h.clients.spend(from) {
		return "limited"
	}
	return "refused"
}

// ping reports whether the sender only tries the address.
func ping(h http.Header) bool {
	names := []string{"X-Github-Event", "X-Forgejo-Event", "X-Gitea-Event", "X-Event-Key"}
	return slices.ContainsFunc(names, func(n string) bool {
		event := h.Get(n)
		return event == "ping" || event == "diagnostics:ping"
	})
}

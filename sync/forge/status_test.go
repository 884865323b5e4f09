package forge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/forge"
)

const commit = api.Commit("0123456789abcdef0123456789abcdef01234567")

func status(s forge.State) forge.Status {
	return forge.Status{Commit: commit, State: s, Description: "3 clusters, 12 links", Context: "linkwright", URL: "https://grafana.example.com/d/1"}
}

// asked is a request as it arrived.
type asked struct {
	Method, Path string
	Header       map[string]string
	Body         map[string]string
}

// hub is any forge's API behind TLS.
type hub struct {
	*httptest.Server
	t      *testing.T
	got    []asked
	answer http.HandlerFunc
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		a := asked{q.Method, q.URL.EscapedPath(), map[string]string{}, map[string]string{}}
		for _, name := range []string{"Authorization", "Accept", "Content-Type", "X-Github-Api-Version"} {
			if v := q.Header.Get(name); v != "" {
				a.Header[name] = v
			}
		}
		raw, err := io.ReadAll(q.Body)
		if err == nil {
			err = json.Unmarshal(raw, &a.Body)
		}
		if err != nil {
			t.Errorf("body %q: %v", raw, err)
		}
		h.got = append(h.got, a)
		h.answer(w, q)
	}))
	h.Config.ErrorLog = nil
	t.Cleanup(h.Close)
	return h
}

func (h *hub) client(kind forge.Kind, base, project string) *forge.Client {
	h.t.Helper()
	c, err := forge.NewClient(kind, forge.Place{URL: h.URL + base, Project: project}, func(context.Context) (*http.Client, forge.Secret, error) {
		return h.Client(), forge.NewSecret(canary), nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func TestPost(t *testing.T) {
	h := newHub(t)
	for _, p := range []struct {
		kind          forge.Kind
		base, project string
		state         forge.State
	}{
		{forge.GitHub, "/api/v3", "mesh/fleet", forge.Success},
		{forge.GitLab, "/api/v4/", "mesh/eu/fleet.of.all", forge.Failure},
		{forge.GitLab, "/api/v4", "mesh/fleet", forge.Error},
		{forge.Gitea, "/api/v1", "mesh/fleet", forge.Error},
	} {
		if err := h.client(p.kind, p.base, p.project).Post(t.Context(), status(p.state)); err != nil {
			t.Errorf("%s: %v", p.kind, err)
		}
	}
	bearer := func(more ...string) map[string]string {
		out := map[string]string{"Authorization": "Bearer " + canary, "Content-Type": "application/json", "Accept": "application/json"}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	body := func(name, state string) map[string]string {
		return map[string]string{name: "linkwright", "state": state, "description": "3 clusters, 12 links", "target_url": "https://grafana.example.com/d/1"}
	}
	want := []asked{
		{
			"POST", "/api/v3/repos/mesh/fleet/statuses/" + string(commit),
			bearer("Accept", "application/vnd.github+json", "X-Github-Api-Version", "2022-11-28"), body("context", "success"),
		},
		{"POST", "/api/v4/projects/mesh%2Feu%2Ffleet.of.all/statuses/" + string(commit), bearer(), body("name", "failed")},
		{"POST", "/api/v4/projects/mesh%2Ffleet/statuses/" + string(commit), bearer(), body("name", "failed")},
		{"POST", "/api/v1/repos/mesh/fleet/statuses/" + string(commit), bearer(), body("context", "error")},
	}
	if diff := cmp.Diff(want, h.got); diff != "" {
		t.Errorf("requests: -want +got\n%s", diff)
	}
}

// say answers with what was sent and a canary, as a debugging server may.
func say(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, canary+q.Header.Get("Authorization"), code)
	}
}

func TestPostErrors(t *testing.T) {
	elsewhere := newHub(t)
	for name, tt := range map[string]struct {
		kind   forge.Kind
		answer http.HandlerFunc
		words  string
		code   int
	}{
		"no right":      {answer: say(403), words: "may not write commit statuses", code: 403},
		"no token":      {answer: say(401), words: "the token is missing or wrong", code: 401},
		"not a project": {answer: say(404), words: "check the project's name", code: 404},
		"no commit":     {answer: say(422), words: "has too many statuses", code: 422},
		"limited":       {answer: say(429, "Retry-After", "7"), words: "must wait for 7s", code: 429},
		"GitHub's way":  {answer: say(403, "X-RateLimit-Remaining", "0"), words: "too many requests", code: 403},
		"broken":        {answer: say(500), words: "answered 500", code: 500},
		"a page":        {answer: say(200), words: "and not 201", code: 200},
		"moved":         {answer: http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP, words: "does not follow a redirect", code: 307},
		"another 400":   {kind: forge.GitLab, answer: say(400), words: "answered 400", code: 400},
		"not GitLab's": {answer: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Cannot transition status", http.StatusBadRequest)
		}, words: "answered 400", code: 400},
		"garbage": {answer: func(w http.ResponseWriter, _ *http.Request) { hijack(w, canary+" is no HTTP\r\n\r\n") }, words: "does not speak HTTP"},
		"cut off": {answer: func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, words: "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.answer = tt.answer
			kind := forge.GitHub
			if tt.kind != "" {
				kind = tt.kind
			}
			err := h.client(kind, "/api", "mesh/fleet").Post(t.Context(), status(forge.Success))
			if err == nil || !strings.Contains(err.Error(), tt.words) || !strings.Contains(err.Error(), "commit 0123456") {
				t.Fatalf("Post(): %v, want words %q", err, tt.words)
			}
			if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, canary) {
				t.Errorf("Post(): %s: shows what is secret", text)
			}
			var refused *forge.Refusal
			if errors.As(err, &refused) != (tt.code != 0) || tt.code != 0 && refused.Code != tt.code {
				t.Errorf("Post(): refusal %+v, want code %d", refused, tt.code)
			}
		})
	}
	if len(elsewhere.got) > 0 {
		t.Error("the token was carried to another host")
	}
}

func hijack(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, text)
	_ = conn.Close()
}

// GitLab refuses to set what is set already: that is no failure.
func TestPostAgainToGitLab(t *testing.T) {
	h := newHub(t)
	h.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"message":"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via \"enqueue\")"}`)
	}
	if err := h.client(forge.GitLab, "/api/v4", "mesh/fleet").Post(t.Context(), status(forge.Pending)); err != nil {
		t.Error(err)
	}
}

func TestPostWithoutAnswer(t *testing.T) {
	h := newHub(t)
	h.answer = func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
	ctx, cancel := context.WithTimeout(t.Context(), 1e8)
	defer cancel()
	err := h.client(forge.Gitea, "/api/v1", "mesh/fleet").Post(ctx, status(forge.Success))
	if err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("Post(): %v", err)
	}
	down, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = down.Close()
	h.URL = "https://" + down.Addr().String()
	if err := h.client(forge.Gitea, "/api/v1", "mesh/fleet").Post(t.Context(), status(forge.Success)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Post() to nobody: %v", err)
	}
}

func TestPostWithoutToken(t *testing.T) {
	c, err := forge.NewClient(forge.Gitea, forge.Place{URL: "https://git.example.com/api/v1", Project: "mesh/fleet"},
		func(context.Context) (*http.Client, forge.Secret, error) {
			return nil, forge.Secret{}, errors.New("token file token: is empty")
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Post(t.Context(), status(forge.Success)); err == nil || !strings.Contains(err.Error(), "token file token: is empty") {
		t.Errorf("Post(): %v", err)
	}
}

// repeating is a way on which somebody repeats what passes.
type repeating struct{}

func (repeating) RoundTrip(q *http.Request) (*http.Response, error) {
	return nil, errors.New("the proxy does not like " + q.Header.Get("Authorization"))
}

func TestPostRedacts(t *testing.T) {
	c, err := forge.NewClient(forge.Gitea, forge.Place{URL: "https://git.example.com/api/v1", Project: "mesh/fleet"},
		func(context.Context) (*http.Client, forge.Secret, error) {
			return &http.Client{Transport: repeating{}}, forge.NewSecret(canary), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Post(t.Context(), status(forge.Success)); err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "the proxy does not like Bearer [redacted]") {
		t.Errorf("Post(): %v", err)
	}
}

func TestPlaceOf(t *testing.T) {
	for _, tt := range []struct {
		kind          forge.Kind
		repo          string
		base, project string
		beside        string
	}{
		{forge.GitHub, "https://github.com/mesh/fleet.git", "https://api.github.com", "mesh/fleet", "https://api.github.com/"},
		{forge.GitHub, "git@github.com:mesh/fleet.git", "https://api.github.com", "mesh/fleet", ""},
		{forge.GitHub, "ssh://git@ssh.github.com:443/mesh/fleet.git", "https://api.github.com", "mesh/fleet", ""},
		{forge.GitHub, "https://ghe.example.com/mesh/fleet", "https://ghe.example.com/api/v3", "mesh/fleet", ""},
		{forge.GitLab, "https://gitlab.com/mesh/eu/fleet.git", "https://gitlab.com/api/v4", "mesh/eu/fleet", ""},
		{forge.GitLab, "git@altssh.gitlab.com:mesh/fleet", "https://gitlab.com/api/v4", "mesh/fleet", ""},
		{forge.GitLab, "https://" + canary + ":x@git.example.com:8443/mesh/fleet.git", "https://git.example.com:8443/api/v4", "mesh/fleet", ""},
		{forge.Gitea, "ssh://git@git.example.com:2222/mesh/fleet.git", "https://git.example.com/api/v1", "mesh/fleet", ""},
		{forge.Gitea, "ssh://git@[2001:db8::1]:2222/mesh/fleet.git", "https://[2001:db8::1]/api/v1", "mesh/fleet", ""},
		{forge.Gitea, "http://127.0.0.1:3000/mesh/fleet", "http://127.0.0.1:3000/api/v1", "mesh/fleet", ""},
	} {
		got, err := forge.PlaceOf(tt.kind, tt.repo)
		if diff := cmp.Diff(forge.Place{URL: tt.base, Project: tt.project}, got); diff != "" || err != nil {
			t.Errorf("PlaceOf(%s, %s): %v -want +got\n%s", tt.kind, tt.repo, err, diff)
		}
		if !got.Beside(tt.kind, tt.repo) {
			t.Errorf("%+v is not beside %s", got, tt.repo)
		}
		got.URL = "https://another.example.com"
		if got.Beside(tt.kind, tt.repo) {
			t.Errorf("%+v is beside %s", got, tt.repo)
		}
	}
	for _, repo := range []string{"/srv/git/fleet.git", "file:///srv/git/fleet.git", "git://x/a/b", "::"} {
		if got, err := forge.PlaceOf(forge.Gitea, repo); err == nil {
			t.Errorf("PlaceOf(%s) = %+v", repo, got)
		}
	}
	for _, repo := range []string{"https://github.com/fleet", "http://git.example.com/mesh/fleet", "https://h/a/b/c", "https://h/../b"} {
		target, err := forge.PlaceOf(forge.Gitea, repo)
		if _, errClient := forge.NewClient(forge.Gitea, target, nil); err != nil || errClient == nil {
			t.Errorf("NewClient(PlaceOf(%s) = %+v, %v): no error", repo, target, err)
		}
	}
	for _, target := range []forge.Place{
		{URL: "https://" + canary + "@h/api", Project: "a/b"},
		{URL: "http://git.example.com/api", Project: "a/b"},
		{URL: "https://h/api?x=1", Project: "a/b"},
		{URL: "https://h/api", Project: "b"},
		{URL: "https://h/api", Project: "a/b/c"},
		{URL: "https://h/api", Project: "a/.."},
	} {
		if _, err := forge.NewClient(forge.GitHub, target, nil); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("NewClient(%+v): %v", target, err)
		}
	}
}

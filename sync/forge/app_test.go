package forge_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/sync/forge"
)

func TestMain(m *testing.M) { os.Exit(leaks.Code(m.Run())) }

const canary = "canary-9d41"

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pkcs1(key *rsa.PrivateKey) forge.Secret {
	return forge.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
}

func pkcs8(t *testing.T, key *rsa.PrivateKey) forge.Secret {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return forge.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// github is its API for one app: it checks the proof by the public key as GitHub documents it.
type github struct {
	*httptest.Server
	requests atomic.Int32
	life     time.Duration // of the tokens
	answer   http.HandlerFunc
}

func newGitHub(t *testing.T, key *rsa.PrivateKey) *github {
	t.Helper()
	g := &github{life: time.Hour}
	g.answer = func(w http.ResponseWriter, q *http.Request) {
		proof, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
		claims := jwt.RegisteredClaims{}
		_, err := jwt.ParseWithClaims(proof, &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil },
			jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer("7"), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
		if err != nil || time.Until(claims.ExpiresAt.Time) > 10*time.Minute || time.Since(claims.IssuedAt.Time) < time.Minute {
			http.Error(w, canary+proof, http.StatusUnauthorized)
			return
		}
		if q.Method != http.MethodPost || q.URL.Path != "/api/v3/app/installations/42/access_tokens" {
			http.Error(w, canary, http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"token": fmt.Sprint(canary, g.requests.Load()), "expires_at": time.Now().Add(g.life).UTC().Format(time.RFC3339),
		})
	}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		g.requests.Add(1)
		g.answer(w, q)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *github) app(key forge.Secret) *forge.App {
	return &forge.App{ID: 7, Installation: 42, Key: key, URL: g.URL + "/api/v3/", HTTP: g.Client()}
}

func TestAppToken(t *testing.T) {
	key := rsaKey(t)
	for name, pem := range map[string]forge.Secret{"PKCS #1": pkcs1(key), "PKCS #8": pkcs8(t, key)} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t, key)
			a := g.app(pem)
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					if got, err := a.Token(t.Context()); err != nil || got.Reveal() != canary+"1" {
						t.Errorf("Token() = %q, %v", got.Reveal(), err)
					}
				})
			}
			all.Wait()
			if got := g.requests.Load(); got != 1 {
				t.Errorf("five callers made %d requests, want 1", got)
			}
			a.Drop(t.Context(), forge.NewSecret("an older one"))
			a.Drop(t.Context(), forge.NewSecret(canary+"1"))
			if got, err := a.Token(t.Context()); err != nil || got.Reveal() != canary+"2" {
				t.Errorf("after Drop: Token() = %q, %v, want another", got.Reveal(), err)
			}
		})
	}
}

// A token that has minutes left is not good enough: a fetch may take them.
func TestAppRenewsEarly(t *testing.T) {
	key := rsaKey(t)
	g := newGitHub(t, key)
	g.life = 4 * time.Minute
	a := g.app(pkcs1(key))
	for want := int32(1); want < 3; want++ {
		if _, err := a.Token(t.Context()); err != nil || g.requests.Load() != want {
			t.Errorf("after %d tokens %d requests, %v", want, g.requests.Load(), err)
		}
	}
}

func TestAppErrors(t *testing.T) {
	key := rsaKey(t)
	elsewhere := newGitHub(t, key)
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		change func(*forge.App)
		words  string
		code   int
	}{
		"another key":   {change: func(a *forge.App) { a.Key = pkcs1(rsaKey(t)) }, words: "check the app's id", code: 401},
		"not installed": {change: func(a *forge.App) { a.Installation = 43 }, words: "and that the app is installed", code: 404},
		"no key":        {change: func(a *forge.App) { a.Key = forge.NewSecret(canary) }, words: "not an RSA key in PEM"},
		"no id":         {change: func(a *forge.App) { a.ID = 0 }, words: "positive numbers"},
		"http":          {change: func(a *forge.App) { a.URL = "http://ghe.example.com/api/v3" }, words: "only over https"},
		"user info":     {change: func(a *forge.App) { a.URL = "https://" + canary + "@ghe.example.com" }, words: "hold no credentials"},
		"no token":      {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, words: "has no token"},
		"moved":         {answer: http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP, words: "does not follow a redirect", code: 307},
		"broken":        {answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, canary, http.StatusBadGateway) }, words: "answered 502", code: 502},
		"limited": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			http.Error(w, canary, http.StatusForbidden)
		}, words: "must wait for 1m30s", code: 403},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t, key)
			if tt.answer != nil {
				g.answer = tt.answer
			}
			a := g.app(pkcs1(key))
			if tt.change != nil {
				tt.change(a)
			}
			_, err := a.Token(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.words) || strings.Contains(err.Error(), canary) {
				t.Errorf("Token(): %v, want words %q and no canary", err, tt.words)
			}
			var refused *forge.Refusal
			if errors.As(err, &refused) != (tt.code != 0) || tt.code != 0 && refused.Code != tt.code {
				t.Errorf("Token(): refusal %+v, want code %d", refused, tt.code)
			}
		})
	}
	if got := elsewhere.requests.Load(); got != 0 {
		t.Errorf("the proof was carried to another host %d times", got)
	}
}

// Whatever prints an App or a Secret gives nothing away.
func TestAppRedactsItself(t *testing.T) {
	key := rsaKey(t)
	g := newGitHub(t, key)
	a := g.app(pkcs1(key))
	token, err := a.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type hidden struct{ inner forge.Secret }
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("all", "app", a, "token", token, "hidden", hidden{token})
	for _, v := range []any{a, token, &token, hidden{token}, []any{token}} {
		_, _ = fmt.Fprintf(&out, "%v %+v %#v %s %q %d %x\n", v, v, v, v, v, v, v)
	}
	if strings.Contains(out.String(), canary) || strings.Contains(out.String(), fmt.Sprintf("%x", canary)) ||
		strings.Contains(out.String(), "PRIVATE KEY") {
		t.Errorf("shown: %s", out.String())
	}
}

func TestAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, " 30 ": 30 * time.Second,
		"99999999999999":                time.Hour,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0, "Sat, 03 Jan 2026 03:00:00 GMT": time.Hour,
	} {
		if got := forge.After(header, now); got != want {
			t.Errorf("After(%q): -want +got\n-%s\n+%s", header, want, got)
		}
	}
}

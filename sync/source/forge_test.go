package source_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkwright/linkwright/sync/source"
)

// A passphrase is for a key and for no server; so by ssh there is no token but an App's.
func TestToken(t *testing.T) {
	const ssh, https = "ssh://git@127.0.0.1:1/mesh/fleet.git", "https://127.0.0.1:1/mesh/fleet.git"
	for name, tt := range map[string]struct {
		repo string
		keys func(context.Context) (source.Keys, error)
		want string
	}{
		"password":     {https, with("username", "ann", "password", canary+"\n"), canary},
		"bearer":       {https, with("bearerToken", canary), canary},
		"of the URL":   {strings.Replace(https, "//", "//"+canary+"@", 1), nil, canary},
		"none":         {https, nil, ""},
		"a passphrase": {ssh, with("identity", "x", "known_hosts", "x", "password", canary), ""},
	} {
		s := open(t, source.Options{Repo: tt.repo, Keys: tt.keys})
		if got, err := s.Token(t.Context(), "https://127.0.0.1:1/api/v1"); err != nil || got.Reveal() != tt.want {
			t.Errorf("%s: Token() = %q, %v, want %q", name, got.Reveal(), err, tt.want)
		}
	}
}

// The way to an API has Git's CA and not Git's certificate, which is for Git's host alone.
func TestAPI(t *testing.T) {
	certs := 0
	ours := newCA(t)
	crt, key := ours.issue(t, "us", time.Hour)
	srv := serveTLS(t, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { certs += len(q.TLS.PeerCertificates) }),
		&tls.Config{Certificates: []tls.Certificate{ours.pair(t, "", time.Hour)}, ClientAuth: tls.RequestClientCert})
	ask := func(keys func(context.Context) (source.Keys, error)) error {
		s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: keys})
		client, err := s.API(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.Get(srv.URL) //nolint:noctx // of our own server
		if err != nil {
			return err
		}
		return r.Body.Close()
	}
	if err := ask(with("ca.crt", ours.pem(), "tls.crt", crt, "tls.key", key)); err != nil || certs != 0 {
		t.Errorf("API: %v, with %d certificates of ours", err, certs)
	}
	if err := ask(with("ca.crt", newCA(t).pem())); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("API of a server that another CA vouches for: %v", err)
	}
}

// A token may be asked for while a visit goes on: both have the same App, and one request serves them.
func TestTokenBesideAPoll(t *testing.T) {
	var asked atomic.Int32
	api := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"token": %q, "expires_at": %q}`, canary, time.Now().Add(time.Hour).Format(time.RFC3339))
	}), nil)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, source.Options{Repo: "https://127.0.0.1:1/fleet.git", Keys: with(
		"githubAppID", "7", "githubAppInstallationID", "42", "githubAppBaseURL", api.URL, "ca.crt", toPEM("CERTIFICATE", api.Certificate().Raw),
		"githubAppPrivateKey", toPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { _, _ = s.Poll(t.Context()) }) // nobody listens there
		group.Go(func() {
			if got, err := s.Token(t.Context(), api.URL); err != nil || got.Reveal() != canary {
				t.Errorf("Token() = %q, %v", got.Reveal(), err)
			}
		})
	}
	group.Wait()
	if got := asked.Load(); got != 1 {
		t.Errorf("%d tokens were asked for, want 1", got)
	}
}

// An App's token goes to the App's own forge, Git's server or API, and nobody is even asked for one that would go elsewhere.
func TestTokenIsNotLent(t *testing.T) {
	var asked atomic.Int32
	api := serveTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }), nil)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	app := with("githubAppID", "7", "githubAppInstallationID", "42", "githubAppBaseURL", api.URL, "ca.crt", toPEM("CERTIFICATE", api.Certificate().Raw),
		"githubAppPrivateKey", toPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
	const want = "linkwright sends a token of GitHub App 7 to 127.0.0.1, and not to localhost"
	_, err = open(t, source.Options{Repo: "https://localhost:1/mesh/fleet.git", Keys: app}).Poll(t.Context())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Poll(): %v", err)
	}
	_, err = open(t, source.Options{Repo: "ssh://git@localhost:1/mesh/fleet.git", Keys: app}).Token(t.Context(), "https://localhost/api/v3")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Token(): %v", err)
	}
	if asked.Load() > 0 {
		t.Error("a token was made")
	}
}

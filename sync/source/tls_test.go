package source_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/linkwright/linkwright/sync/source"
)

// authorityOf is a CA of an organisation.
type authorityOf struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) authorityOf {
	t.Helper()
	key := ecKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authorityOf{cert, key}
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a authorityOf) pem() string { return toPEM("CERTIFICATE", a.cert.Raw) }

func toPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// issue makes a certificate for a name or for 127.0.0.1, good until some time from now.
func (a authorityOf) issue(t *testing.T, name string, life time.Duration) (crt, key string) {
	t.Helper()
	k := ecKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(life),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, DNSNames: []string{name},
	}
	if name == "" {
		template.DNSNames, template.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return toPEM("CERTIFICATE", der), toPEM("PRIVATE KEY", bare)
}

func (a authorityOf) pair(t *testing.T, name string, life time.Duration) tls.Certificate {
	t.Helper()
	crt, key := a.issue(t, name, life)
	pair, err := tls.X509KeyPair([]byte(crt), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// serveTLS starts a server with a TLS configuration of its own.
func serveTLS(t *testing.T, h http.Handler, config *tls.Config) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = config
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestPollWithAClientCertificate(t *testing.T) {
	r := newRepo(t)
	ca, other := newCA(t), newCA(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	srv := serveTLS(t, backend(r), &tls.Config{
		Certificates: []tls.Certificate{ca.pair(t, "", time.Hour)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	})
	crt, key := ca.issue(t, canary, time.Hour)
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", ca.pem(), "tls.crt", crt, "tls.key", key)})
	poll(t, s)

	s = open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", ca.pem())})
	_, err := s.Poll(t.Context())
	refuse(t, err, "if it wants a client certificate, give tls.crt and tls.key")

	crt, key = other.issue(t, canary, time.Hour)
	s = open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", ca.pem(), "tls.crt", crt, "tls.key", key)})
	_, err = s.Poll(t.Context())
	refuse(t, err, "does not accept linkwright's client certificate")
	hidden(t, err)
}

func TestPollDoubtsTheServersCertificate(t *testing.T) {
	r := newRepo(t)
	ca := newCA(t)
	for name, tt := range map[string]struct {
		name  string
		life  time.Duration
		trust authorityOf
		words string
	}{
		"expired":      {"", -time.Hour, ca, "the server's certificate is not valid now"},
		"another name": {"git.example.com", time.Hour, ca, "the server's certificate is for another name"},
		"foreign":      {"", time.Hour, newCA(t), "is not trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveTLS(t, backend(r), &tls.Config{Certificates: []tls.Certificate{ca.pair(t, tt.name, tt.life)}})
			s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", tt.trust.pem(), "password", sharp)})
			for range 2 { // whom we do not believe is asked again at once: who mends it need not wait
				_, err := s.Poll(t.Context())
				refuse(t, err, tt.words)
				hidden(t, err)
			}
		})
	}
}

// A redirect inside the repository's origin is followed with credentials, one that leaves it is not followed at all.
func TestPollAndRedirects(t *testing.T) {
	r := newRepo(t)
	var elsewhere atomic.Int32
	foreign := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer foreign.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer plain.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(foreign.URL, "https://"))
	srv := serve(t, r, func(q *http.Request) bool { return basic("git", sharp)(q) })
	git := srv.Config.Handler
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, _, _ := strings.Cut(q.URL.Path[1:], "/")
		to := map[string]string{
			"fleet":   "/fleet.git/info/refs?service=git-upload-pack", // as GitLab does
			"round":   "/round/info/refs?service=git-upload-pack",
			"away":    "https://" + canary + ":" + canary + "@127.0.0.1:" + port + "/fleet.git/info/refs?token=" + canary,
			"name":    "https://localhost:" + strings.Split(q.Host, ":")[1] + "/fleet.git/info/refs?service=git-upload-pack",
			"plain":   plain.URL + "/fleet.git/info/refs",
			"strange": "ftp://127.0.0.1/x",
		}[name]
		if to != "" {
			http.Redirect(w, q, to, http.StatusMovedPermanently)
			return
		}
		git.ServeHTTP(w, q)
	})
	for name, words := range map[string]string{
		"fleet": "", "round": "redirected linkwright more than 5 times", "plain": "it redirects from https to http",
		"away": "it redirects to https://127.0.0.1:" + port + ", where linkwright sends no credentials: use that address", "name": "it redirects to https://localhost:",
		"strange": "it redirects to ftp://127.0.0.1",
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, source.Options{Repo: srv.URL + "/" + name, Keys: with("ca.crt", srv.ca, "password", sharp)})
			_, err := s.Poll(t.Context())
			if words == "" && err != nil {
				t.Errorf("Poll: %v", err)
			} else if words != "" {
				refuse(t, err, words)
			}
			hidden(t, err)
		})
	}
	if got := elsewhere.Load(); got != 0 {
		t.Errorf("other servers were asked %d times", got)
	}
}

// TestPollAsAGitHubApp: the API gives a token for a proof, and Git takes that token and nothing else.
func TestPollAsAGitHubApp(t *testing.T) {
	r := newRepo(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var tokens atomic.Int32
	valid := func() string { return sharp + strconv.Itoa(int(tokens.Load())) }
	srv := serve(t, r, func(q *http.Request) bool { return basic("x-access-token", valid())(q) })
	git := srv.Config.Handler
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/api/v3/app/installations/42/access_tokens" {
			git.ServeHTTP(w, q)
			return
		}
		evidence, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
		_, err := jwt.Parse(evidence, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }, jwt.WithIssuer("7"), jwt.WithValidMethods([]string{"RS256"}))
		if err != nil {
			http.Error(w, canary, http.StatusUnauthorized)
			return
		}
		tokens.Add(1)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": valid(), "expires_at": time.Now().Add(time.Hour)})
	})
	secret := toPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	app := with("ca.crt", srv.ca, "githubAppID", "7", "githubAppInstallationID", "42\n", "githubAppPrivateKey", secret, "githubAppBaseURL", srv.URL+"/api/v3")
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: func(ctx context.Context) (source.Keys, error) { return app(ctx) }})
	for range 3 {
		poll(t, s)
	}
	if got := tokens.Load(); got != 1 {
		t.Errorf("three polls took %d tokens, want 1", got)
	}
	tokens.Add(1) // somebody revoked it
	_, err = s.Poll(t.Context())
	refuse(t, err, "401")
	hidden(t, err, s)
	poll(t, s)

	app = with("ca.crt", srv.ca, "githubAppID", "8", "githubAppInstallationID", "42", "githubAppPrivateKey", secret, "githubAppBaseURL", srv.URL+"/api/v3")
	_, err = s.Poll(t.Context())
	refuse(t, err, "get a token of GitHub App 8 for installation 42: the server answered 401 (check the app's id")
	hidden(t, err, s)
}

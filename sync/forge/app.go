// Package forge talks to the service that hosts the repository: it gets tokens of a GitHub App, and sets the status of commits.
package forge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// GitHubAPI is where github.com answers; an Enterprise Server does at https://HOST/api/v3.
const GitHubAPI = "https://api.github.com"

// AppUser is the user name that goes with an installation's token where Git asks for a password.
const AppUser = "x-access-token"

const (
	appTimeout = 20 * time.Second
	skew       = time.Minute     // GitHub's clock may be behind ours
	appLife    = 9 * time.Minute // of a JWT; GitHub refuses more than 10
	early      = 5 * time.Minute // a token is renewed so long before it expires
	appMost    = 1 << 20         // bytes of an answer
)

// App is a GitHub App as it was installed for an account. It exchanges its key for tokens of the installation, which live
// for an hour, and remembers the last one; so one App is to be kept as long as its key is the same. It may be used from
// several goroutines: they take turns, and one request serves them all. It must not be copied after its first use.
type App struct {
	// ID is the App's id, Installation that of its installation; GitHub shows both in the addresses of their pages.
	ID, Installation int64
	// Key is the App's private key as PEM, PKCS #1 (as GitHub gives it) or PKCS #8.
	Key Secret
	// URL is the base of the REST API; empty is GitHubAPI. It is https, or http on a loopback host.
	URL string
	// HTTP makes the requests; nil is a client of its own. Its redirects and cookies are not used.
	HTTP *http.Client

	once  sync.Once
	slot  chan struct{} // held while token and until are read or written
	token Secret
	until time.Time
}

// Format keeps fmt out of the fields.
func (a *App) Format(w fmt.State, _ rune) { _, _ = fmt.Fprintf(w, "GitHub App %d", a.ID) }

// Check returns what is wrong with the fields, without asking anybody.
func (a *App) Check() error {
	if a.ID <= 0 || a.Installation <= 0 {
		return errors.New("GitHub App: the ids of the app and of its installation are positive numbers")
	}
	base, err := url.Parse(cmp.Or(a.URL, GitHubAPI))
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return errors.New("GitHub App: the address of the API must be https://HOST or https://HOST/api/v3, and hold no credentials")
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !loopback(base.Hostname())) {
		return fmt.Errorf("GitHub App: %s: linkwright uses the API only over https", base.Host)
	}
	if _, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(a.Key.Reveal())); err != nil {
		return errors.New("GitHub App: the private key is not an RSA key in PEM (use the .pem file that GitHub gave)")
	}
	return nil
}

// Token returns a token of the installation that is good for minutes at least. Its errors name the app and what to check, and hold nothing that
// GitHub wrote; a *Refusal among them says how it answered.
func (a *App) Token(ctx context.Context) (Secret, error) {
	if err := a.acquire(ctx); err != nil {
		return Secret{}, err
	}
	defer a.release()
	if now := time.Now(); !a.token.IsZero() && now.Before(a.until.Add(-early)) {
		return a.token, nil
	}
	token, until, err := a.fetch(ctx)
	if err != nil {
		return Secret{}, fmt.Errorf("get a token of GitHub App %d for installation %d: %w", a.ID, a.Installation, err)
	}
	a.token, a.until = token, until
	return token, nil
}

// Drop forgets a token that was answered with 401: the next Token asks for another. A token that is no longer the
// remembered one drops nothing.
func (a *App) Drop(ctx context.Context, token Secret) {
	if a.acquire(ctx) != nil {
		return
	}
	defer a.release()
	if a.token.Reveal() == token.Reveal() {
		a.token = Secret{}
	}
}

func (a *App) acquire(ctx context.Context) error {
	a.once.Do(func() { a.slot = make(chan struct{}, 1) })
	select {
	case a.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *App) release() { <-a.slot }

// fetch exchanges the key for a token.
func (a *App) fetch(ctx context.Context) (Secret, time.Time, error) {
	if err := a.Check(); err != nil {
		return Secret{}, time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, appTimeout)
	defer cancel()
	request, err := a.request(ctx, time.Now())
	if err != nil {
		return Secret{}, time.Time{}, err
	}
	response, err := a.client().Do(request)
	if failed := new(url.Error); errors.As(err, &failed) {
		err = failed.Err // the address is known
	}
	if err != nil {
		return Secret{}, time.Time{}, err
	}
	defer response.Body.Close() //nolint:errcheck // everything wanted was read
	if response.StatusCode != http.StatusCreated {
		return Secret{}, time.Time{}, hint(Refused(response, time.Now()))
	}
	var got struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if json.NewDecoder(io.LimitReader(response.Body, appMost)).Decode(&got) != nil || got.Token == "" || got.ExpiresAt.IsZero() {
		return Secret{}, time.Time{}, errors.New("the answer has no token (check the address of GitHub's API)")
	}
	return NewSecret(got.Token), got.ExpiresAt, nil
}

// hint returns what to read after a refusal.
func hint(r *Refusal) error {
	switch {
	case r.Code == http.StatusUnauthorized:
		return fmt.Errorf("%w (check the app's id, its private key, and this machine's clock)", r)
	case r.Code == http.StatusNotFound:
		return fmt.Errorf("%w (check the installation's id, and that the app is installed for the repository's owner)", r)
	case r.Code == http.StatusForbidden && !r.Limited:
		return fmt.Errorf("%w (check that the installation is not suspended, and that the app has the right)", r)
	}
	return r
}

// request carries a proof that we hold the key, good for minutes.
func (a *App) request(ctx context.Context, now time.Time) (*http.Request, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(a.Key.Reveal()))
	if err != nil {
		return nil, errors.New("the private key is not an RSA key in PEM")
	}
	proof, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    strconv.FormatInt(a.ID, 10),
		IssuedAt:  jwt.NewNumericDate(now.Add(-skew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(appLife)),
	}).SignedString(key)
	if err != nil {
		return nil, fmt.Errorf("sign with the private key: %w", err)
	}
	at := fmt.Sprintf("%s/app/installations/%d/access_tokens", strings.TrimRight(cmp.Or(a.URL, GitHubAPI), "/"), a.Installation)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+proof)
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	return r, nil
}

// client is HTTP without what could carry the proof elsewhere.
func (a *App) client() *http.Client {
	c := http.Client{}
	if a.HTTP != nil {
		c = *a.HTTP
	}
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

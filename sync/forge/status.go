package forge

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
)

// State is what became of a commit.
type State string

// States of a commit.
const (
	Pending State = "pending" // something is under way
	Success State = "success" // in force, and everything is as declared
	Failure State = "failure" // of the commit, or of what it meets
	Error   State = "error"   // of ours
)

// MaxDescription bounds a Description in characters: GitHub's bound, the least of all.
const MaxDescription = 140

// Status is told beside a commit, in place of the last one of the same Context.
type Status struct {
	Commit      api.Commit
	State       State
	Description string
	Context     string // who says so
	URL         string // where there is more; empty: nowhere
}

// Access is with what an API is asked, read again for each request: the way there, and a token.
type Access func(context.Context) (*http.Client, Secret, error)

// Client talks to one repository's API.
type Client struct {
	kind   Kind
	place  Place
	access Access
}

const (
	statusTimeout = 20 * time.Second
	mostError     = 64 << 10 // bytes of an answer's body
)

// NewClient checks the place and asks nobody.
func NewClient(kind Kind, target Place, access Access) (*Client, error) {
	if !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("%q is not a known forge: want one of %q", kind, Kinds())
	}
	if err := target.check(kind); err != nil {
		return nil, err
	}
	return &Client{kind, target, access}, nil
}

// Post posts a status. The errors name the commit and say what to do, and hold nothing that the server wrote; a *Refusal among them says how it
// answered.
func (c *Client) Post(ctx context.Context, s Status) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	way, token, err := c.access(ctx)
	if err == nil {
		err = c.post(ctx, way, token, s)
	}
	if err == nil {
		return nil
	}
	text := fmt.Sprintf("post status of commit %s to %s: %s", s.Commit.Short(), c.host(), reason(err))
	if !token.IsZero() {
		text = strings.ReplaceAll(text, token.Reveal(), redacted)
	}
	return &failure{text, err}
}

func (c *Client) host() string {
	u, err := url.Parse(c.place.URL)
	if err != nil {
		return string(c.kind)
	}
	return u.Host
}

func (c *Client) post(ctx context.Context, way *http.Client, token Secret, s Status) error {
	request, err := c.request(ctx, token, s)
	if err != nil {
		return errors.New("the request cannot be made")
	}
	response, err := noRedirect(way).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // everything wanted was read
	if response.StatusCode == http.StatusCreated || c.isRepeated(response) {
		return nil
	}
	return Refused(response, time.Now())
}

// noRedirect returns a client that carries a token nowhere else.
func noRedirect(c *http.Client) *http.Client {
	own := http.Client{}
	if c != nil {
		own = *c
	}
	own.Jar = nil
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// isRepeated reports whether GitLab has that very state already: it takes a repetition for a mistake.
func (c *Client) isRepeated(r *http.Response) bool {
	if c.kind != GitLab || r.StatusCode != http.StatusBadRequest {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostError))
	return err == nil && bytes.Contains(body, []byte("Cannot transition status"))
}

// request returns what the documentation of each forge says.
func (c *Client) request(ctx context.Context, token Secret, s Status) (*http.Request, error) {
	path, body, header := c.github(s)
	switch c.kind {
	case GitLab:
		path, body, header = c.gitlab(s)
	case Gitea:
		path, body, header = c.gitea(s)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.place.URL, "/")+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "linkwright")
	if !token.IsZero() {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	return r, nil
}

// failure is an error whose text is safe to show; its cause is for errors.As.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// reason puts an error into an operator's words.
func reason(err error) string {
	var (
		refusal *Refusal
		cert    *tls.CertificateVerificationError
		wrapped *url.Error
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &refusal):
		return refusal.Error() + advice(refusal)
	case errors.As(err, &cert):
		return cert.Err.Error() + " (if the certificate is right, give its CA file)"
	case strings.Contains(err.Error(), "malformed"): // it repeats what the server wrote
		return "the server does not speak HTTP (check the address)"
	case errors.As(err, &wrapped):
		return wrapped.Err.Error()
	}
	return err.Error()
}

func advice(r *Refusal) string {
	switch {
	case r.Limited:
		return ""
	case r.Code == http.StatusUnauthorized:
		return " (the token is missing or wrong)"
	case r.Code == http.StatusForbidden:
		return " (the token may not write commit statuses: see docs/how-to/git.md for the right it needs)"
	case r.Code == http.StatusNotFound:
		return " (check the project's name, and that the token may write commit statuses there)"
	case r.Code == http.StatusUnprocessableEntity:
		return " (the commit does not exist there, or has too many statuses)"
	case r.Code/100 == 2:
		return " and not 201 (check the address of the API)"
	}
	return ""
}

// permanent reports whether trying again does not help this commit.
func permanent(err error) bool {
	var r *Refusal
	if !errors.As(err, &r) || r.Limited {
		return false
	}
	switch r.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict:
		return false // a token is changed without a restart; the others pass by themselves
	}
	return r.Code < http.StatusInternalServerError
}

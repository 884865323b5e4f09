package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/crypto/ssh/knownhosts"
)

// failure is an error in words that are safe to show: its cause can be asked for by type, and is never printed.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// explain says which repository, which ref, what is wrong and what to do.
func (s *Source) explain(who credentials, rev string, err error) error {
	text := fmt.Sprintf("read %s at %s: %s", s.remote.name, cmp.Or(rev, "HEAD"), s.reason(err))
	return &failure{text: who.redact(text), cause: err}
}

// reason puts a library's error into an operator's words. Of an http error's body nothing is told: it is a page of the
// server's, or of a proxy's, and may repeat what was sent.
func (s *Source) reason(err error) string {
	var (
		wrapped *plumbing.UnexpectedError // has no Unwrap
		status  *githttp.Err
	)
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("not done within %s (is the server reachable? raise the timeout if it is slow)", s.options.Timeout)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, ErrPathGone), errors.Is(err, ErrRefGone), errors.Is(err, ErrRewound):
		return err.Error()
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return "the repository is empty (push a first commit)"
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return "no repository there that we may see (check address and credentials)" + said(err)
	case errors.Is(err, transport.ErrAuthenticationRequired):
		return "the credentials are missing or wrong (check password, token or user name)"
	case errors.Is(err, transport.ErrAuthorizationFailed):
		return "the credentials are not allowed to read it (check the token's rights)"
	case errors.As(err, &status):
		return fmt.Sprintf("the server answered %d (is it a Git server? look at its log)", status.StatusCode())
	case silent(err):
		return "what answers there does not speak Git (check the address)"
	}
	return trust(err)
}

// said is what the other end of an ssh connection wrote, where it wrote something.
func said(err error) string {
	if _, words, ok := strings.Cut(err.Error(), "the server says: "); ok {
		return ": the server says: " + words
	}
	return ""
}

func silent(err error) bool {
	var data *packp.ErrUnexpectedData
	return errors.As(err, &data) || errors.Is(err, pktline.ErrInvalidPktLen) || errors.Is(err, packp.ErrEmptyInput) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// trust explains whom we did not believe; what is left explains itself.
func trust(err error) string {
	var (
		cert *tls.CertificateVerificationError
		host *knownhosts.KeyError
	)
	switch {
	case errors.As(err, &cert):
		return cert.Err.Error() + " (name its CA file, if the certificate is right)"
	case errors.As(err, &host) && len(host.Want) == 0:
		return "the host's key is not in the known_hosts file (compare it by another way, then add it)"
	case errors.As(err, &host):
		return "the host shows another key than the known_hosts file has (somebody may be listening in)"
	}
	return err.Error()
}

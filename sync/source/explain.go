package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/linkwright/linkwright/sync/forge"
)

// maxText bounds what a server may make us say, in bytes.
const maxText = 2 << 10

// failure is an error in words that are safe to show: its cause can be asked for by type, and is never printed.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// unwrapLibrary takes off what libraries put around an error: one has no Unwrap, another an address that may hold anything.
func unwrapLibrary(err error) error {
	for {
		var (
			wrapped *plumbing.UnexpectedError
			request *url.Error
		)
		switch {
		case errors.As(err, &wrapped):
			err = wrapped.Err
		case errors.As(err, &request):
			err = request.Err
		default:
			return err
		}
	}
}

// explain returns which repository, which ref, what is wrong and what to do.
func (s *Source) explain(v *visit, rev string, err error) error {
	if err == nil {
		return nil
	}
	text := fmt.Sprintf("read %s at %s: %s", s.remote.name, cmp.Or(rev, "HEAD"), s.reason(v, err))
	return &failure{text: printable(text), cause: err}
}

// printable keeps a server's words from acting on a terminal, and from filling a log.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// reason puts a library's error into an operator's words. Of an http answer's body nothing is reported: it is a page of the server's, or of a
// proxy's, and may repeat what was sent. Secrets are taken out of what others wrote, and of nothing else.
func (s *Source) reason(v *visit, err error) string {
	var refused *forge.Refusal
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("not done within %s (check that the server is reachable; raise the timeout if it is slow)", s.options.Timeout)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case isOwnError(err):
		return err.Error()
	case errors.Is(err, ErrRefGone):
		return v.who.redactAfter(ErrRefGone.Error(), err.Error())
	case errors.Is(err, errCut):
		return v.who.redactAfter(errCut.Error(), err.Error())
	case errors.Is(err, ErrEmpty):
		return "the repository is empty (push a first commit)"
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return "no repository there that linkwright may read (check address and credentials)" + v.who.redact(serverText(err))
	case errors.As(err, &refused):
		return v.who.refusal(refused)
	case unreached(err):
		return fmt.Sprintf("no connection to %s: %s (check host and port, and whether a firewall or a proxy is between)",
			v.host(), v.who.redact(last(err).Error()))
	case sha256Names(err):
		return "the repository names its objects by SHA-256, which linkwright does not read (use one with SHA-1, Git's default)"
	case v.packing && truncated(err):
		return errCut.Error()
	case notGit(err):
		return "the server does not speak Git (check the address)"
	}
	return v.who.trust(err)
}

// isOwnError reports whether no word of an error is a server's or a library's, or that it was cleared of secrets before.
func isOwnError(err error) bool {
	var (
		keys    *keysError
		waiting *Waiting
		denied  *sshDenied
		proxy   *proxyError
	)
	for _, known := range []error{ErrPathGone, ErrNonFastForward, ErrUnknownCommit, errPage, errRedirects, errListing} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &keys) || errors.As(err, &waiting) || errors.As(err, &denied) ||
		errors.As(err, &proxy) && proxy.cause == nil
}

// unreached reports whether the server itself, and not a proxy, could not be connected to.
func unreached(err error) bool {
	var (
		proxy *proxyError
		op    *net.OpError
	)
	return !errors.As(err, &proxy) && errors.As(err, &op) && op.Op == "dial"
}

// refusal returns what a status means for a repository.
func (c credentials) refusal(r *forge.Refusal) string {
	switch {
	case r.Limited || r.Code/100 == 3:
		return r.Error()
	case r.Code == http.StatusUnauthorized && c.authorization() == "":
		return fmt.Sprintf("the server wants credentials, and linkwright has none (401: give %s, %s or a GitHub App's keys)",
			c.flags.key(KeyPassword), c.flags.key(KeyBearerToken))
	case r.Code == http.StatusUnauthorized:
		return "the credentials are missing or wrong (401: check password, token or user name; it may have expired)"
	case r.Code == http.StatusForbidden:
		return "the credentials are not allowed to read it (403: check the token's rights)"
	case r.Code == http.StatusNotFound:
		return "no repository there that linkwright may read (404: check address and credentials)"
	}
	return fmt.Sprintf("the server answered %d (check that it is a Git server, and see its log)", r.Code)
}

// serverText returns what the server wrote, or the empty string.
func serverText(err error) string {
	if m, ok := errors.AsType[*serverMessage](err); ok {
		return ": the server says: " + m.text
	}
	return ""
}

// truncated reports whether a pack ended early, or is none.
func truncated(err error) bool {
	return connectionCut(err) || errors.Is(err, transport.ErrEmptyUploadPackRequest) || notGit(err)
}

// sha256Names reports whether a listing was not understood since its hashes are longer.
func sha256Names(err error) bool {
	var data *packp.ErrUnexpectedData
	return errors.As(err, &data) && bytes.Contains(data.Data, []byte("object-format=sha256"))
}

func notGit(err error) bool {
	var data *packp.ErrUnexpectedData
	return errors.As(err, &data) || errors.Is(err, pktline.ErrInvalidPktLen) || errors.Is(err, packp.ErrEmptyInput) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// trust explains who did not believe whom; what is left explains itself.
func (c credentials) trust(err error) string {
	var (
		cert    *tls.CertificateVerificationError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		host    *knownhosts.KeyError
		revoked *knownhosts.RevokedError
		alert   *net.OpError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate is not valid now: " + c.redact(invalid.Error()) + " (renew it, or correct this machine's clock)"
	case errors.As(err, &name):
		return "the server's certificate is for another name: " + c.redact(name.Error())
	case errors.As(err, &cert):
		return "the server's certificate is not trusted: " + c.redact(cert.Err.Error()) + " (if the certificate is right, give its CA: " + c.flags.key(KeyCA) + ")"
	case errors.As(err, &host) && len(host.Want) == 0:
		return "the host's key is not in " + c.flags.key(KeyKnownHosts) + ": verify it by another way, then add it"
	case errors.As(err, &host):
		return "the host has another key than " + c.flags.key(KeyKnownHosts) + ": somebody may intercept the connection"
	case errors.As(err, &revoked):
		return "the host has a key that " + c.flags.key(KeyKnownHosts) + " revokes"
	case errors.As(err, &alert) && alert.Op == "remote error" && c.cert == nil:
		return fmt.Sprintf("the server broke the TLS handshake off: %v (if it wants a client certificate, give %s and %s)",
			alert.Err, c.flags.key(KeyCert), c.flags.key(KeyCertKey))
	case errors.As(err, &alert) && alert.Op == "remote error":
		return fmt.Sprintf("the server does not accept linkwright's client certificate: %v (check that it is valid, and of a CA that the server knows)", alert.Err)
	}
	return c.redact(err.Error())
}

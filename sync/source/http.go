package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/linkwright/linkwright/sync/forge"
)

const (
	maxHeader    = 64 << 10 // bytes of one answer's header
	maxListing   = 64 << 20 // bytes of one listing of refs: some hundred thousand
	maxPreamble  = 1 << 20  // bytes of an answer before its pack: a line for each commit that we named
	maxRedirects = 5
)

// openHTTP returns a session whose connections serve the whole visit.
func (v *dialer) openHTTP(end *transport.Endpoint) (transport.UploadPackSession, error) {
	if v.http == nil {
		v.http = v.transport()
	}
	client := &http.Client{
		Transport: &origin{next: v.http, visit: v},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errRedirects
			}
			return nil
		},
	}
	return githttp.NewClient(client).NewUploadPackSession(end, nil)
}

// transport makes connections to the repository's server and no other.
func (v *dialer) transport() *http.Transport {
	t := &http.Transport{
		DialContext:            v.proxy.dial,
		TLSClientConfig:        &tls.Config{RootCAs: v.who.ca, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    20 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           1,
		ForceAttemptHTTP2:      true,
	}
	if v.end.Protocol == "http" && v.proxy.speaksHTTP() { // a proxy may allow CONNECT for https alone
		t.DialContext, t.Proxy = v.proxy.directly, http.ProxyURL(v.proxy.url)
	}
	if v.who.cert != nil {
		t.TLSClientConfig.Certificates = []tls.Certificate{*v.who.cert}
	}
	return t
}

// otherClient returns a client for what else an organisation's servers are asked, by the same way and with the same trust, but without who we are.
// It keeps no connections.
func (s *Source) otherClient(who credentials) *http.Client {
	return &http.Client{Transport: s.hosts().Transport(s.direct(who))}
}

// direct returns the way of aside, without turns.
func (s *Source) direct(who credentials) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			p, err := proxyFor(cmp.Or(s.options.Proxy, who.proxy), &url.URL{Scheme: "https", Host: addr})
			if err != nil {
				return nil, err
			}
			return p.dial(ctx, network, addr)
		},
		TLSClientConfig:        &tls.Config{RootCAs: who.ca, MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true,
	}
}

// origin adds who we are to requests for the repository's scheme, host and port, and makes no other request: a redirect
// that leads elsewhere ends here, before anything is sent. An answer that is no success becomes an error of its status
// alone; its body may repeat what was sent, and is not read.
type origin struct {
	next  http.RoundTripper
	visit *dialer
}

// RoundTrip implements http.RoundTripper.
func (o *origin) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := o.elsewhere(q.URL); err != nil {
		return nil, err
	}
	q = q.Clone(q.Context())
	q.URL.User = nil
	q.Header.Del("Authorization")
	if evidence := o.visit.who.authorization(); evidence != "" {
		q.Header.Set("Authorization", evidence)
	}
	o.visit.packing = q.Method == http.MethodPost
	response, err := o.next.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	return o.judge(q, response)
}

// judge lets pass what Git may understand.
func (o *origin) judge(q *http.Request, r *http.Response) (*http.Response, error) {
	refused := forge.Refused(r, time.Now())
	kind := r.Header.Get("Content-Type")
	if err := o.redirect(q, r); err != nil {
		_ = r.Body.Close()
		return nil, err
	}
	switch {
	case r.StatusCode == http.StatusProxyAuthRequired:
		_ = r.Body.Close()
		return nil, &proxyError{proxy: o.visit.proxy.host(), code: r.StatusCode}
	case r.StatusCode >= http.StatusBadRequest:
		_ = r.Body.Close()
		return nil, refused
	case r.StatusCode == http.StatusOK && strings.HasPrefix(kind, "text/html"):
		_ = r.Body.Close()
		return nil, errPage
	case q.Method == http.MethodGet:
		r.Body = &bounded{ReadCloser: r.Body, left: maxListing, beyond: errListing}
	case q.Method == http.MethodPost:
		o.visit.preamble = &bounded{ReadCloser: r.Body, left: maxPreamble, beyond: errPreamble}
		r.Body = o.visit.preamble
	}
	return r, nil
}

// redirect judges where an answer leads before anybody follows or repeats it.
func (o *origin) redirect(q *http.Request, r *http.Response) error {
	to, err := r.Location()
	if r.StatusCode/100 != 3 || err != nil {
		return nil //nolint:nilerr // it leads nowhere
	}
	if err := o.elsewhere(to); err != nil {
		return err
	}
	if q.Method != http.MethodGet || !strings.HasSuffix(to.Path, "/info/refs") {
		return errPage
	}
	return nil
}

// What a server may do to linkwright over http.
var (
	errPage      = errors.New("the server returned a web page, not a Git repository (check the address: some servers want .git at its end; check the credentials: others show a page without them)")
	errRedirects = fmt.Errorf("the server redirected linkwright more than %d times (use the repository's own address)", maxRedirects)
	errListing   = fmt.Errorf("the listing of its branches and tags is larger than %d MiB", maxListing>>20)
	errPreamble  = fmt.Errorf("the server sends more than %d MiB before a commit (check that it is a Git server)", maxPreamble>>20)
)

// elsewhere names another origin by what is safe to show.
func (o *origin) elsewhere(to *url.URL) error {
	from := o.visit.end
	ours := url.URL{Scheme: from.Protocol, Host: o.visit.host()}
	if to.Scheme == ours.Scheme && authority(to) == ours.Host {
		return nil
	}
	where := to.Scheme + "://" + to.Host
	if ours.Scheme == "https" && to.Scheme == "http" {
		return &moved{where, "it redirects from https to http, which anybody on the network path can read"}
	}
	return &moved{where, "it redirects to " + where + ", where linkwright sends no credentials: use that address if it is the repository's"}
}

// moved is a redirect that was not followed.
type moved struct{ where, text string }

func (m *moved) Error() string { return m.text }

// authority is host:port, always with a port.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// bounded is what may not go on for ever.
type bounded struct {
	io.ReadCloser
	left   int64
	beyond error
}

// lift takes the bound away: what follows has one of its own.
func (b *bounded) lift() {
	if b != nil {
		b.left = math.MaxInt64
	}
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.beyond
	}
	return n, err
}

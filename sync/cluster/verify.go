package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

const (
	// tryTimeout bounds a trial as a whole.
	tryTimeout = 10 * time.Second
	// A refusal counts once it was given again and again for about two seconds: rights and accounts that were made just now
	// take a moment to reach all that a server asks.
	tryPause, tryAgain = 250 * time.Millisecond, 3
	mostTried          = 4 << 20 // bytes of one answer: it holds metadata of one object
)

const acceptTried = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Verifier tries logins.
type Verifier struct {
	UserAgent string
	// Wrap sees every request that goes out, without its credentials.
	Wrap func(api.ClusterName, http.RoundTripper) http.RoundTripper
}

// Try lists, one by one, what the reader of a kubeconfig will list, by a connection of its own: no redirect is followed, no proxy of linkwright's
// environment is used, nothing is kept. It gives what did not pass, or nil; refused says that the server would refuse other readers just so: 401,
// 403, or a certificate that does not fit. What it gives quotes no credential, and nothing the server said.
func (y Verifier) Try(ctx context.Context, t object.Login) (why *object.Reason, refused bool) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	cfg, err := ParseKubeconfig(t.Config.Bytes(), "", Trust{})
	if err != nil {
		return object.Because(reason.Invalid, "the kubeconfig cannot be used"), false
	}
	trial, err := y.connect(t.Target, cfg)
	if err != nil {
		return object.Because(reason.Invalid, "the kubeconfig cannot be used: its CA, certificate, key or server is invalid"), false
	}
	defer trial.own.CloseIdleConnections()
	return trial.rounds(ctx, t.Lists)
}

// rounds asks again after a refusal, for rights that were just given may take a moment to count. Once it was refused, nothing but a
// round that passes says otherwise, and none that did not end.
func (t *verification) rounds(ctx context.Context, lists []object.List) (*object.Reason, bool) {
	var last *object.Reason
	for round, pause := 0, tryPause; ; round, pause = round+1, 2*pause {
		why, refused := t.all(ctx, lists)
		switch {
		case why != nil && !refused && last != nil:
			return last, true
		case !refused, why.Code == reason.UntrustedCertificate, round == tryAgain:
			return why, refused
		}
		last = why
		select {
		case <-ctx.Done():
			return last, true
		case <-time.After(pause):
		}
	}
}

// verification is one connection.
type verification struct {
	own  *http.Transport
	http *http.Client
	at   *url.URL
}

func (y Verifier) connect(target api.ClusterName, cfg *rest.Config) (*verification, error) {
	cfg.UserAgent = y.UserAgent
	tc, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	tls, err := transport.TLSConfigFor(tc)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(cfg.Host)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, errors.New("the server is not an https URL")
	}
	own := &http.Transport{
		Proxy: tc.Proxy, TLSClientConfig: tls, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
	}
	wrapped, err := transport.HTTPWrappersForConfig(tc, noSwitch{own})
	if err != nil {
		return nil, err
	}
	if y.Wrap != nil {
		wrapped = y.Wrap(target, wrapped)
	}
	return &verification{own, &http.Client{Transport: wrapped, CheckRedirect: denyRedirect}, at}, nil
}

func (t *verification) all(ctx context.Context, lists []object.List) (why *object.Reason, refused bool) {
	for _, l := range lists {
		if why, refused = t.one(ctx, l); why != nil {
			return why, refused
		}
	}
	return nil, false
}

// one lists at most one object of a kind, as metadata: what is granted does not depend on that.
func (t *verification) one(ctx context.Context, l object.List) (why *object.Reason, refused bool) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, t.path(l), nil)
	if err != nil {
		return t.failed(reason.Invalid, l, "the address is invalid"), false
	}
	ask.Header.Set("Accept", acceptTried)
	answer, err := t.http.Do(ask)
	if err != nil {
		return t.lost(l, err)
	}
	defer func() { _ = answer.Body.Close() }() // what is lost is not wanted any more
	return t.judge(l, answer)
}

func (t *verification) path(l object.List) string {
	at := *t.at
	root := "/apis/" + l.Group
	if l.Group == "" {
		root = "/api"
	}
	at.Path, at.RawQuery = strings.TrimSuffix(at.Path, "/")+root+"/"+l.Version+"/"+l.Resource, "limit=1"
	return at.String()
}

func (t *verification) judge(l object.List, answer *http.Response) (why *object.Reason, refused bool) {
	switch answer.StatusCode {
	case http.StatusOK:
		var list struct {
			Kind string `json:"kind"`
		}
		if json.NewDecoder(io.LimitReader(answer.Body, mostTried)).Decode(&list) != nil || !strings.HasSuffix(list.Kind, "List") {
			return t.failed(reason.Unknown, l, "the answer is not a list: check that this is the address of an API server"), false
		}
		return nil, false
	case http.StatusNotFound:
		if l.Optional {
			return nil, false
		}
		return t.failed(reason.NotFound, l, "404 Not Found: check that this is the address of an API server"), false
	case http.StatusUnauthorized:
		return t.failed(reason.Unauthorized, l, "401 Unauthorized: the API server does not accept the credential"), true
	case http.StatusForbidden:
		return t.failed(reason.Forbidden, l, "403 Forbidden: the account of the credential may not do this"), true
	}
	return t.failed(reason.Unavailable, l, "the server answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)), false
}

// lost returns a request without an answer.
func (t *verification) lost(l object.List, err error) (why *object.Reason, refused bool) {
	switch op := (*net.OpError)(nil); {
	case isUntrusted(err):
		return t.failed(reason.UntrustedCertificate, l, "the server's certificate does not match the kubeconfig's CA, or is for another address"), true
	case errors.As(err, &op) && op.Op == "dial":
		return t.failed(reason.Unreachable, l, "%v", op), false
	case isDeadline(err):
		return t.failed(reason.Timeout, l, "no answer in time"), false
	}
	return t.failed(reason.Unreachable, l, "the connection broke"), false
}

func (t *verification) failed(code reason.Code, l object.List, format string, a ...any) *object.Reason {
	return object.Because(code, "LIST of %s at https://%s: %s", l, t.at.Host, fmt.Sprintf(format, a...))
}

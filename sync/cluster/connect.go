package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/linkwright/linkwright/object"
)

// dialTimeout is short: a cluster that does not even accept a connection is down.
const dialTimeout = 5 * time.Second

// connecting bounds a connection and its TLS handshake: dialTimeout, and more if a request may take longer than it does by default, so that
// a longer timeout also helps a server that is slow at the handshake.
func (o Options) connecting() time.Duration {
	return min(o.Timeout, max(dialTimeout, o.Timeout-(defaultTimeout-dialTimeout)))
}

// A connection on which nothing comes for pingAfter is asked for a sign of life, and given up after another pingWait.
const (
	pingAfter = 8 * time.Second
	pingWait  = 5 * time.Second
)

// connect makes a client that has a transport of its own: client-go's shared ones are never given
// back, and a fleet changes. Nothing is dialled.
func connect(cfg *rest.Config, o Options) (*Client, error) {
	o = o.withDefaults()
	cfg = harden(cfg, o)
	own, client, err := dialler(cfg, o)
	if err != nil {
		return nil, err
	}
	r, err := rest.RESTClientForConfigAndClient(cfg, &http.Client{
		Transport: bounded{client.Transport}, Timeout: client.Timeout, CheckRedirect: denyRedirect,
	})
	if err != nil {
		return nil, err
	}
	streams := &http.Client{Transport: client.Transport, CheckRedirect: denyRedirect}
	c := &conn{
		rest: r, direct: newDirect(cfg, r.Get().URL(), streams), streams: streams, http: own,
		server: cfg.Host, user: userOf(cfg), owner: o.Owner, by: object.Installation{Owner: o.Owner, Namespace: o.Namespace}, timeout: o.Timeout, writeSlots: make(chan struct{}, inFlight),
	}
	read, feeds := &reader{&mapper{conn: c}}, newFeeds(o.notify)
	c.breaker.opened, c.breaker.lastNotified = make(chan struct{}, 1), feeds.resynced
	return &Client{watcher: &watcher{reader: read, feeds: feeds}, writer: &writer{reader: read}}, nil
}

// denyRedirect follows no redirect: a cluster may not have us ask other addresses of this network. No API server redirects what we ask.
func denyRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// harden: no client-side rate limit (the server's priority and fairness rules), JSON unless a
// request asks for more, warnings dropped since a library does not log.
func harden(cfg *rest.Config, o Options) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	cfg.Timeout, cfg.UserAgent = o.Timeout, o.UserAgent
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	cfg.APIPath = "/"
	cfg.ContentConfig = rest.ContentConfig{
		ContentType:          runtime.ContentTypeJSON,
		GroupVersion:         &schema.GroupVersion{},
		NegotiatedSerializer: metascheme.Codecs.WithoutConversion(),
	}
	return cfg
}

// dialler returns the connections themselves, and the client that adds credentials and the caller's wrapper, which stands before them and so never
// sees any.
func dialler(cfg *rest.Config, o Options) (*http.Transport, *http.Client, error) {
	tc, err := cfg.TransportConfig()
	if err != nil {
		return nil, nil, err
	}
	tls, err := transport.TLSConfigFor(tc)
	if err != nil {
		return nil, nil, err
	}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: o.connecting(), KeepAlive: 30 * time.Second}).DialContext
	}
	own := utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               tc.Proxy,
		DialContext:         dial,
		TLSClientConfig:     tls,
		TLSHandshakeTimeout: o.connecting(),
		MaxIdleConnsPerHost: atOnce,
		DisableCompression:  cfg.DisableCompression,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWait},
	})
	wrapped, err := transport.HTTPWrappersForConfig(tc, noSwitch{own})
	if err != nil {
		return nil, nil, err
	}
	if o.Wrap != nil {
		wrapped = o.Wrap(o.name, wrapped)
	}
	return own, &http.Client{Transport: retryable{wrapped}, Timeout: o.Timeout}, nil
}

// noSwitch refuses an answer that makes a connection something else, for which nobody asks: its body would have no end, and
// none that a context could bring about.
type noSwitch struct{ next http.RoundTripper }

var errSwitched = errors.New("the answer is not HTTP any more: check that this is the address of an API server")

// RoundTrip implements http.RoundTripper.
func (n noSwitch) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := n.next.RoundTrip(q)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(errSwitched, answer.Body.Close())
	}
	return answer, err
}

// mostAnswer bounds an answer that client-go reads whole: a page of a list holds at most 500 objects.
const mostAnswer = 64 << 20

var errTooLong = fmt.Errorf("the server answers one request with more than %d MiB: check that this is the address of an API server", mostAnswer>>20)

// bounded ends answers that have no end, for who reads them whole. A watch does not, and has bounds of its own.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(q)
	if err == nil {
		answer.Body = &readLimit{answer.Body, mostAnswer, errTooLong}
	}
	return answer, err
}

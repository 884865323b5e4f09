package faultproxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// upstream is the server behind the proxy, over connections of its own.
type upstream struct {
	bare *http.Transport   // adds nothing
	own  http.RoundTripper // adds the credentials of the config

	mu    sync.Mutex
	conns []net.Conn
}

func newUpstream(to *rest.Config) (*upstream, error) {
	tc, err := to.TransportConfig()
	if err != nil {
		return nil, err
	}
	tc.UserAgent = "" // that of the client counts
	u := &upstream{}
	if u.bare, err = u.transport(rest.AnonymousClientConfig(to)); err != nil {
		return nil, err
	}
	with, err := u.transport(to)
	if err != nil {
		return nil, err
	}
	u.own, err = transport.HTTPWrappersForConfig(tc, with)
	return u, err
}

// transport leaves answers as they are, compressed or not.
func (u *upstream) transport(to *rest.Config) (*http.Transport, error) {
	tls, err := rest.TLSConfigFor(to)
	if err != nil {
		return nil, err
	}
	return &http.Transport{DialContext: u.dial, TLSClientConfig: tls, ForceAttemptHTTP2: true, DisableCompression: true}, nil
}

// dial keeps the connection, since a transport gives up only those that are idle.
func (u *upstream) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.conns = append(u.conns, conn)
	return conn, nil
}

func (u *upstream) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	errs := make([]error, len(u.conns))
	for i, conn := range u.conns {
		if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
			errs[i] = err
		}
	}
	u.conns = nil
	return errors.Join(errs...)
}

// RoundTrip sends a request with the credentials that it should have.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if exchangeOf(r).own {
		return u.own.RoundTrip(r)
	}
	return u.bare.RoundTrip(r)
}

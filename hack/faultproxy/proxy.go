// Package faultproxy stands in front of a real API server and does wrong what it is told to: see package fault for the
// words. What no rule strikes passes unchanged, byte by byte, watches as they come.
//
// TLS ends here. A request keeps the bearer token that it brings, and nothing is added to it; the token of Config, which
// is known to the proxy alone, stands for the credentials of the upstream's config, whatever these are (a client
// certificate, say). Client certificates are not asked for: whoever has one acts through Config, or by impersonation.
package faultproxy

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/fault"
)

// Proxy listens on loopback until it is closed.
type Proxy struct {
	address string
	ca      []byte // PEM
	token   string // stands for the upstream's own credentials
	server  *http.Server
	up      *upstream
	target  *url.URL
	forward *httputil.ReverseProxy
	running sync.WaitGroup // the server, its connections, and requests

	mu     sync.Mutex
	rules  fault.Rules
	log    []*Request
	closed bool
}

// Request is one that reached the proxy.
type Request struct {
	fault.Request
	// Index counts from 1 in the order of arrival, since Set was called last: a rule that matches anything with Nth of that
	// index strikes it when everything is done again.
	Index int
	// Fault that struck it, or Pass.
	Fault fault.Kind
	// Status that the client was sent; zero while there is none, or for ever.
	Status int
	// Committed says that the server has done what changes something, whatever the client heard of it.
	Committed bool
}

// New starts a proxy in front of a server, of which it needs the address, the CA and the credentials.
func New(to *rest.Config) (*Proxy, error) {
	p, err := newProxy(to)
	if err != nil {
		return nil, fmt.Errorf("start fault proxy: %w", err)
	}
	return p, nil
}

func newProxy(to *rest.Config) (*Proxy, error) {
	target, _, err := rest.DefaultServerURL(to.Host, "", schema.GroupVersion{}, true)
	if err != nil {
		return nil, err
	}
	up, err := newUpstream(to)
	if err != nil {
		return nil, err
	}
	pair, ca, err := certificate()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{address: "https://" + listener.Addr().String(), ca: ca, token: rand.Text(), up: up, target: target}
	silent := log.New(io.Discard, "", 0) // clients that leave are what this is for
	p.forward = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: up, ModifyResponse: readResponse, ErrorHandler: noResponse, FlushInterval: -1, ErrorLog: silent,
	}
	p.server = &http.Server{Handler: p, TLSConfig: pair, ErrorLog: silent, ConnContext: withConn, ConnState: p.count}
	p.running.Go(func() { _ = p.server.ServeTLS(listener, "", "") })
	return p, nil
}

// count keeps Close waiting for every connection.
func (p *Proxy) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.running.Done()
	}
}

// Config is that of a client which goes through the proxy with the credentials of its upstream, without client-side rate
// limit. With another BearerToken it is somebody else.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.address, BearerToken: p.token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: slices.Clone(p.ca)}}
}

// Kubeconfig is Config as a file with everything inline; a token other than "" makes it somebody else's.
func (p *Proxy) Kubeconfig(token string) ([]byte, error) {
	if token == "" {
		token = p.token
	}
	c := clientcmdapi.NewConfig()
	c.Clusters["proxy"] = &clientcmdapi.Cluster{Server: p.address, CertificateAuthorityData: p.ca}
	c.AuthInfos["proxy"] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy", AuthInfo: "proxy"}
	c.CurrentContext = "proxy"
	return clientcmd.Write(*c)
}

// Set replaces all rules; requests are counted anew, and the log begins anew.
func (p *Proxy) Set(rules ...fault.Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = nil
	p.rules.Set(rules...)
}

// Log returns what was asked since Set was called last, in the order of arrival.
func (p *Proxy) Log() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Request, len(p.log))
	for i, r := range p.log {
		out[i] = *r
	}
	return out
}

// arrive numbers a request, which is running from then on, and says what is to become of it; nil: the proxy is closed.
func (p *Proxy) arrive(q fault.Request) (*Request, fault.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.Fault{}
	}
	p.running.Add(1)
	f := p.rules.Strike(q)
	r := &Request{Request: q, Index: len(p.log) + 1, Fault: f.Kind}
	p.log = append(p.log, r)
	return r, f
}

// note writes down how a request was answered.
func (p *Proxy) note(r *Request, change func(*Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(r)
}

// Close ends every connection, and returns when none is left and nothing of the proxy runs. Closing twice is fine.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.server.Close()
	err = errors.Join(err, p.up.close())
	// A connection that was being accepted may have missed the first.
	err = errors.Join(err, p.server.Close())
	p.running.Wait()
	return err
}

package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	socks "golang.org/x/net/proxy"
)

// proxy is what stands between us and a server; its zero value is nothing.
type proxy struct{ url *url.URL }

// proxyFor returns the proxy that is named or, where none is, the environment's for http and https.
func proxyFor(named string, target *url.URL) (proxy, error) {
	if named == "" {
		if target.Scheme != "http" && target.Scheme != "https" {
			return proxy{}, nil
		}
		u, err := http.ProxyFromEnvironment(&http.Request{URL: target})
		if err != nil || u == nil {
			return proxy{}, ignoreText(err, "the environment's proxy is not an address: check HTTPS_PROXY and HTTP_PROXY")
		}
		return checkProxy(u)
	}
	u, err := url.Parse(named)
	if err != nil {
		return proxy{}, errors.New("the proxy is not an address: want http://host:port, https://host:port or socks5://host:port")
	}
	return checkProxy(u)
}

// ignoreText keeps an error's presence and replaces what it says, which may hold a password.
func ignoreText(err error, text string) error {
	if err == nil {
		return nil
	}
	return errors.New(text)
}

func checkProxy(u *url.URL) (proxy, error) {
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		if u.Hostname() != "" {
			return proxy{u}, nil
		}
	}
	return proxy{}, errors.New("the proxy is not an address: want http://host:port, https://host:port or socks5://host:port")
}

// speaksHTTP reports whether it takes whole requests of plain http.
func (p proxy) speaksHTTP() bool {
	return p.url != nil && (p.url.Scheme == "http" || p.url.Scheme == "https")
}

// host is host:port of the proxy, without its credentials.
func (p proxy) host() string {
	if p.url == nil {
		return ""
	}
	port := map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	return net.JoinHostPort(p.url.Hostname(), cmp.Or(p.url.Port(), port, "1080"))
}

// hidden returns the proxy's credentials, as they must not be shown.
func (p proxy) hidden() []string {
	if p.url == nil || p.url.User == nil {
		return nil
	}
	password, _ := p.url.User.Password()
	return []string{password, pair(p.url.User.Username(), password)}
}

// proxyError is what went wrong between us and the proxy, or between the proxy and the server.
type proxyError struct {
	proxy, to string
	code      int   // what it answered
	cause     error // why it could not be reached
}

// Error returns what to do about it.
func (e *proxyError) Error() string {
	switch {
	case e.code == http.StatusProxyAuthRequired:
		return fmt.Sprintf("the proxy %s wants other credentials (write them into its address: http://user:password@host:port)", e.proxy)
	case e.code != 0:
		return fmt.Sprintf("the proxy %s answered %d to a request for %s (check that it allows that address)", e.proxy, e.code, e.to)
	case e.to != "":
		return fmt.Sprintf("the proxy %s does not connect linkwright to %s: %v", e.proxy, e.to, e.cause)
	}
	return fmt.Sprintf("the proxy %s cannot be reached: %v", e.proxy, e.cause)
}

func (e *proxyError) Unwrap() error { return e.cause }

// dial connects to an address, through the proxy where there is one.
func (p proxy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	switch {
	case p.url == nil:
		return new(net.Dialer).DialContext(ctx, network, addr)
	case p.speaksHTTP():
		return p.connect(ctx, network, addr)
	}
	return p.socks(ctx, network, addr)
}

// directly connects to the proxy itself.
func (p proxy) directly(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, &proxyError{proxy: addr, cause: err}
	}
	return conn, nil
}

// Dial implements socks.Dialer; DialContext is used.
func (p proxy) Dial(network, addr string) (net.Conn, error) {
	return p.DialContext(context.Background(), network, addr)
}

// DialContext implements socks.ContextDialer.
func (p proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return p.directly(ctx, network, addr)
}

func (p proxy) socks(ctx context.Context, network, addr string) (net.Conn, error) {
	var who *socks.Auth
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		who = &socks.Auth{User: u.Username(), Password: password}
	}
	dialer, err := socks.SOCKS5("tcp", p.host(), who, p)
	if err != nil {
		return nil, &proxyError{proxy: p.host(), cause: err}
	}
	conn, err := dialer.(socks.ContextDialer).DialContext(ctx, network, addr)
	var reported *proxyError
	if err != nil && !errors.As(err, &reported) {
		return nil, &proxyError{proxy: p.host(), to: addr, cause: last(err)}
	}
	if err != nil {
		return nil, reported
	}
	return conn, nil
}

// last returns what an operation of the net package failed of.
func last(err error) error {
	if op := new(net.OpError); errors.As(err, &op) {
		return op.Err
	}
	return err
}

// connect asks an http proxy for a connection.
func (p proxy) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := p.directly(ctx, network, p.host())
	if err != nil {
		return nil, err
	}
	if p.url.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: p.url.Hostname(), MinVersion: tls.VersionTLS12})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = p.ask(conn, addr)
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// ask makes the request and reads the answer's header, and not a byte more: what follows is the server's.
func (p proxy) ask(conn net.Conn, addr string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return &proxyError{proxy: p.host(), cause: last(err)}
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")) && len(head) < maxHeader; {
		if _, err := conn.Read(one); err != nil {
			return &proxyError{proxy: p.host(), to: addr, cause: last(err)}
		}
		head = append(head, one[0])
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), request)
	if err != nil {
		return &proxyError{proxy: p.host(), to: addr, cause: errors.New("it does not speak http")}
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return &proxyError{proxy: p.host(), to: addr, code: response.StatusCode}
	}
	return nil
}

package source_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// listen serves connections, each by itself, until the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			group.Go(func() { defer c.Close(); serve(c) }) //nolint:errcheck // the test is over
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	return l.Addr().String()
}

// between copies both ways until one side ends.
func between(a net.Conn, fromA io.Reader, addr string) {
	b, err := net.Dial("tcp", addr) //nolint:noctx // it ends with a
	if err != nil {
		return
	}
	var group sync.WaitGroup
	group.Go(func() { _, _ = io.Copy(b, fromA); _ = b.Close() })
	_, _ = io.Copy(a, b)
	_ = a.Close()
	group.Wait()
}

// connectProxy takes CONNECT, and whole requests, with a password; seen counts what it let through.
func connectProxy(t *testing.T, seen *atomic.Int32) string {
	t.Helper()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+sharp))
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		q, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if q.Header.Get("Proxy-Authorization") != want {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 407 %s\r\nContent-Length: 0\r\n\r\n", canary)
			return
		}
		if q.Method != http.MethodConnect {
			seen.Add(1)
			q.RequestURI = ""
			q.Header.Del("Proxy-Authorization")
			r, err := http.DefaultTransport.RoundTrip(q)
			if err == nil {
				r.Close = true
				_ = r.Write(c)
				_ = r.Body.Close()
			}
			http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			return
		}
		if _, port, _ := net.SplitHostPort(q.Host); port == "1" {
			_, _ = fmt.Fprint(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
			return
		}
		seen.Add(1)
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 Connected\r\n\r\n")
		between(c, in, q.Host)
	})
}

// socksProxy is RFC 1928 with RFC 1929's password.
func socksProxy(t *testing.T, seen *atomic.Int32) string {
	t.Helper()
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		part := func() []byte {
			n, _ := in.ReadByte()
			b := make([]byte, n)
			_, _ = io.ReadFull(in, b)
			return b
		}
		_, _ = in.Discard(1)
		_ = part() // methods
		_, _ = c.Write([]byte{5, 2})
		_, _ = in.Discard(1)
		user, password := string(part()), string(part())
		if user != "me" || password != sharp {
			_, _ = c.Write([]byte{1, 1})
			return
		}
		_, _ = c.Write([]byte{1, 0})
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		host := ""
		if head[3] == 1 {
			ip := make([]byte, 4)
			_, _ = io.ReadFull(in, ip)
			host = net.IP(ip).String()
		} else {
			host = string(part())
		}
		port := make([]byte, 2)
		_, _ = io.ReadFull(in, port)
		seen.Add(1)
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		between(c, in, net.JoinHostPort(host, fmt.Sprint(binary.BigEndian.Uint16(port))))
	})
}

func TestPollThroughAProxy(t *testing.T) {
	r := newRepo(t)
	k := keys(t)
	srv := serve(t, r, basic("git", sharp))
	plain := serveHTTP(t, backend(r))
	at := sshd(t, k)
	k.knows(t, at, "host")
	repos := map[string]source.Options{
		"https": {Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca, "password", sharp)},
		"http":  {Repo: plain + "/fleet.git"},
		"ssh":   {Repo: "ssh://" + me(t) + "@" + at + r.bare, Keys: k.keys(t)},
		"git":   {Repo: "git://" + daemon(t, r) + "/fleet.git"},
	}
	for scheme, start := range map[string]func(*testing.T, *atomic.Int32) string{"http": connectProxy, "socks5": socksProxy} {
		var seen atomic.Int32
		addr := start(t, &seen)
		for name, o := range repos {
			t.Run(name+" by "+scheme, func(t *testing.T) {
				seen.Store(0)
				o.Proxy = scheme + "://" + url.UserPassword("me", sharp).String() + "@" + addr
				s := open(t, o)
				poll(t, s)
				if seen.Load() == 0 {
					t.Error("the proxy was passed by")
				}
				hidden(t, o, s)
				seen.Store(0)
				byKey, keys := o, o.Keys // the key proxy counts where the options name none
				byKey.Proxy, byKey.Keys = "", func(ctx context.Context) (source.Keys, error) {
					out, err := source.Keys{}, error(nil)
					if keys != nil {
						out, err = keys(ctx)
					}
					out = maps.Clone(out)
					out["proxy"] = []byte(o.Proxy + "\n")
					return out, err
				}
				poll(t, open(t, byKey))
				if seen.Load() == 0 {
					t.Error("the proxy of the keys was passed by")
				}
				o.Proxy = scheme + "://" + url.UserPassword("you", sharp).String() + "@" + addr
				_, err := open(t, o).Poll(t.Context())
				refuse(t, err, "the proxy "+addr)
				hidden(t, err)
				if scheme == "http" {
					refuse(t, err, "wants other credentials")
				}
				o.Proxy = scheme + "://" + url.UserPassword("me", sharp).String() + "@127.0.0.1:1"
				_, err = open(t, o).Poll(t.Context())
				refuse(t, err, "the proxy 127.0.0.1:1 cannot be reached", "refused")
				hidden(t, err)
			})
		}
	}
}

func TestPollThroughAProxyThatRefuses(t *testing.T) {
	var seen atomic.Int32
	addr := connectProxy(t, &seen)
	o := source.Options{Repo: "https://127.0.0.1:1/x.git", Proxy: "http://" + url.UserPassword("me", sharp).String() + "@" + addr}
	_, err := open(t, o).Poll(t.Context())
	refuse(t, err, "the proxy "+addr+" answered 403 to a request for 127.0.0.1:1")
	hidden(t, err)
	for _, address := range []string{"proxy:3128", "ftp://proxy", "http://" + canary + "\x7f@proxy", "socks5://"} {
		o.Proxy = address
		_, err := source.New(o)
		refuse(t, err, "the proxy is not an address")
		hidden(t, err)
	}
}

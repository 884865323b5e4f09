package faultproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/linkwright/linkwright/hack/fault"
)

// exchange is one request on its way.
type exchange struct {
	proxy   *Proxy
	request *Request
	fault   fault.Fault
	conn    net.Conn // of the client
	own     bool     // it goes on with the upstream's credentials
}

type (
	connKey     struct{}
	exchangeKey struct{}
)

// withConn gives requests the connection below TLS.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// ServeHTTP lets one request happen, as far as it should.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, f := p.arrive(fault.Of(r.Method, r.URL))
	if asked == nil {
		panic(http.ErrAbortHandler)
	}
	defer p.running.Done()
	x := &exchange{proxy: p, request: asked, fault: f, conn: r.Context().Value(connKey{}).(net.Conn)}
	x.own = r.Header.Get("Authorization") == "Bearer "+p.token
	if !pause(r.Context().Done(), f.Delay) {
		panic(http.ErrAbortHandler)
	}
	if f.Before != nil {
		f.Before(asked.Request)
	}
	if f.Kind == fault.ResetBefore {
		x.reset()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch f.Kind {
	case fault.Refuse:
		x.refuse(w)
	case fault.Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	default:
		p.forward.ServeHTTP(w, x.withBody(r, body))
	}
}

// withBody is a request with all of its body there. Passed on while it is sent, one that is refused by its headers could hang:
// its client stops in the middle of the body and waits for the end of the answer, and ReverseProxy, before it ends the
// answer, for that of the body.
func (x *exchange) withBody(r *http.Request, body []byte) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	return r
}

// pause is false when the client is gone first.
func pause(gone <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
		return false
	}
}

// refuse answers in the server's stead.
func (x *exchange) refuse(w http.ResponseWriter) {
	body := x.refusal(w.Header())
	w.WriteHeader(x.fault.Code)
	_, _ = w.Write(body)
}

// refusal is the body of an answer with the fault's code; its headers are added.
func (x *exchange) refusal(header http.Header) []byte {
	x.proxy.note(x.request, func(r *Request) { r.Status = x.fault.Code })
	header.Set("Cache-Control", "no-cache, private")
	if x.fault.Code == http.StatusNotFound && x.request.Name == "" {
		header.Set("Content-Type", "text/plain; charset=utf-8") // so does a server that does not serve the kind
		return []byte("404 page not found\n")
	}
	status := x.fault.Refusal(x.request.Request).ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	header.Set("Content-Type", "application/json")
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status can always be encoded
	}
	return append(body, '\n')
}

// reset ends the connection so that the client's kernel says so, and the request with it.
func (x *exchange) reset() {
	if tcp, ok := x.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = x.conn.Close()
	panic(http.ErrAbortHandler)
}

// rewrite makes the request that goes on. Where its answer will be changed, it is one that can be read.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In)
	r.SetURL(p.target)
	if x.own {
		r.Out.Header.Del("Authorization")
	}
	if k := x.fault.Kind; k == fault.Forget || k == fault.Expire {
		r.Out.Header.Del("Accept-Encoding")
		accept := r.Out.Header.Get("Accept")
		r.Out.Header.Set("Accept", strings.ReplaceAll(accept, "application/vnd.kubernetes.protobuf", "application/json"))
	}
}

var errReset = errors.New("the connection is to be reset")

// readResponse has an answer of the server, and says what the client gets of it.
func readResponse(answer *http.Response) error {
	x := exchangeOf(answer.Request)
	done := answer.StatusCode/100 == 2
	x.proxy.note(x.request, func(r *Request) { r.Committed = done && r.Writes() })
	if x.fault.After != nil {
		x.fault.After(x.request.Request)
	}
	if x.fault.Kind == fault.ResetAfter {
		return errReset
	}
	x.proxy.note(x.request, func(r *Request) { r.Status = answer.StatusCode })
	if x.fault.Kind == fault.Fail {
		return x.fail(answer)
	}
	if done {
		return x.cutResponse(answer)
	}
	return nil
}

// noResponse: what the server does not answer ends as its connection did. A client that left is none the wiser.
func noResponse(_ http.ResponseWriter, r *http.Request, _ error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	exchangeOf(r).reset()
}

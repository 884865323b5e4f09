package source

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/linkwright/linkwright/sync/forge"
)

// After a failure a host is left alone for leastWait, after each further one for twice as long, up to mostWait; a host that
// says how long is believed up to forge.MaxWait.
const (
	leastWait = time.Second
	mostWait  = 5 * time.Minute
)

// Hosts lets all that visit a host, which is a name and a port, take turns, and leaves one alone for a while after it
// failed: by the network, a timeout, 429 or 5xx, but not by an answer about us, such as 401 or 404. It is ready to use when
// zero, is to be shared by all that may visit the same hosts, and must not be copied.
type Hosts struct {
	mu sync.Mutex
	at map[string]*host
}

// host is one of them. Who holds the turn may use the rest.
type host struct {
	slot     chan struct{}
	failures int
	until    time.Time // not before then
	why      string    // the last failure
}

// Waiting says that a host failed and was not asked again yet.
type Waiting struct {
	Until time.Time
	why   string
}

// Error returns the last failure, and when the next try is.
func (w *Waiting) Error() string {
	return w.why + w.Fleeting()
}

// Fleeting returns what of the text differs from one try to the next, though the cause is the same.
func (w *Waiting) Fleeting() string {
	return "; linkwright tries again at " + w.Until.UTC().Format("15:04:05 UTC")
}

func (h *Hosts) find(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil {
		h.at = map[string]*host{}
	}
	if h.at[name] == nil {
		h.at[name] = &host{slot: make(chan struct{}, 1)}
	}
	return h.at[name]
}

// acquire waits for a turn at a host. An error means that there is none, because ctx ended or because the host is left alone.
func (h *Hosts) acquire(ctx context.Context, name string) (*host, error) {
	at := h.find(name)
	select {
	case at.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if time.Now().Before(at.until) {
		err := &Waiting{Until: at.until, why: at.why}
		<-at.slot
		return nil, err
	}
	return at, nil
}

// release ends a turn, with the host's failure if it was one, and what to tell of it.
func (at *host) release(failure error, why string) {
	defer func() { <-at.slot }()
	least, failed := failureOf(failure)
	if !failed {
		at.failures, at.until, at.why = 0, time.Time{}, ""
		return
	}
	at.failures++
	at.until, at.why = time.Now().Add(max(backOff(at.failures), least)), why
}

// backOff returns the pause after so many failures in a row, shortened by up to a quarter, so that many who saw the same failure do not come back
// together.
func backOff(failures int) time.Duration {
	d := mostWait
	if failures < 10 {
		d = min(leastWait<<(failures-1), mostWait)
	}
	return d - rand.N(d/4)
}

// failureOf says whether an error is the host's failure, and how long it wants to be left alone.
func failureOf(err error) (least time.Duration, failed bool) {
	var (
		keys    *keysError
		refused *forge.Refusal
		proxy   *proxyError
		op      *net.OpError
		dns     *net.DNSError
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.As(err, &keys):
		return 0, false
	case errors.As(err, &refused):
		return refused.Wait, refused.Limited || refused.Code >= http.StatusInternalServerError
	case errors.As(err, &proxy):
		return 0, proxy.code == 0 || proxy.code >= http.StatusInternalServerError
	case errors.As(err, &op):
		return 0, op.Op != "remote error" // an alert of TLS: about us, or about whom we believe
	}
	return 0, errors.As(err, &dns) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errCut) || connectionCut(err)
}

// connectionCut reports whether a connection ended where more was to come.
func connectionCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "stream error") || strings.Contains(err.Error(), "server closed idle connection")
}

// Transport lets the requests of an http client take turns with all other visits, and fail at once with a *Waiting while
// their host is left alone. A turn ends when the answer's body is closed.
func (h *Hosts) Transport(next http.RoundTripper) http.RoundTripper {
	return &limitedTransport{h, next}
}

type limitedTransport struct {
	hosts *Hosts
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p *limitedTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	at, err := p.hosts.acquire(q.Context(), authority(q.URL))
	if err != nil {
		return nil, err
	}
	r, err := p.next.RoundTrip(q)
	if err != nil {
		at.release(err, unwrapLibrary(err).Error())
		return nil, err
	}
	refused := forge.Refused(r, time.Now())
	done := sync.OnceFunc(func() { at.release(refused, refused.Error()) })
	r.Body = &closing{r.Body, done}
	return r, nil
}

// closing calls done when it is closed.
type closing struct {
	io.ReadCloser
	done func()
}

func (c *closing) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

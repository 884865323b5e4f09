package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// patchRequest is a PATCH as it goes out.
type patchRequest struct {
	kind types.PatchType
	path []string
	by   string // the field manager
	body []byte
}

// direct sends PATCHes without a request of client-go, which takes as long to make and to read as to send. Only the usual
// answer is read here: every other one is client-go's to understand, as if it had asked.
type direct struct {
	http   *http.Client
	at     url.URL // of the server
	agent  string
	within time.Duration // the server may take
	form   rest.ClientContentConfig
}

func newDirect(cfg *rest.Config, at *url.URL, client *http.Client) *direct {
	return &direct{http: client, at: *at, agent: cfg.UserAgent, within: cfg.Timeout, form: rest.ClientContentConfig{
		ContentType: cfg.ContentType, GroupVersion: *cfg.GroupVersion,
		Negotiator: runtime.NewClientNegotiator(cfg.NegotiatedSerializer, *cfg.GroupVersion),
	}}
}

// send sends one, and gives the metadata that is answered; nil: the answer says otherwise, or something else.
func (d *direct) send(ctx context.Context, p patchRequest) (*metav1.ObjectMeta, rest.Result) {
	answer, err := d.ask(ctx, p)
	if err != nil {
		return nil, d.read(ctx, p, nil, err)
	}
	raw, err := all(answer)
	if err == nil && isProtobufSuccess(answer) {
		if m := metaIn(raw); m != nil {
			return &m.ObjectMeta, rest.Result{}
		}
	}
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(raw), cutOff{err}))
	return nil, d.read(ctx, p, answer, nil)
}

// isProtobufSuccess reports whether an answer is a success in protobuf.
func isProtobufSuccess(answer *http.Response) bool {
	form, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return (answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusCreated) && form == runtime.ContentTypeProtobuf
}

func (d *direct) ask(ctx context.Context, p patchRequest) (*http.Response, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPatch, d.at.Scheme+"://"+d.at.Host, bytes.NewReader(p.body))
	if err != nil {
		return nil, err
	}
	at := d.at
	at.Path, at.RawQuery = strings.TrimSuffix(at.Path, "/")+"/"+strings.Join(p.path, "/"), p.query()+"&timeout="+d.within.String()
	ask.URL = &at
	ask.Header = http.Header{"Accept": {acceptMeta}, "Content-Type": {string(p.kind)}, "User-Agent": {d.agent}}
	return d.http.Do(ask)
}

// request returns the same PATCH as one of client-go.
func (p patchRequest) request(by rest.Interface) *rest.Request {
	return p.fill(by.Verb(http.MethodPatch))
}

func (p patchRequest) fill(req *rest.Request) *rest.Request {
	req = setPath(req, p.path).SetHeader("Content-Type", string(p.kind)).Param("fieldManager", p.by).Body(p.body)
	if p.kind == types.ApplyPatchType {
		req.Param("force", "true")
	}
	return req
}

// query returns that of request, without the time that it may take.
func (p patchRequest) query() string {
	out := "fieldManager=" + url.QueryEscape(p.by)
	if p.kind == types.ApplyPatchType {
		out += "&force=true"
	}
	return out
}

// atFirst is as much room for an answer as is made for what its header says alone.
const atFirst = 64 << 10

// all reads an answer to its end, so that the connection serves the next request, and closes it.
func all(answer *http.Response) ([]byte, error) {
	var raw bytes.Buffer
	raw.Grow(int(min(max(answer.ContentLength, 0), atFirst)) + bytes.MinRead) // what MinRead leaves free tells the end
	_, err := raw.ReadFrom(&readLimit{answer.Body, mostFrame, errTooMuch})
	_ = answer.Body.Close() // what is lost is not wanted any more
	return raw.Bytes(), err
}

// read has client-go read an answer, or the error instead of one: as if it had asked. It sends the PATCH again if the answer asks
// for that.
func (d *direct) read(ctx context.Context, p patchRequest, answer *http.Response, err error) rest.Result {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx) // it is read nevertheless
	}
	first := &answeredTransport{answer: answer, err: err, next: bounded{d.http.Transport}}
	req := rest.NewRequestWithClient(&d.at, "", d.form, &http.Client{Transport: first, CheckRedirect: denyRedirect})
	return p.fill(req.Verb(http.MethodPatch)).SetHeader("Accept", acceptMeta).
		WarningHandlerWithContext(rest.NoWarnings{}).Timeout(d.within).Do(ctx)
}

// answeredTransport is a transport that has an answer to the first request already.
type answeredTransport struct {
	answer *http.Response
	err    error
	over   bool // the first was asked for
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h *answeredTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if h.over {
		return h.next.RoundTrip(q)
	}
	h.over = true
	if sent := (*url.Error)(nil); errors.As(h.err, &sent) {
		return nil, sent.Err // who asks says of what it is
	}
	return h.answer, h.err
}

// cutOff ends what is read by an error; nil: by none.
type cutOff struct{ err error }

func (b cutOff) Read([]byte) (int, error) {
	if b.err == nil {
		return 0, io.EOF
	}
	return 0, b.err
}

// metaIn decodes metadata in the form in which API servers tell it; nil: it is something else, or in another form.
func metaIn(raw []byte) *metav1.PartialObjectMetadata {
	const protobuf = "k8s\x00"
	if !bytes.HasPrefix(raw, []byte(protobuf)) {
		return nil
	}
	var around runtime.Unknown
	if around.Unmarshal(raw[len(protobuf):]) != nil || around.GroupVersionKind() != metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata") {
		return nil
	}
	var m metav1.PartialObjectMetadata
	if m.Unmarshal(around.Raw) != nil {
		return nil
	}
	return &m
}

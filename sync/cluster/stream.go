package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	exactly "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/linkwright/linkwright/object"
)

// watchFor is how long a watch is asked for. The server ends it then, and the next begins where it ended.
const watchFor = 8 * time.Minute

// stream is a watch that the server answered.
type stream struct {
	conn   *conn
	as     reading
	begun  time.Time
	body   *readLimit
	frames io.Reader
	codec  runtime.Decoder // of a frame; nil: it is plain JSON
	cancel context.CancelCauseFunc
	head   [64]byte // of the next frame
}

// event is one step of a watch: at is the resourceVersion that is reached by it. A bookmark has no item.
type event struct {
	kind watch.EventType
	item object.Item
	at   string
}

var errLate = errors.New("no answer")

// watch begins one after the resourceVersion from. Its answer must begin in time; what comes then is bounded by nothing
// but ctx and the pings of the connection.
func (c *watcher) watch(ctx context.Context, r resource, s scope, from string) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.timeout, func() {
		cancel(fmt.Errorf("%w within %s: %w", errLate, c.timeout, context.DeadlineExceeded))
	})
	answer, err := c.askWatch(ctx, r, s, from)
	if !late.Stop() && err != nil {
		err = cmp.Or(context.Cause(ctx), err) // late may have begun, and not have canceled anything yet
	}
	if err != nil {
		cancel(err)
		return nil, err
	}
	out := &stream{conn: c.conn, as: s.reading(r), begun: time.Now(), cancel: cancel}
	if err := out.decode(answer); err != nil {
		cancel(err)
		return nil, errors.Join(err, answer.Body.Close())
	}
	return out, nil
}

// askWatch asks itself, since a request of client-go takes a lost connection for a watch without events.
func (c *watcher) askWatch(ctx context.Context, r resource, s scope, from string) (*http.Response, error) {
	req := s.narrow(setPath(c.rest.Get(), r.path(s.namespace, ""))).Timeout(0).
		Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", from).Param("timeoutSeconds", strconv.Itoa(int(watchFor.Seconds())))
	if err := req.Error(); err != nil {
		return nil, err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, req.URL().String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Accept", acceptMeta)
	if s.reading(r).whole() {
		ask.Header.Set("Accept", runtime.ContentTypeJSON)
	}
	answer, err := c.streams.Do(ask)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	return nil, errors.Join(refusal(answer, r), answer.Body.Close())
}

// refusal returns what an answer other than 200 says.
func refusal(answer *http.Response, r resource) error {
	const enough = 1 << 20
	raw, err := io.ReadAll(io.LimitReader(answer.Body, enough))
	if err != nil {
		return err
	}
	if err := statusOf(raw); err != nil {
		return err
	}
	wait, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0: not said
	return apierrors.NewGenericServerResponse(answer.StatusCode, "watch", schema.GroupResource{Group: r.Group, Resource: r.plural},
		"", http.StatusText(answer.StatusCode), wait, true)
}

// statusOf returns the error that an answer holds, nil where it is none.
func statusOf(raw []byte) error {
	got, _, err := metascheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil //nolint:nilerr // whatever it is, it is no Status
	}
	if status, ok := got.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		return apierrors.FromObject(status)
	}
	return nil
}

// decode finds out how the answer is to be read.
func (s *stream) decode(answer *http.Response) error {
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	info, ok := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), kind)
	if err != nil || !ok || info.StreamSerializer == nil {
		return fmt.Errorf("the answer is not a watch but %q", answer.Header.Get("Content-Type"))
	}
	s.body = &readLimit{answer.Body, mostFrame, errTooMuch}
	s.frames = info.StreamSerializer.NewFrameReader(s.body)
	if kind != runtime.ContentTypeJSON {
		s.codec = info.StreamSerializer
	}
	return nil
}

// endOfWatch is why nothing comes any more.
type endOfWatch struct{ error }

func (e *endOfWatch) Unwrap() error { return e.error }

// mostFrame bounds what a server may tell at once.
const mostFrame = 16 << 20

var errTooMuch = fmt.Errorf("the server sends more than %d MiB at once", mostFrame>>20)

// readLimit is an answer, or one frame of it, of which no more is read than is left: who looks for its end holds all before it.
type readLimit struct {
	io.ReadCloser
	left     int
	exceeded error // there was more
}

func (r *readLimit) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, r.exceeded
	}
	n, err := r.ReadCloser.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// wait waits for the next frame. Nothing big is held meanwhile, on the stack neither: every kind of every cluster is waited
// for. The end is an endOfWatch.
func (s *stream) wait() ([]byte, error) {
	s.body.left = mostFrame
	n, err := s.frames.Read(s.head[:])
	return s.rest(n, err)
}

// rest reads what the head of a frame has no room for.
func (s *stream) rest(n int, err error) ([]byte, error) {
	raw := slices.Clone(s.head[:n])
	for errors.Is(err, io.ErrShortBuffer) {
		raw = slices.Grow(raw, 1<<10+len(raw))
		n, err = s.frames.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
	}
	switch {
	case errors.Is(err, errTooMuch):
		return nil, err
	case err != nil:
		return nil, &endOfWatch{err}
	}
	return raw, nil
}

// event decodes a frame; what the server says instead of an event is an error.
func (s *stream) event(raw []byte) (event, error) {
	got, err := s.frame(raw)
	if err != nil {
		return event{}, &endOfWatch{err}
	}
	e := event{kind: watch.EventType(got.Type)}
	switch e.kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	case watch.Error:
		if err := statusOf(got.Object.Raw); err != nil {
			return event{}, err
		}
		return event{}, errors.New("the watch failed, and the server gives no reason")
	default:
		return event{}, fmt.Errorf("the watch sends an unknown event %q", got.Type)
	}
	err = s.decodeItem(&e, got.Object.Raw)
	return e, err
}

// frame decodes what is around an object. Of JSON, a codec would first look for its kind in all of it, and copy the object.
func (s *stream) frame(raw []byte) (got metav1.WatchEvent, err error) {
	if s.codec == nil {
		return plainFrame(raw)
	}
	_, _, err = s.codec.Decode(raw, nil, &got)
	return got, err
}

// plainFrame takes a frame apart: all of it is JSON, since who cut it out of the stream had to look for its end.
func plainFrame(raw []byte) (got metav1.WatchEvent, err error) {
	parts, ok := object.Parts(raw)
	if !ok {
		return got, errors.New("the watch sends something that is not an event")
	}
	for _, p := range parts {
		switch value := raw[p.From:p.To]; p.Name {
		case "type":
			err = errors.Join(err, json.Unmarshal(value, &got.Type))
		case "object":
			got.Object.Raw = value
		}
	}
	return got, err
}

func (s *stream) decodeItem(e *event, raw []byte) (err error) {
	if s.as.whole() {
		return s.decodeWhole(e, raw)
	}
	m, err := metaOfEvent(raw)
	if err != nil {
		return err
	}
	if e.at = m.ResourceVersion; e.kind == watch.Bookmark {
		return nil
	}
	e.item, err = s.conn.metaItem(&m.ObjectMeta, s.as)
	return err
}

// metaOfEvent returns the metadata an event tells of.
func metaOfEvent(raw []byte) (*metav1.PartialObjectMetadata, error) {
	if m := metaIn(raw); m != nil {
		return m, nil
	}
	got, _, err := metascheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	m, ok := got.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("the watch does not send metadata but %T", got)
	}
	return m, nil
}

func (s *stream) decodeWhole(e *event, raw []byte) (err error) {
	if e.kind == watch.Bookmark {
		var mark struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		}
		err := exactly.Unmarshal(raw, &mark)
		e.at = mark.Metadata.ResourceVersion
		return err
	}
	read := s.conn.checkedItem
	if s.codec != nil { // what was around it was no JSON
		read = s.conn.wholeItem
	}
	e.item, err = read(raw, s.as)
	e.at = e.item.Record.ResourceVersion
	return err
}

// close gives the connection back.
func (s *stream) close() {
	s.cancel(context.Canceled)
	_ = s.body.Close() // what is lost is not wanted any more
}

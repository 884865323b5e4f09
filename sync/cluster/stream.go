package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/linkwright/linkwright/object"
)

// watchFor is how long a watch is asked for. The server ends it then, and the next begins where it ended.
const watchFor = 8 * time.Minute

// stream is a watch that the server answered.
type stream struct {
	client *Client
	as     reading
	events streaming.Decoder
	cancel context.CancelCauseFunc
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
func (c *Client) watch(ctx context.Context, r resource, s scope, from string) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.timeout, func() {
		cancel(fmt.Errorf("%w within %s: %w", errLate, c.timeout, context.DeadlineExceeded))
	})
	answer, err := c.askWatch(ctx, r, s, from)
	if !late.Stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel(err)
		return nil, err
	}
	events, err := decoder(answer)
	if err != nil {
		cancel(err)
		return nil, errors.Join(err, answer.Body.Close())
	}
	return &stream{client: c, as: s.reading(r), events: events, cancel: cancel}, nil
}

// askWatch asks itself, since a request of client-go takes a lost connection for a watch without events.
func (c *Client) askWatch(ctx context.Context, r resource, s scope, from string) (*http.Response, error) {
	req := s.narrow(lead(c.rest.Get(), r.path(s.namespace, ""))).Timeout(0).
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

// refusal is what an answer other than 200 says.
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

// statusOf is the error that an answer holds, nil where it is none.
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

func decoder(answer *http.Response) (streaming.Decoder, error) {
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	info, ok := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), kind)
	if err != nil || !ok || info.StreamSerializer == nil {
		return nil, fmt.Errorf("the answer is no watch but %q", answer.Header.Get("Content-Type"))
	}
	frames := info.StreamSerializer.NewFrameReader(answer.Body)
	return streaming.NewDecoder(frames, info.StreamSerializer), nil
}

// endOfWatch is why nothing comes any more.
type endOfWatch struct{ error }

func (e *endOfWatch) Unwrap() error { return e.error }

// next waits for an event. The end is an endOfWatch; what the server says instead of an event is another error.
func (s *stream) next() (event, error) {
	var got metav1.WatchEvent
	if _, _, err := s.events.Decode(nil, &got); err != nil {
		return event{}, &endOfWatch{err}
	}
	e := event{kind: watch.EventType(got.Type)}
	switch e.kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	case watch.Error:
		if err := statusOf(got.Object.Raw); err != nil {
			return event{}, err
		}
		return event{}, errors.New("the watch failed, and the server does not say why")
	default:
		return event{}, fmt.Errorf("the watch tells of an unknown event %q", got.Type)
	}
	err := s.decode(&e, got.Object.Raw)
	return e, err
}

func (s *stream) decode(e *event, raw []byte) (err error) {
	if s.as.whole() {
		return s.decodeWhole(e, raw)
	}
	got, _, err := metascheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	m, ok := got.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("the watch tells of no metadata but %T", got)
	}
	if e.at = m.ResourceVersion; e.kind == watch.Bookmark {
		return nil
	}
	e.item, err = s.client.metaItem(&m.ObjectMeta, s.as)
	return err
}

func (s *stream) decodeWhole(e *event, raw []byte) (err error) {
	if e.kind == watch.Bookmark {
		var mark struct {
			Metadata struct{ ResourceVersion string }
		}
		err := json.Unmarshal(raw, &mark)
		e.at = mark.Metadata.ResourceVersion
		return err
	}
	e.item, err = s.client.wholeItem(raw, s.as)
	e.at = e.item.Record.ResourceVersion
	return err
}

// close gives the connection back.
func (s *stream) close() {
	s.cancel(context.Canceled)
	_ = s.events.Close() // its body; what is lost is not wanted any more
}

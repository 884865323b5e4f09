package faultproxy

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/linkwright/linkwright/hack/fault"
)

// watchFrames is a watch that goes wrong, event by event.
type watchFrames struct {
	x    *exchange
	gone <-chan struct{} // closed when the client is
	body io.Closer
	in   *bufio.Reader
	next func(*bufio.Reader) ([]byte, error)

	passed int
	out    []byte
	last   error // follows out
}

func (x *exchange) frames(answer *http.Response) *watchFrames {
	f := &watchFrames{x: x, gone: answer.Request.Context().Done(), body: answer.Body, in: bufio.NewReader(answer.Body), next: line}
	if strings.Contains(answer.Header.Get("Content-Type"), "protobuf") {
		f.next = prefixed
	}
	return f
}

// line is a frame of JSON.
func line(r *bufio.Reader) ([]byte, error) { return r.ReadBytes('\n') }

// prefixed is a frame of protobuf: its length in four bytes, and it.
func prefixed(r *bufio.Reader) ([]byte, error) {
	length, err := r.Peek(4)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 4+int(binary.BigEndian.Uint32(length)))
	_, err = io.ReadFull(r, frame)
	return frame, err
}

func (f *watchFrames) Read(to []byte) (int, error) {
	for len(f.out) == 0 {
		if f.last != nil {
			return 0, f.ended()
		}
		f.out, f.last = f.frame()
	}
	out := f.out
	if errors.Is(f.last, errCut) {
		out = out[:max(1, len(out)-1)] // the last byte alone, as half does
	}
	n := copy(to, out)
	f.out = f.out[n:]
	return n, nil
}

func (f *watchFrames) Close() error { return f.body.Close() }

func (f *watchFrames) ended() error {
	if errors.Is(f.last, errCut) {
		return f.x.closeConn()
	}
	return f.last
}

// frame is the next one to be shown, and what follows it where it is the last.
func (f *watchFrames) frame() ([]byte, error) {
	due := f.passed >= f.x.fault.Events
	f.passed++
	switch kind := f.x.fault.Kind; {
	case due && kind == fault.Silence:
		<-f.gone
		return nil, http.ErrAbortHandler
	case due && kind == fault.End:
		return nil, io.EOF
	case due && kind == fault.Expire:
		return f.x.expired(), io.EOF
	case due && kind == fault.Cut:
		frame, err := f.next(f.in)
		if err != nil {
			return nil, err
		}
		return frame[:len(frame)/2], errCut
	}
	frame, err := f.next(f.in)
	if !pause(f.gone, f.x.fault.Delay) {
		return nil, http.ErrAbortHandler
	}
	return frame, err
}

// expired is the event by which a server ends a watch that it cannot go on with.
func (x *exchange) expired() []byte {
	status := fault.Fault{Code: http.StatusGone}.Refusal(x.request.Request).ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	event, err := json.Marshal(map[string]any{"type": "ERROR", "object": status})
	if err != nil {
		panic(err) // a Status can always be encoded
	}
	return append(event, '\n')
}

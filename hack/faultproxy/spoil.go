package faultproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/linkwright/linkwright/hack/fault"
)

// fail has the client hear of another end than the server's.
func (x *exchange) fail(answer *http.Response) error {
	if err := answer.Body.Close(); err != nil {
		return err
	}
	answer.Header = http.Header{}
	replace(answer, x.refusal(answer.Header))
	answer.StatusCode = x.fault.Code
	return nil
}

func replace(answer *http.Response, body []byte) {
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// cutResponse changes the body of an answer.
func (x *exchange) cutResponse(answer *http.Response) error {
	if x.request.Verb == "watch" {
		if x.fault.Kind != fault.Pass || x.fault.Delay > 0 {
			answer.Body = x.frames(answer)
		}
		return nil
	}
	if x.fault.Kind != fault.Cut && x.fault.Kind != fault.Forget {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if x.fault.Kind == fault.Cut {
		answer.Body = &truncatedBody{body: body[:len(body)/2], err: x.closeConn}
		return nil
	}
	if body, err = forget(body); err == nil {
		replace(answer, body)
	}
	return err
}

// forget takes the continue token out of a list. How many items remain, where the server says it (never with a
// selector), is all that shows that the list is not whole.
func forget(body []byte) ([]byte, error) {
	var list, meta map[string]json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decode list: %w", err)
	}
	if err := json.Unmarshal(list["metadata"], &meta); err != nil {
		return nil, fmt.Errorf("decode metadata of list: %w", err)
	}
	delete(meta, "continue")
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	list["metadata"] = text
	return json.Marshal(list)
}

var errCut = errors.New("the answer is cut")

// closeConn ends what the client reads; the connection ends when it has understood.
func (x *exchange) closeConn() error {
	if tcp, ok := x.conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	return errCut
}

// truncatedBody is the part of a body that arrives, its last byte alone: HTTP/2 sends what was taken when more is, so that all before
// it was sent when that is taken.
type truncatedBody struct {
	body []byte
	err  func() error
}

func (h *truncatedBody) Read(to []byte) (int, error) {
	if len(h.body) == 0 {
		return 0, h.err()
	}
	n := copy(to, h.body[:max(1, len(h.body)-1)])
	h.body = h.body[n:]
	return n, nil
}

func (h *truncatedBody) Close() error { return nil }

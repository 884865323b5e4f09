package cluster

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// leastPause follows a 429 that does not say how long.
const leastPause = time.Second

// send has a write wait for its turn, as tries does.
func (c *Client) send(ctx context.Context, of object.Key, req *rest.Request) (rest.Result, error) {
	if err := req.Error(); err != nil {
		return rest.Result{}, err
	}
	return c.tries(ctx, of, req.MaxRetries(0).Do)
}

// tries has a write wait for its turn, and sends it again as often as the server asks for that and its time, which
// begins with the first try, allows. Later tries of client-go's own would hide from the limit what the server says.
func (c *Client) tries(ctx context.Context, of object.Key, try func(context.Context) rest.Result) (rest.Result, error) {
	if err := c.turns.take(ctx, false); err != nil {
		return rest.Result{}, err
	}
	if err := c.breaker.pass(); err != nil {
		c.turns.give(sent{fate: ended})
		return rest.Result{}, err
	}
	inner, cancel := context.WithTimeout(ctx, c.turns.patience)
	defer cancel()
	end, _ := inner.Deadline()
	kind := schema.GroupKind{Group: of.Group, Kind: of.Kind}
	for {
		s := sent{kind: kind, begun: time.Now()}
		answer := try(inner)
		s.ended = time.Now()
		err := answer.Error()
		c.breaker.note(ctx, err) // not only at the end of the change: a later request of it must go out
		again := s.judge(ctx, answer, err)
		c.turns.give(s)
		if !again {
			return answer, err
		}
		if open := s.ended.Add(s.shut); open.After(end) {
			return answer, &shutError{until: open, cause: err}
		}
		if c.turns.take(inner, true) != nil {
			return answer, err
		}
	}
}

// judge says what an answer tells the limit, and whether the server asks for another try, which is then not before
// what it asks for has passed.
func (s *sent) judge(ctx context.Context, answer rest.Result, err error) (again bool) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return false
	case ctx.Err() != nil:
		s.fate = ended
		return false
	case !errors.As(err, &status):
		s.fate = overload
		return false
	}
	switch code, asked := asked(answer, status); code {
	case http.StatusTooManyRequests:
		s.fate, s.shut = overload, max(asked, leastPause)
	case http.StatusServiceUnavailable:
		s.fate, s.shut = overload, asked
	case http.StatusGatewayTimeout: // it may have been done: not again
		s.fate = overload
	}
	return s.shut > 0
}

// asked is the code of a refusal, and how long the server wants to be left alone. Only the raw error tells what the
// header says, and the code of an answer that is plain text.
func asked(answer rest.Result, status apierrors.APIStatus) (code int, pause time.Duration) {
	_, err := answer.Raw()
	seconds, _ := apierrors.SuggestsClientDelay(err)
	if d := status.Status().Details; d != nil {
		seconds = max(seconds, int(d.RetryAfterSeconds))
	}
	if raw := apierrors.APIStatus(nil); errors.As(err, &raw) {
		code = int(raw.Status().Code)
	}
	return code, time.Duration(seconds) * time.Second
}

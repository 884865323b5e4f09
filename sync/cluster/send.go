package cluster

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

// inFlight is how many writes of a cluster are under way at most.
const inFlight = 16

// send has a write wait for its turn, as turn does.
func (c *conn) send(ctx context.Context, req *rest.Request) (rest.Result, error) {
	if err := req.Error(); err != nil {
		return rest.Result{}, err
	}
	return c.sendWhenFree(ctx, req.Do)
}

// sendWhenFree waits until fewer than inFlight writes are under way, and sends one. What client-go sends again belongs to it, within the
// client's timeout in all.
func (c *conn) sendWhenFree(ctx context.Context, do func(context.Context) rest.Result) (rest.Result, error) {
	select {
	case c.writeSlots <- struct{}{}:
		defer func() { <-c.writeSlots }()
	case <-ctx.Done():
		return rest.Result{}, ctx.Err()
	}
	if err := c.breaker.allow(); err != nil {
		return rest.Result{}, err
	}
	inner, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer := do(inner)
	err := answer.Error()
	c.breaker.record(ctx, err) // not only at the end of the change: a later request of it must go out
	return answer, err
}

// retryable leaves only such answers to a write for client-go to send it again (by Retry-After) as say that nothing was done (429, 503)
// and ask for no more time than there is: else it would wait for nothing, and forget what the server said.
type retryable struct{ next http.RoundTripper }

// WrappedRoundTripper implements apimachinery's net.RoundTripperWrapper: client-go cancels requests through it, and logs if it cannot.
func (a retryable) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper.
func (a retryable) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := a.next.RoundTrip(q)
	if err != nil || q.Method == http.MethodGet {
		return answer, err
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	end, ends := q.Context().Deadline()
	inTime := !ends || time.Now().Add(time.Duration(seconds)*time.Second).Before(end)
	if !inTime || answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		answer.Header.Del("Retry-After")
	}
	return answer, nil
}

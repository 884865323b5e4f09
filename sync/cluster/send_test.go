package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// scripted answers every PATCH by the next of its answers, the last for ever, without any network.
type scripted struct {
	answers []func(http.ResponseWriter, *http.Request)
	at      []time.Duration // since begun
	begun   time.Time
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	to := httptest.NewRecorder()
	if r.Method == http.MethodGet {
		say(http.StatusOK, coreKinds)(to, r)
		return to.Result(), nil
	}
	s.at = append(s.at, time.Since(s.begun))
	f := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	if f == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	f(to, r)
	return to.Result(), nil
}

// told returns a client of a scripted server that wrote one Secret.
func told(t *testing.T, answers ...func(http.ResponseWriter, *http.Request)) (*Client, *scripted, error) {
	t.Helper()
	s := &scripted{answers: answers, begun: time.Now()}
	c, err := connect(&rest.Config{Host: "http://server.example"}, Options{Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return s }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Write(t.Context(), object.Change{
		Action: object.Update, Key: object.Key{Kind: "Secret", Namespace: "ns", Name: "a"},
		Object: secret(t, "ns", "a", corev1.SecretTypeOpaque),
	})
	return c, s, err
}

// later returns an answer whose header asks for seconds of quiet.
func later(code int, reason, seconds string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if seconds != "" {
			w.Header().Set("Retry-After", seconds)
		}
		status(code, reason)(w, r)
	}
}

// flow is how an API server's priority and fairness says no: in plain text.
func flow(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "3")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

func TestWriteIsSentAgainWhenTheServerAsks(t *testing.T) {
	fine := say(http.StatusOK, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"2"}}`)
	busy := later(http.StatusTooManyRequests, "TooManyRequests", "4")
	down := later(http.StatusServiceUnavailable, "ServiceUnavailable", "2")
	type script = []func(http.ResponseWriter, *http.Request)
	for _, tt := range []struct {
		name string
		says script
		at   []time.Duration // when it was tried
		code string
		told string
	}{
		{"fine", script{fine}, []time.Duration{0}, "", ""},
		{"busy", script{busy, busy, fine}, []time.Duration{0, 4 * time.Second, 8 * time.Second}, "", ""},
		{"busy by fairness", script{flow, fine}, []time.Duration{0, 3 * time.Second}, "", ""},
		{"busy without time", script{later(http.StatusTooManyRequests, "TooManyRequests", ""), fine}, []time.Duration{0}, string(reason.Throttled), "linkwright tries again"},
		{"down", script{down, fine}, []time.Duration{0, 2 * time.Second}, "", ""},
		{"down without time", script{status(http.StatusServiceUnavailable, "ServiceUnavailable")}, []time.Duration{0}, string(reason.Unavailable), "told so"},
		{"slow", script{later(http.StatusGatewayTimeout, "Timeout", "1")}, []time.Duration{0}, string(reason.Unavailable), "slow or overloaded"},
		{"broken", script{later(http.StatusInternalServerError, "InternalError", "1")}, []time.Duration{0}, string(reason.Unavailable), "InternalError"},
		{"refused", script{status(http.StatusForbidden, "Forbidden")}, []time.Duration{0}, string(reason.Forbidden), "grant this"},
		{"busy for ever", script{busy}, []time.Duration{0, 4 * time.Second, 8 * time.Second, 12 * time.Second}, string(reason.Throttled), "linkwright tries again"},
		{"busy for an hour", script{later(http.StatusTooManyRequests, "TooManyRequests", "3600")}, []time.Duration{0}, string(reason.Throttled), "linkwright tries again"},
		{"silent", script{nil}, []time.Duration{0}, string(reason.Timeout), "does not answer in time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s, err := told(t, tt.says...)
				why := Explain(err)
				if string(why.Code) != tt.code || !strings.Contains(why.Message, tt.told) {
					t.Errorf("Write: got %+v, want %s that says %q", why, tt.code, tt.told)
				}
				if !slices.Equal(s.at, tt.at) || len(c.writeSlots) != 0 {
					t.Errorf("Write: tried at %v, then %d under way; want %v, none", s.at, len(c.writeSlots), tt.at)
				}
			})
		})
	}
}

// What never goes out takes no turn.
func TestWriteOfAnImpossibleNameTakesNoTurn(t *testing.T) {
	c := hostile(t, answers{})
	o := secret(t, "ns", "a/../b", corev1.SecretTypeOpaque)
	for range cap(c.writeSlots) {
		c.writeSlots <- struct{}{}
	}
	if _, err := c.Write(t.Context(), create(o)); err == nil {
		t.Error("Write: got no error")
	}
}

func TestSoManyWritesGoOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := told(t, status(http.StatusForbidden, "Forbidden"))
		var out atomic.Int32
		slow := func(context.Context) (none rest.Result) {
			if n := out.Add(1); n > inFlight {
				t.Errorf("%d are under way, want %d", n, inFlight)
			}
			time.Sleep(time.Second)
			out.Add(-1)
			return none
		}
		begun := time.Now()
		var all sync.WaitGroup
		for range 8 * inFlight {
			all.Go(func() { _, _ = c.sendWhenFree(t.Context(), slow) }) // what it answers does not count
		}
		all.Wait()
		if took := time.Since(begun); took != 8*time.Second {
			t.Errorf("took %v, want 8s", took)
		}
	})
}

func TestWaitingForATurnEndsWithItsContext(t *testing.T) {
	c := hostile(t, answers{})
	for range cap(c.writeSlots) {
		c.writeSlots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.sendWhenFree(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("turn: got %v, want %v", err, context.Canceled)
	}
}

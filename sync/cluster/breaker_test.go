package cluster

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

func newBreaker() *breaker { return &breaker{opened: make(chan struct{}, 1), lastNotified: func() {}} }

// shut returns how long a breaker lets nothing through from now on.
func shut(b *breaker) time.Duration {
	wait, _ := b.due()
	return wait
}

// What ends with a lost connection is one failure, however much was under way: else a cluster that was away for a moment
// would be left alone for half a minute.
func TestBreakerCountsALostConnectionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker()
		for range 60 {
			b.record(t.Context(), io.ErrUnexpectedEOF)
		}
		if got := shut(b); got > firstPause {
			t.Errorf("60 requests that ended together shut it for %s, want at most %s", got, firstPause)
		}
	})
}

// Whoever tries, it is ever more rarely, and not at all before the pause is over.
func TestBreakerPausesLonger(t *testing.T) {
	for name, try := range map[string]func(*testing.T, *breaker){
		"probe": func(t *testing.T, b *breaker) { b.recordProbe(t.Context(), io.ErrUnexpectedEOF) },
		"something that is no answer to the probe": func(t *testing.T, b *breaker) {
			b.recordProbe(t.Context(), errors.New("stream error"))
		},
		"write": func(t *testing.T, b *breaker) {
			if err := b.allow(); err != nil {
				t.Errorf("after the pause: %v", err)
			}
			if b.allow() == nil {
				t.Error("two are let through at once")
			}
			b.record(t.Context(), io.ErrUnexpectedEOF)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tried(t, try) })
		})
	}
}

func tried(t *testing.T, try func(*testing.T, *breaker)) {
	t.Helper()
	b := newBreaker()
	b.record(t.Context(), io.ErrUnexpectedEOF)
	for range 12 {
		was := shut(b)
		time.Sleep(was)
		if try(t, b); shut(b) < min(was, lastPause*4/5) {
			t.Errorf("after a try in vain it is shut for %s, before for %s", shut(b), was)
		}
	}
	if got := shut(b); got < lastPause*4/5 {
		t.Errorf("at last it is shut for %s, want about %s", got, lastPause)
	}
	if b.recordProbe(t.Context(), nil); b.allow() != nil || b.failure() != nil {
		t.Error("an answer does not close it")
	}
}

// A cluster that does not answer when it is asked for a token is no more asked for anything.
func TestTokenWithoutAnAnswerOpensTheBreaker(t *testing.T) {
	c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{
		Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return silent{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Token(t.Context(), object.TokenRequest{Account: object.Key{Kind: "ServiceAccount", Namespace: "ns", Name: "a"}}); err == nil {
		t.Fatal("a token without an answer")
	}
	if c.breaker.failure() == nil {
		t.Error("the breaker is closed")
	}
}

type silent struct{}

func (silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

package cluster

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestRegistry(t *testing.T) {
	r, ctx := New(Options{}), t.Context()
	cfg := &rest.Config{Host: "https://east.example.com"}
	if err := errors.Join(r.Spawn(ctx, "west", cfg), r.Spawn(ctx, "east", cfg)); err != nil {
		t.Fatal(err)
	}
	if err := r.Spawn(ctx, "east", cfg); !errors.Is(err, ErrAlreadyExist) {
		t.Errorf("Spawn of the same: got %v, want ErrAlreadyExist", err)
	}
	if got := r.Names(); !slices.Equal(got, []api.ClusterName{"east", "west"}) {
		t.Errorf("Names: got %v", got)
	}
	if err := r.Stop(ctx, "east"); err != nil {
		t.Error(err)
	}
	if err := r.Stop(ctx, "east"); !errors.Is(err, ErrNotExist) {
		t.Errorf("Stop twice: got %v, want ErrNotExist", err)
	}
	if err := r.WithClient(ctx, "east", func(*Client) error { return nil }); !errors.Is(err, ErrNotExist) {
		t.Errorf("WithClient of a stopped one: got %v, want ErrNotExist", err)
	}
	own := errors.New("its own")
	if err := r.WithClient(ctx, "west", func(*Client) error { return own }); !errors.Is(err, own) {
		t.Errorf("WithClient: got %v, want the callback's error", err)
	}
	if err := r.Spawn(ctx, "bad", &rest.Config{Host: "https://x", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}); err == nil {
		t.Error("Spawn with a broken CA: got no error")
	}
}

// client returns the one that callbacks get now.
func client(t *testing.T, r *Registry, name api.ClusterName) (c *Client) {
	t.Helper()
	err := r.WithClient(t.Context(), name, func(now *Client) error {
		c = now
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReplaceComparesConfigurations(t *testing.T) {
	proxy := func(to string) func(*http.Request) (*url.URL, error) {
		return http.ProxyURL(&url.URL{Scheme: "http", Host: to})
	}
	base := rest.Config{Host: "https://east", BearerToken: "a", Proxy: proxy("p:1")}
	tests := []struct {
		name   string
		change func(*rest.Config)
		swap   bool
	}{
		{"equal", func(*rest.Config) {}, false},
		{"equal proxy made anew", func(c *rest.Config) { c.Proxy = proxy("p:1") }, false},
		{"other token", func(c *rest.Config) { c.BearerToken = "b" }, true},
		{"other CA", func(c *rest.Config) { c.Insecure = true }, true},
		{"other proxy", func(c *rest.Config) { c.Proxy = proxy("p:2") }, true},
		{"no proxy", func(c *rest.Config) { c.Proxy = nil }, true},
		{"a wrapper, which cannot be compared", func(c *rest.Config) {
			c.WrapTransport = func(rt http.RoundTripper) http.RoundTripper { return rt }
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{})
			if err := r.Replace(t.Context(), "east", &base); err != nil {
				t.Fatal(err)
			}
			before, next := client(t, r, "east"), rest.CopyConfig(&base)
			tt.change(next)
			if err := r.Replace(t.Context(), "east", next); err != nil {
				t.Fatal(err)
			}
			if swapped := client(t, r, "east") != before; swapped != tt.swap {
				t.Errorf("Replace: swapped is %v, want %v", swapped, tt.swap)
			}
		})
	}
}

func TestStopWaitsForItsOwnCallbacksOnly(t *testing.T) {
	r, ctx := New(Options{}), t.Context()
	cfg := &rest.Config{Host: "https://example.com"}
	if err := errors.Join(r.Spawn(ctx, "east", cfg), r.Spawn(ctx, "west", cfg)); err != nil {
		t.Fatal(err)
	}
	inside, leave, done := make(chan bool, 2), make(chan bool), make(chan error, 2)
	hold := func(name api.ClusterName) {
		done <- r.WithClient(ctx, name, func(*Client) error {
			inside <- true
			<-leave
			return nil
		})
	}
	go hold("east")
	<-inside
	if err := r.Stop(ctx, "west"); err != nil {
		t.Errorf("Stop of a cluster nobody uses: %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := r.Stop(short, "east"); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop with an ended context: got %v, want that it did not wait", err)
	}
	if err := r.Spawn(ctx, "east", cfg); err != nil {
		t.Errorf("Spawn of a new one: %v", err)
	}
	go hold("east")
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- r.Stop(ctx, "east") }()
	select {
	case err := <-stopped:
		t.Errorf("Stop returned with a callback in flight: %v", err)
	case leave <- true:
		leave <- true
	}
	if err := errors.Join(<-done, <-done, <-stopped); err != nil {
		t.Error(err)
	}
}

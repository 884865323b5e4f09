package cluster

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// failsAt is a transport that fails after a time.
type failsAt time.Duration

// RoundTrip implements http.RoundTripper.
func (f failsAt) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(f))
	return nil, errors.New("connection reset")
}

// A watch that fails at the very moment at which it would be given up is an error.
func TestWatchFailsWhenItIsLate(t *testing.T) {
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			c, err := connect(&rest.Config{Host: "https://east.example"}, Options{Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			c.streams = &http.Client{Transport: failsAt(time.Second)}
			r := resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, plural: "secrets", namespaced: true}
			if _, err := c.watch(t.Context(), r, scope{}, "1"); err == nil {
				t.Error("no error")
			}
		})
	}
}

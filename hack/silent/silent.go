// Package silent is a server that accepts connections and never answers: what tests hold deadlines to.
package silent

import (
	"net"
	"testing"
	"time"
)

// timeout is how long a call may take to come.
const timeout = 2 * time.Minute

// Listen accepts connections and never answers, until the test ends; it tells of each connection.
func Listen(t *testing.T) (address string, called <-chan struct{}) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls, ended := make(chan struct{}, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			calls <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return "http://" + l.Addr().String(), calls
}

// Called waits until somebody connected.
func Called(t *testing.T, called <-chan struct{}) {
	t.Helper()
	select {
	case <-called:
	case <-time.After(timeout):
		t.Fatal("the new address is not called")
	}
}

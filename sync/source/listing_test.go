package source_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// listing writes refs until there are so many bytes of them: long names, so that there are few.
func listing(to io.Writer, size int) {
	hash, caps := strings.Repeat("1", 40), "\x00shallow side-band-64k"
	for i := 0; size > 0; i++ {
		line := fmt.Sprintf("%s refs/heads/%06d%s%s\n", hash, i, strings.Repeat("n", 60_000), caps)
		n, err := fmt.Fprintf(to, "%04x%s", len(line)+4, line)
		if err != nil {
			return // the client has had enough
		}
		size, caps = size-n, ""
	}
	_, _ = io.WriteString(to, "0000")
}

// A server that lists without end is not listened to, on whatever way it does so.
func TestPollOfAListingTooLong(t *testing.T) {
	const size, words = 66 << 20, "the listing of its branches and tags is larger than 64 MiB"
	t.Run("http", func(t *testing.T) {
		url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
			listing(w, size)
		}))
		_, err := open(t, source.Options{Repo: url + "/fleet.git"}).Poll(t.Context())
		refuse(t, err, words)
	})
	t.Run("git", func(t *testing.T) {
		addr := serveGit(t, func(c io.Writer) { listing(c, size) })
		_, err := open(t, source.Options{Repo: "git://" + addr + "/fleet.git"}).Poll(t.Context())
		refuse(t, err, words)
	})
}

// serveGit says the same to everybody who connects, whatever they want, and gives its address.
func serveGit(t *testing.T, say func(io.Writer)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			say(c)
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c) // what is not read would become a reset, before the client has read all
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

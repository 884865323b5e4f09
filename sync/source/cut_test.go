package source_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// relay passes bytes on to a server, and cuts an answer off after as many as are left; below zero, it cuts nothing.
type relay struct {
	addr  string
	left  atomic.Int64
	reset atomic.Bool // hang up as a broken network does
}

func relayTo(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: l.Addr().String()}
	r.left.Store(-1)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { r.pass(c, to) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); group.Wait() })
	return r
}

func (r *relay) pass(client net.Conn, to string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(server, client); _ = server.(*net.TCPConn).CloseWrite() }()
	buf := make([]byte, 512)
	for {
		n, err := server.Read(buf)
		if left := r.left.Load(); left >= 0 {
			n = min(n, int(left))
			r.left.Add(-int64(n))
		}
		_, _ = client.Write(buf[:n])
		if err != nil || r.left.Load() == 0 {
			break
		}
	}
	if r.reset.Load() && r.left.Load() == 0 {
		_ = client.(*net.TCPConn).SetLinger(0)
	}
	_ = client.Close()
	_ = server.Close()
	<-done
}

// An answer that is cut off anywhere is an error, and nothing of it is kept; the next poll gets it all.
func TestPollOfAnAnswerThatIsCutOff(t *testing.T) {
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset=%v", reset), func(t *testing.T) {
			r := newRepo(t)
			for i := range 30 {
				r.write(fmt.Sprintf("fleet/%d.yaml", i), strings.Repeat(fmt.Sprintln(i, r.bare), 20))
			}
			r.push("many")
			srv := serve(t, r, func(*http.Request) bool { return true })
			cache := t.TempDir()
			relay := relayTo(t, srv.Listener.Addr().String())
			relay.reset.Store(reset)
			o := source.Options{Repo: "https://" + relay.addr + "/fleet.git", Cache: cache, Keys: with("ca.crt", srv.ca)}
			s := open(t, o)
			connectionCut(t, r, s, relay, cache, 700)
			relay.left.Store(-1)
			before := poll(t, s)
			r.write("fleet/7.yaml", "changed\n")
			r.push("changed")
			connectionCut(t, r, s, relay, cache, 300)
			if got, err := s.At(t.Context(), string(before.Commit)); err != nil || text(t, got) != text(t, before) {
				t.Errorf("the last good commit is not there any more: %v", err)
			}
			relay.left.Store(-1)
			same(t, r, s)
		})
	}
}

// connectionCut lets polls be cut off later and later, until one succeeds.
func connectionCut(t *testing.T, r repo, s *source.Source, relay *relay, cache string, step int64) {
	t.Helper()
	packs := func() []string { found, _ := filepath.Glob(cache + "/*/objects/pack/*"); return found }
	stored, failed := packs(), 0
	for at := int64(0); ; at += step {
		relay.left.Store(at)
		snap, err := s.Poll(t.Context())
		if err == nil {
			if text(t, snap) != r.committed("HEAD") {
				t.Fatalf("cut off after %d bytes, it gave part of a commit", at)
			}
			break
		}
		failed++
		if found, _ := filepath.Glob(cache + "/*/in-*"); len(found) > 0 {
			t.Errorf("cut off after %d bytes: left %q", at, found)
		}
		if now := packs(); len(now) != len(stored) {
			t.Fatalf("cut off after %d bytes: stored %q", at, now)
		}
	}
	if failed < 3 {
		t.Errorf("only %d answers were cut off", failed)
	}
}

// A full disk is told with its directory; what is there stays, nothing piles up, and the next poll works once there is room.
func TestPollWithAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := newRepo(t)
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: disk + "/cache"})
	first := same(t, r, s)
	fill := func(size int) error { return os.WriteFile(disk+"/other", make([]byte, size), 0o600) }
	r.write("fleet/large", noise(200<<10))
	r.push("large")
	if err := fill(900 << 10); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, err := s.Poll(t.Context())
		refuse(t, err, disk+"/cache", "no space left on device", "make room, or name another directory")
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v is not %v", err, syscall.ENOSPC)
		}
	}
	if left := list(t, disk+"/cache"); len(left) > 2 {
		t.Errorf("left in the cache: %q", left)
	}
	if got := read(t, first, "fleet/east.yaml"); got != "kind: Cluster\n" {
		t.Errorf("the last good snapshot changed: %q", got)
	}
	if err := fill(0); err != nil {
		t.Fatal(err)
	}
	same(t, r, s)
}

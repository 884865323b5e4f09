package source_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/sync/source"
)

// wire answers for a network.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(q *http.Request) (*http.Response, error) { return w(q) }

func answer(code int, header ...string) *http.Response {
	r := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("body"))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// ask makes one request and says whether it was made.
func ask(t *testing.T, rt http.RoundTripper, host string) (*source.Waiting, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rt.RoundTrip(q)
	if err == nil {
		_ = r.Body.Close()
		return nil, nil
	}
	var w *source.Waiting
	errors.As(err, &w)
	return w, err
}

func TestHostsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, made := true, 0
		rt := new(source.Hosts).Transport(wire(func(*http.Request) (*http.Response, error) {
			made++
			if broken {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			return answer(http.StatusOK), nil
		}))
		for i, d := 1, time.Second; i <= 12; i, d = i+1, min(2*d, 5*time.Minute) {
			if _, err := ask(t, rt, "git.example.com"); err == nil || made != i {
				t.Fatalf("try %d: made %d requests, %v", i, made, err)
			}
			w := paused(t, rt, d)
			if made != i {
				t.Fatalf("within the pause after %d failures a request was made", i)
			}
			if _, err := ask(t, rt, "other.example.com"); err == nil {
				t.Error("the other host did not fail")
			}
			made = i
			time.Sleep(time.Until(w.Until))
		}
		broken = false
		_, first := ask(t, rt, "git.example.com")
		_, second := ask(t, rt, "git.example.com")
		if err := errors.Join(first, second); err != nil {
			t.Errorf("after a success: %v", err)
		}
		broken = true
		_, _ = ask(t, rt, "git.example.com")
		_ = paused(t, rt, time.Second) // it began again
	})
}

// paused wants a host to be left alone for about d.
func paused(t *testing.T, rt http.RoundTripper, d time.Duration) *source.Waiting {
	t.Helper()
	w, err := ask(t, rt, "git.example.com:443")
	if w == nil {
		t.Fatalf("no pause: %v", err)
	}
	if pause := time.Until(w.Until); pause > d || pause < d*3/4 {
		t.Errorf("the pause is %s, want about %s", pause, d)
	}
	refuse(t, err, "connection refused; linkwright tries again at "+w.Until.UTC().Format("15:04:05"))
	return w
}

func TestHostsHonourTheServer(t *testing.T) {
	for name, tt := range map[string]struct {
		r    func() *http.Response
		want time.Duration // 0: no pause
	}{
		"seconds": {func() *http.Response { return answer(429, "Retry-After", "90") }, 90 * time.Second},
		"a date": {func() *http.Response {
			return answer(503, "Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		}, time.Minute},
		"for ever":          {func() *http.Response { return answer(429, "Retry-After", "99999999") }, time.Hour},
		"nonsense":          {func() *http.Response { return answer(429, "Retry-After", "soon") }, time.Second},
		"GitHub, secondary": {func() *http.Response { return answer(403, "Retry-After", "60") }, time.Minute},
		"GitHub, primary": {func() *http.Response {
			return answer(403, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684920")
		}, 2 * time.Minute}, // a bubble's time begins at 946684800
		"500":            {func() *http.Response { return answer(500) }, time.Second},
		"401":            {func() *http.Response { return answer(401) }, 0},
		"403":            {func() *http.Response { return answer(403, "X-RateLimit-Remaining", "17") }, 0},
		"404":            {func() *http.Response { return answer(404, "Retry-After", "60") }, 0},
		"a good one":     {func() *http.Response { return answer(200, "Retry-After", "60") }, 0},
		"a client error": {func() *http.Response { return answer(422) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := new(source.Hosts).Transport(wire(func(*http.Request) (*http.Response, error) { return tt.r(), nil }))
				_, _ = ask(t, rt, "git.example.com")
				w, _ := ask(t, rt, "git.example.com")
				switch {
				case (w == nil) != (tt.want == 0):
					t.Errorf("waiting: %v, want %s", w, tt.want)
				case w != nil && (time.Until(w.Until) > tt.want || time.Until(w.Until) < tt.want*3/4):
					t.Errorf("the pause is %s, want %s", time.Until(w.Until), tt.want)
				}
			})
		})
	}
}

func TestHostsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, all atomic.Int32
		hosts := new(source.Hosts)
		rt := hosts.Transport(wire(func(*http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			all.Add(1)
			time.Sleep(time.Second)
			now.Add(-1)
			return answer(http.StatusOK), nil
		}))
		began := time.Now()
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { _, _ = ask(t, rt, "git.example.com") })
		}
		group.Wait()
		if most.Load() != 1 || all.Load() != 4 || time.Since(began) != 4*time.Second {
			t.Errorf("%d of %d requests at one time, in %s", most.Load(), all.Load(), time.Since(began))
		}
		began = time.Now()
		for _, host := range []string{"a", "b", "c"} {
			group.Go(func() { _, _ = ask(t, rt, host) })
		}
		group.Wait()
		if time.Since(began) != time.Second {
			t.Errorf("three hosts took turns with each other: %s", time.Since(began))
		}
	})
}

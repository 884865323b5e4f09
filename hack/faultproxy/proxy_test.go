package faultproxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
)

// isReset: the kernel reports a reset once, to the first call on the socket. Where that was a write of the client's HTTP/2, its
// read gets the end of the connection instead.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
}

func isCut(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

func asks(seconds int) func(error) bool {
	return func(err error) bool {
		got, ok := apierrors.SuggestsClientDelay(err)
		return ok && got == seconds
	}
}

// Every fault is what a client of client-go sees, hits the second of three writes alone, and lets it be done or not.
func TestWrites(t *testing.T) {
	s := open(t)
	for i, c := range []struct {
		fault     fault.Fault
		is        func(error) bool
		committed bool
	}{
		{fault.Fault{Kind: fault.Refuse, Code: 401}, apierrors.IsUnauthorized, false},
		{fault.Fault{Kind: fault.Refuse, Code: 403}, apierrors.IsForbidden, false},
		{fault.Fault{Kind: fault.Refuse, Code: 404}, apierrors.IsNotFound, false},
		{fault.Fault{Kind: fault.Refuse, Code: 409}, apierrors.IsConflict, false},
		{fault.Fault{Kind: fault.Refuse, Code: 410}, apierrors.IsResourceExpired, false},
		{fault.Fault{Kind: fault.Refuse, Code: 422}, apierrors.IsInvalid, false},
		{fault.Fault{Kind: fault.Refuse, Code: 429, RetryAfter: 7}, apierrors.IsTooManyRequests, false},
		{fault.Fault{Kind: fault.Refuse, Code: 429, RetryAfter: 7}, asks(7), false},
		{fault.Fault{Kind: fault.Refuse, Code: 500}, apierrors.IsInternalError, false},
		{fault.Fault{Kind: fault.Refuse, Code: 503}, apierrors.IsServiceUnavailable, false},
		{fault.Fault{Kind: fault.Refuse, Code: 503, RetryAfter: 3}, asks(3), false},
		{fault.Fault{Kind: fault.Fail, Code: 500}, apierrors.IsInternalError, true},
		{fault.Fault{Kind: fault.Fail, Code: 504}, apierrors.IsTimeout, true},
		{fault.Fault{Kind: fault.ResetBefore}, isReset, false},
		{fault.Fault{Kind: fault.ResetAfter}, isReset, true},
		{fault.Fault{Kind: fault.Cut}, isCut, true},
	} {
		t.Run(fmt.Sprintf("%s %d", c.fault.Kind, c.fault.Code), func(t *testing.T) {
			s.proxy.Set(fault.Rule{Verb: "patch", Resource: "secrets", Nth: 2, Fault: c.fault})
			for n := 1; n <= 3; n++ {
				switch err := s.apply(fmt.Sprint("w", i, "-", n)); {
				case n != 2 && err != nil:
					t.Errorf("write %d: %v", n, err)
				case n == 2 && !c.is(err):
					t.Errorf("write 2: got %v", err)
				}
			}
			if got := s.there(fmt.Sprint("w", i, "-2")); got != c.committed {
				t.Errorf("the server has done it: %t, want %t", got, c.committed)
			}
			var got []string
			for _, r := range s.proxy.Log() {
				got = append(got, fmt.Sprintf("%d %s %s %s %t", r.Index, r.Verb, r.Resource, r.Fault, r.Committed))
			}
			want := []string{"1 patch secrets  true", fmt.Sprintf("2 patch secrets %s %t", c.fault.Kind, c.committed), "3 patch secrets  true"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("log: -want +got\n%s", diff)
			}
		})
	}
}

func TestHangUntilTheClientGivesUp(t *testing.T) {
	s := open(t)
	s.proxy.Set(fault.Rule{Verb: "patch", Fault: fault.Fault{Kind: fault.Hang}})
	hung := make(chan error, 1)
	go func() { hung <- s.apply("a") }()
	s.await(func() bool { return len(s.proxy.Log()) == 1 })
	s.must(s.apply("b")) // another is answered meanwhile
	select {
	case err := <-hung:
		t.Errorf("the request was answered: %v", err)
	default:
	}
	s.must(s.proxy.Close())
	if err := <-hung; err == nil {
		t.Error("the request succeeded")
	}
	if s.there("a") {
		t.Error("the server heard of it")
	}
}

func TestDelay(t *testing.T) {
	s := open(t)
	const delay = 300 * time.Millisecond
	s.proxy.Set(fault.Rule{Fault: fault.Fault{Delay: delay}})
	begun := time.Now()
	s.must(s.apply("a"))
	if took := time.Since(begun); took < delay {
		t.Errorf("the answer took %s, want at least %s", took, delay)
	}
}

// A killed process does not hear what became of its request, which the server has heard of or has not.
func TestHooksKillBeforeAndAfter(t *testing.T) {
	s := open(t)
	var state []bool
	look := func(r fault.Request) { state = append(state, s.there(r.Name)) }
	s.proxy.Set(
		fault.Rule{Name: "a", Fault: fault.Fault{Kind: fault.ResetBefore, Before: look}},
		fault.Rule{Name: "b", Fault: fault.Fault{Kind: fault.ResetAfter, Before: look, After: look}},
		fault.Rule{Name: "c", Fault: fault.Fault{Before: look, After: look}},
	)
	if a, b, c := s.apply("a"), s.apply("b"), s.apply("c"); !isReset(a) || !isReset(b) || c != nil {
		t.Errorf("got %v, %v, %v, want two resets", a, b, c)
	}
	if want := []bool{false, false, true, false, true}; !slices.Equal(state, want) {
		t.Errorf("the server had done it: %v, want %v", state, want)
	}
}

func TestLists(t *testing.T) {
	s := open(t)
	for _, name := range []string{"a", "b", "c"} {
		s.put(name)
	}
	s.proxy.Set(fault.Rule{Verb: "list", Fault: fault.Fault{Kind: fault.Cut}})
	if _, err := s.list(); !isCut(err) {
		t.Errorf("a list that is cut: got %v", err)
	}
	if all, err := s.list(); err != nil || len(all.Items) != 3 {
		t.Errorf("the next list: got %d items, %v", len(all.Items), err)
	}
	s.proxy.Set(fault.Rule{Continued: true, Fault: fault.Fault{Kind: fault.Refuse, Code: 410}})
	first, err := s.list("limit", "2")
	if err != nil || len(first.Items) != 2 || first.Continue == "" {
		t.Fatalf("first page: got %d items, %v", len(first.Items), err)
	}
	if _, err := s.list("limit", "2", "continue", first.Continue); !apierrors.IsResourceExpired(err) {
		t.Errorf("second page of an expired list: got %v", err)
	}
	s.proxy.Set(fault.Rule{Verb: "list", Fault: fault.Fault{Kind: fault.Forget}})
	first, err = s.list("limit", "2")
	if err != nil || len(first.Items) != 2 || first.Continue != "" || first.RemainingItemCount == nil {
		t.Errorf("a list without its token: got %d items, %+v, %v", len(first.Items), first.ListMeta, err)
	}
	s.proxy.Set(fault.Rule{Verb: "list", Fault: fault.Fault{Kind: fault.Refuse, Code: 404}})
	if _, err := s.list(); !apierrors.IsNotFound(err) {
		t.Errorf("a list of what is not served: got %v", err)
	}
}

// A closed proxy leaves nothing and can be closed again; what it did not answer fails.
func TestCloseTwice(t *testing.T) {
	s := open(t)
	s.must(s.apply("a"))
	s.must(s.proxy.Close())
	s.must(s.proxy.Close())
	address := strings.TrimPrefix(s.proxy.Config().Host, "https://")
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connect to a closed proxy: got %v", err)
	}
	if s.apply("b") == nil {
		t.Error("a closed proxy answers")
	}
	other, err := faultproxy.New(live.Config)
	s.must(err)
	s.must(other.Close())
}

package faultproxy_test

import (
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/linkwright/linkwright/hack/fault"
)

const patience = 2 * time.Minute

// event is the next of a watch in words, "end" at its end.
func (s *scene) event(w watch.Interface) string {
	s.Helper()
	select {
	case e, ok := <-w.ResultChan():
		switch o := e.Object.(type) {
		case *corev1.Secret:
			return string(e.Type) + " " + o.Name
		case *metav1.Status:
			if apierrors.IsResourceExpired(apierrors.FromObject(o)) {
				return string(e.Type) + " expired"
			}
			return string(e.Type) + " " + o.Message
		}
		if !ok {
			return "end"
		}
		return string(e.Type)
	case <-time.After(patience):
		return "nothing"
	}
}

// await is for what happens by itself.
func (s *scene) await(is func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.Fatal("it did not come to be in time")
		}
	}
}

// watching opens a watch from now on, in JSON or protobuf.
func (s *scene) watching(contentType string) watch.Interface {
	s.Helper()
	list, err := s.past.CoreV1().Secrets(s.ns).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	config := s.proxy.Config()
	config.ContentType, config.AcceptContentTypes = contentType, contentType+",application/json"
	w, err := s.client(config).CoreV1().Secrets(s.ns).Watch(s.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	s.must(err)
	s.Cleanup(w.Stop)
	return w
}

func TestWatches(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		for _, c := range []struct {
			name  string
			fault fault.Fault
			want  []string // for the creation of a, b and c
		}{
			{"pass", fault.Fault{}, []string{"ADDED a", "ADDED b", "ADDED c"}},
			{"delay", fault.Fault{Delay: 50 * time.Millisecond}, []string{"ADDED a", "ADDED b", "ADDED c"}},
			{"end", fault.Fault{Kind: fault.End}, []string{"end"}},
			{"end later", fault.Fault{Kind: fault.End, Events: 2}, []string{"ADDED a", "ADDED b", "end"}},
			{"cut", fault.Fault{Kind: fault.Cut, Events: 1}, []string{"ADDED a", "end"}},
			{"expire", fault.Fault{Kind: fault.Expire, Events: 1}, []string{"ADDED a", "ERROR expired", "end"}},
		} {
			t.Run(c.name+" "+contentType, func(t *testing.T) {
				s := open(t)
				s.proxy.Set(fault.Rule{Verb: "watch", Resource: "secrets", Fault: c.fault})
				w := s.watching(contentType)
				for _, name := range []string{"a", "b", "c"} {
					s.put(name)
				}
				for i, want := range c.want {
					if got := s.event(w); got != want {
						t.Fatalf("event %d: got %s, want %s", i, got, want)
					}
				}
			})
		}
	}
}

// What is cut in the middle of an event is half of it, and then the end of the connection.
func TestCutWatch(t *testing.T) {
	s := open(t)
	s.proxy.Set(fault.Rule{Verb: "watch", Fault: fault.Fault{Kind: fault.Cut}})
	s.put("a")
	body, err := s.via.CoreV1().RESTClient().Get().Namespace(s.ns).Resource("secrets").Param("watch", "1").Stream(t.Context())
	s.must(err)
	got, err := io.ReadAll(body)
	if !isCut(err) || !strings.HasPrefix(string(got), `{"type":"ADDED","object":{`) || strings.Contains(string(got), "\n") {
		t.Errorf("got %q, %v, want half an event and an unexpected end", got, err)
	}
	s.must(body.Close())
}

// A silent watch neither shows nor ends, while another shows everything.
func TestSilence(t *testing.T) {
	s := open(t)
	s.proxy.Set(fault.Rule{Verb: "watch", Nth: 1, Fault: fault.Fault{Kind: fault.Silence, Events: 1}})
	silent, other := s.watching("application/json"), s.watching("application/json")
	for _, name := range []string{"a", "b"} {
		s.put(name)
		if got := s.event(other); got != "ADDED "+name {
			t.Errorf("the other watch: got %s", got)
		}
	}
	if got := s.event(silent); got != "ADDED a" {
		t.Errorf("before the silence: got %s", got)
	}
	select {
	case e := <-silent.ResultChan():
		t.Errorf("the silent watch shows %v", e)
	case <-time.After(200 * time.Millisecond):
	}
}

// A watch that is refused, or is reset before it begins, is an error of the request.
func TestWatchThatDoesNotBegin(t *testing.T) {
	s := open(t)
	begin := func() error {
		return s.via.CoreV1().RESTClient().Get().Namespace(s.ns).Resource("secrets").Param("watch", "1").MaxRetries(0).
			Do(t.Context()).Error()
	}
	s.proxy.Set(
		fault.Rule{Verb: "watch", Nth: 1, Fault: fault.Fault{Kind: fault.Refuse, Code: 410}},
		fault.Rule{Verb: "watch", Nth: 2, Fault: fault.Fault{Kind: fault.ResetBefore}},
		fault.Rule{Verb: "watch", Nth: 3, Fault: fault.Fault{Kind: fault.ResetAfter}},
	)
	if err := begin(); !apierrors.IsResourceExpired(err) {
		t.Errorf("refused: got %v", err)
	}
	for _, when := range []string{"before", "after"} {
		if err := begin(); !isReset(err) {
			t.Errorf("reset %s: got %v", when, err)
		}
	}
}

package cluster

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// framed reads one frame as a watch does.
func framed(text string) (got metav1.WatchEvent, err error) {
	s := &stream{}
	err = s.decode(&http.Response{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))})
	if err != nil {
		return got, err
	}
	raw, err := s.wait()
	if err != nil {
		return got, err
	}
	return s.frame(raw)
}

// A frame that is taken apart is checked as one that is decoded would be: nothing behind it reads all of it again.
func TestFramesOfJSON(t *testing.T) {
	const one = `{"metadata":{"name":"a"}}`
	for _, c := range []struct {
		frame, kind, object string
		ok                  bool
	}{
		{`{"type":"ADDED","object":` + one + `}`, "ADDED", one, true},
		{"{ \"object\" : " + one + " ,\n\"type\":\"MODIFIED\", \"more\":[1]}\n", "MODIFIED", one, true},
		{`{"object":` + one + `}`, "", one, true},
		{`{"type":"ADDED","object":{"metadata":{"name":"` + strings.Repeat("a", 999) + `",}}}`, "", "", false}, // longer than a head
		{`{"type":"ADDED","object":{"metadata":{"name":"a",}}}`, "", "", false},
		{`{"type":"ADDED","object":` + one, "", "", false},
		{`{"type":1,"object":` + one + `}`, "", one, false},
		{`["ADDED"]`, "", "", false},
	} {
		got, err := framed(c.frame)
		if (err == nil) != c.ok || got.Type != c.kind || string(got.Object.Raw) != c.object {
			t.Errorf("%s: %q, %s, %v", c.frame, got.Type, got.Object.Raw, err)
		}
	}
}

// endless is a body that never ends.
type endless struct{ told int }

func (e *endless) Read(p []byte) (int, error) {
	e.told += len(p)
	return copy(p, strings.Repeat(" ", len(p))), nil
}

// A server that does not end what it tells is not listened to for ever.
func TestFramesEnd(t *testing.T) {
	for _, form := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		var reported endless
		s := &stream{}
		err := s.decode(&http.Response{Header: http.Header{"Content-Type": {form + ";stream=watch"}}, Body: io.NopCloser(&reported)})
		if err != nil {
			t.Fatal(err)
		}
		end := (*endOfWatch)(nil)
		if _, err := s.wait(); !errors.Is(err, errTooMuch) || errors.As(err, &end) || reported.told > 2*mostFrame {
			t.Errorf("%s: after %d bytes: %v", form, reported.told, err)
		}
	}
	for _, length := range []int64{-1, 1 << 40} {
		var reported endless
		raw, err := all(&http.Response{ContentLength: length, Body: io.NopCloser(&reported)})
		if !errors.Is(err, errTooMuch) || len(raw) > mostFrame || reported.told > 2*mostFrame {
			t.Errorf("an answer: after %d bytes: %d, %v", reported.told, len(raw), err)
		}
	}
}

// What client-go reads whole has an end, too, and the error says which.
func TestAnswersEnd(t *testing.T) {
	var reported endless
	c, err := connect(&rest.Config{Host: "https://east.example"}, Options{Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper {
		return says(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(&reported)}, nil
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	_, err = c.Observe(t.Context(), []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns"}})
	if !errors.Is(err, errTooLong) || reported.told > 2*mostAnswer {
		t.Errorf("after %d MiB: got %v, want that it is too long", reported.told>>20, err)
	}
}

// says is a transport that asks nobody.
type says func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (s says) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func TestLabelsOf(t *testing.T) {
	for body, want := range map[string]map[string]string{
		`{"spec":{"labels":{"a":"x"}},"metadata":{"name":"n","labels":{"a":"b\"c"}}}`: {"a": `b"c`},
		`{"metadata":{"labels":null}}`:    nil,
		`{"metadata":{"labels":{"a":1}}}`: nil,
		`{"metadata":{"name":"n"}}`:       nil,
		`{"spec":{}}`:                     nil,
	} {
		if got := labelsOf(object.NewBody([]byte(body))); !maps.Equal(got, want) {
			t.Errorf("%s: %v", body, got)
		}
	}
}

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// heardBy returns a server that keeps what it was asked, in words, and always answers the same.
func heardBy(t *testing.T, say http.HandlerFunc) (at string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, fmt.Sprintf("%s %s %v %s", r.Method, r.RequestURI, r.Header, body))
		mu.Unlock()
		say(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := all
		all = nil
		return out
	}
}

// inProtobuf returns an answer as API servers give it.
func inProtobuf(t *testing.T, of runtime.Object) string {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	var out bytes.Buffer
	if err := metascheme.Codecs.EncoderForVersion(info.Serializer, metav1.SchemeGroupVersion).Encode(of, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func answer(code int, form, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if form != "" {
			w.Header().Set("Content-Type", form)
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// What is sent without client-go is what client-go sends, and whatever is answered is understood as client-go does.
func TestDirectIsAsClientGo(t *testing.T) {
	meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "a:b c", UID: "u", ResourceVersion: "7", Labels: map[string]string{"x": "y"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}},
	}}
	const inJSON = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u"}}`
	failure := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","details":{"name":"a","retryAfterSeconds":9},"code":403}`
	const protobuf, plain = runtime.ContentTypeProtobuf, "text/plain"
	whole := inProtobuf(t, meta)
	moved := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				answer(200, protobuf, whole)(w, r)
				return
			}
			http.Redirect(w, r, "/elsewhere", code)
		}
	}
	for name, say := range map[string]http.HandlerFunc{
		"metadata":               answer(200, protobuf, whole),
		"created":                answer(201, protobuf, whole),
		"accepted":               answer(202, protobuf, whole),
		"in JSON":                answer(200, runtime.ContentTypeJSON, inJSON),
		"another one":            answer(200, protobuf, inProtobuf(t, &metav1.PartialObjectMetadataList{})),
		"a failure as a success": answer(200, runtime.ContentTypeJSON, failure),
		"nothing":                answer(200, protobuf, ""),
		"mangled":                answer(200, protobuf, whole[:len(whole)-9]),
		"cut off":                answer(200, protobuf, whole[:50], "Content-Length", "900"),
		"in pieces": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", protobuf)
			for _, part := range []string{whole[:20], whole[20:]} {
				_, _ = io.WriteString(w, part)
				w.(http.Flusher).Flush()
			}
		},
		"no form":         answer(200, "", whole),
		"a form of ours":  answer(200, "application/x-linkwright", whole),
		"a broken form":   answer(200, "application/;;", whole),
		"refused":         answer(403, runtime.ContentTypeJSON, failure),
		"refused in text": answer(403, plain, "go away"),
		"invalid, bare":   answer(422, runtime.ContentTypeJSON, ""),
		"busy":            answer(429, plain, "later", "Retry-After", "300"),
		"asked again":     answer(429, plain, "later", "Retry-After", "0"),
		"busy as status":  answer(429, runtime.ContentTypeJSON, failure, "Retry-After", "300"),
		"down":            answer(503, "text/html", "<html>", "Retry-After", "200"),
		"moved":           moved(301),
		"moved, kept":     moved(307),
		"not modified":    answer(304, "", ""),
		"a warning":       answer(200, protobuf, whole, "Warning", `299 - "old"`),
		"unsupported":     answer(415, runtime.ContentTypeJSON, failure),
		"hung up":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		for _, at := range []string{"", "/k8s/clusters/c-1/"} {
			t.Run(name+at, func(t *testing.T) {
				host, asked := heardBy(t, say)
				c, err := connect(&rest.Config{Host: host + at, BearerToken: "b"}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer c.close()
				for _, kind := range []types.PatchType{types.ApplyPatchType, types.MergePatchType} {
					p := patchRequest{kind, []string{"apis", "g", "v1", "namespaces", "n", "things", "a:b c?d#é"}, "linkwright-b&c", []byte(`{"a":1}`)}
					sameAsClientGo(t, c, p, asked)
				}
			})
		}
	}
}

// sameAsClientGo sends a PATCH both ways.
func sameAsClientGo(t *testing.T, c *Client, p patchRequest, asked func() []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, ours := c.direct.send(ctx, p)
	got := asked()
	if m == nil {
		ours = resultOf(t, &m, ours)
	}
	theirs := p.request(c.rest).SetHeader("Accept", acceptMeta).Do(ctx)
	if diff := cmp.Diff(asked(), got); diff != "" {
		t.Errorf("asked: -client-go's +ours\n%s", diff)
	}
	var want *metav1.ObjectMeta
	theirs = resultOf(t, &want, theirs)
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("metadata: -client-go's +ours\n%s", diff)
	}
	if diff := cmp.Diff(saidBy(theirs), saidBy(ours)); diff != "" {
		t.Errorf("result: -client-go's +ours\n%s", diff)
	}
}

// resultOf reads the metadata of a result, if it has some.
func resultOf(t *testing.T, m **metav1.ObjectMeta, of rest.Result) rest.Result {
	t.Helper()
	if got, err := metaOf(of); err == nil {
		*m = got
		return rest.Result{}
	}
	return of
}

// saidBy returns all that is asked of a result that holds no metadata. Ports differ between two connections.
func saidBy(of rest.Result) []string {
	out := []string{fmt.Sprint(of.Error())}
	_, err := metaOf(of)
	out = append(out, fmt.Sprint(err))
	raw, err := of.Raw()
	out = append(out, string(raw), fmt.Sprint(err))
	for _, e := range []error{of.Error(), err} {
		if status := apierrors.APIStatus(nil); errors.As(e, &status) {
			out = append(out, fmt.Sprint(status.Status().Reason, status.Status().Code))
		}
		out = append(out, string(Explain(e).Code))
	}
	return out
}

func TestDirectOfNobody(t *testing.T) {
	host, _ := heardBy(t, func(http.ResponseWriter, *http.Request) {})
	c, err := connect(&rest.Config{Host: strings.Replace(host, "http://", "https://", 1)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	p := patchRequest{types.ApplyPatchType, []string{"api", "v1", "things"}, "m", []byte(`{}`)}
	_, ours := c.direct.send(t.Context(), p)
	theirs := p.request(c.rest).MaxRetries(0).Do(t.Context())
	if diff := cmp.Diff(saidBy(theirs), saidBy(ours)); diff != "" || ours.Error() == nil {
		t.Errorf("-client-go's +ours\n%s", diff)
	}
}

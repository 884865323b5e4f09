package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	exactly "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/linkwright/linkwright/object"
)

// frames are what an API server told in watches, as it stood on the wire.
func frames(f *testing.F, form string) {
	f.Helper()
	names, err := filepath.Glob("testdata/frames/*." + form)
	if err != nil || len(names) == 0 {
		f.Fatalf("no frames of %s: %v", form, err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
}

// taken reads the first event of a watch.
func taken(raw []byte, form string, as reading) (event, error) {
	s := &stream{conn: &conn{owner: object.DefaultOwner}, as: as}
	err := s.decode(&http.Response{Header: http.Header{"Content-Type": {form}}, Body: io.NopCloser(bytes.NewReader(raw))})
	if err != nil {
		return event{}, err
	}
	frame, err := s.wait()
	if err != nil {
		return event{}, err
	}
	return s.event(frame)
}

// FuzzEvent: an event that is taken apart is what a decoder of all of it would make of it, and what that one refuses is refused.
func FuzzEvent(f *testing.F) {
	frames(f, "json")
	f.Add([]byte(`{"typ\u0065":"ADDED","object":{},"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","labels":{"a\"}":"\\"}}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`))
	as := reading{resource: resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}, extent: extent{depth: object.Whole}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := taken(raw, runtime.ContentTypeJSON, as)
		want, body, wrong := decodedEvent(raw)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%s: %v; of a decoder: %v", raw, err, wrong)
		}
		if err != nil {
			return
		}
		if got.kind != want.kind || got.at != want.at || got.item.Name != want.item.Name ||
			got.item.Namespace != want.item.Namespace || got.item.Record != want.item.Record {
			t.Errorf("%s: got %+v; of a decoder %+v", raw, got, want)
		}
		if got.kind == watch.Bookmark {
			return
		}
		if diff := cmp.Diff(body, members(got.item.Body.Bytes())); diff != "" {
			t.Errorf("%s: the body: -of a decoder +got\n%s", raw, diff)
		}
	})
}

// decodedEvent decodes the first event of a watch of ConfigMaps, and the body of its object, from its beginning to its end.
func decodedEvent(raw []byte) (e event, body map[string]any, err error) {
	var all json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&all); err != nil {
		return e, nil, err
	}
	if string(all) == "null" {
		return e, nil, errors.New("it is nothing")
	}
	var frame struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := exactly.Unmarshal(all, &frame); err != nil {
		return e, nil, err
	}
	if e.kind = frame.Type; e.kind == watch.Bookmark {
		var mark struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		}
		err := exactly.Unmarshal(frame.Object, &mark)
		e.at = mark.Metadata.ResourceVersion
		return e, nil, err
	}
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := exactly.Unmarshal(frame.Object, &o); err != nil {
		return e, nil, err
	}
	switch {
	case e.kind != watch.Added && e.kind != watch.Modified && e.kind != watch.Deleted:
		return e, nil, errors.New("it is no such event")
	case o.Metadata.Name == "":
		return e, nil, errors.New("it has no name")
	}
	body = members(frame.Object)
	if meta, ok := body["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
	} else {
		body["metadata"] = map[string]any{} // it was said twice
	}
	body["apiVersion"], body["kind"] = "v1", "ConfigMap"
	e.item.Name, e.item.Namespace, e.at = o.Metadata.Name, o.Metadata.Namespace, o.Metadata.ResourceVersion
	e.item.Record = object.Reduce(&o.Metadata, object.DefaultOwner)
	return e, body, nil
}

// members decodes an object; numbers stay as they are written.
func members(raw []byte) (all map[string]any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return nil
	}
	return all
}

// FuzzMetaIn: metadata that is found without looking for its kind first is what a decoder finds, and none is passed over.
func FuzzMetaIn(f *testing.F) {
	frames(f, "protobuf")
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := metaIn(raw)
		got, kind, err := metascheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		want, ok := got.(*metav1.PartialObjectMetadata)
		if !ok || err != nil || kind.GroupVersion() != metav1.SchemeGroupVersion || !bytes.HasPrefix(raw, []byte("k8s\x00")) {
			if m != nil {
				t.Fatalf("%q: %+v; of a decoder: %T, %v", raw, m, got, err)
			}
			return
		}
		if m == nil {
			t.Fatalf("%q: nothing; of a decoder: %+v", raw, want)
		}
		if diff := cmp.Diff(want.ObjectMeta, m.ObjectMeta); diff != "" {
			t.Errorf("%q: -of a decoder +got\n%s", raw, diff)
		}
	})
}

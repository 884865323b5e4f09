package memcluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// bookmarkEvery is how often an API server reports how far a watch is.
const bookmarkEvery = time.Minute

// metaOnly says that a request wants metadata alone, in protobuf.
func metaOnly(q *http.Request) bool {
	return strings.Contains(q.Header.Get("Accept"), "protobuf;as=Partial")
}

func protobuf() runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return info
}

func partial(u *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	out := &metav1.PartialObjectMetadata{}
	metadata, _ := u.Object["metadata"].(map[string]any)
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &out.ObjectMeta)
	out.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	return out, err
}

// encoded is an object as a request wants it.
func encoded(q *http.Request, u *unstructured.Unstructured) ([]byte, error) {
	if !metaOnly(q) {
		return json.Marshal(u.Object)
	}
	m, err := partial(u)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(protobuf().Serializer, m)
}

func sendObject(w http.ResponseWriter, q *http.Request, u *unstructured.Unstructured) error {
	raw, err := encoded(q, u)
	return send(w, q, raw, err)
}

func send(w http.ResponseWriter, q *http.Request, raw []byte, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if metaOnly(q) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	}
	_, _ = w.Write(raw) // who asked says what is missing
	return nil
}

func sendList(w http.ResponseWriter, q *http.Request, a asked, of metav1.ListMeta, page []*unstructured.Unstructured) error {
	if metaOnly(q) {
		list := &metav1.PartialObjectMetadataList{ListMeta: of}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
		for _, u := range page {
			m, err := partial(u)
			if err != nil {
				return err
			}
			list.Items = append(list.Items, *m)
		}
		raw, err := runtime.Encode(protobuf().Serializer, list)
		return send(w, q, raw, err)
	}
	items := []any{}
	for _, u := range page {
		items = append(items, u.Object)
	}
	raw, err := json.Marshal(map[string]any{"apiVersion": a.of.GroupVersion().String(), "kind": a.of.Kind + "List", "metadata": of, "items": items})
	return send(w, q, raw, err)
}

// watch sends changes until the request ends.
func (h handler) watch(w http.ResponseWriter, q *http.Request, a asked) error {
	matches, err := a.matches(q)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if metaOnly(q) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	}
	to, next, bookmark := http.NewResponseController(w), 0, time.NewTicker(bookmarkEvery)
	defer bookmark.Stop()
	for {
		events, reached, moved := h.since(a.of.GroupKind(), next, matches)
		next = reached
		for _, e := range events {
			if versionOf(e.object) <= fromVersion(q) {
				continue
			}
			raw, err := frame(q, e)
			if err != nil {
				return err
			}
			_, _ = w.Write(raw) // that it is lost shows the flush
		}
		if to.Flush() != nil {
			return nil
		}
		select {
		case <-q.Context().Done():
			return nil
		case <-moved:
		case <-bookmark.C:
			if err := h.bookmark(w, q, a); err != nil {
				return err
			}
		}
	}
}

func fromVersion(q *http.Request) int {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetResourceVersion(q.URL.Query().Get("resourceVersion"))
	return versionOf(u)
}

func (h handler) bookmark(w http.ResponseWriter, q *http.Request, a asked) error {
	h.mu.Lock()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": fmt.Sprint(h.version)}}}
	h.mu.Unlock()
	u.SetGroupVersionKind(a.of)
	raw, err := frame(q, shown{"BOOKMARK", u})
	_, _ = w.Write(raw) // as above
	return err
}

// frame is an event on the wire.
func frame(q *http.Request, e shown) ([]byte, error) {
	raw, err := encoded(q, e.object)
	if err != nil {
		return nil, err
	}
	if !metaOnly(q) {
		return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", e.kind, raw), nil
	}
	event, err := runtime.Encode(protobuf().StreamSerializer, &metav1.WatchEvent{Type: e.kind, Object: runtime.RawExtension{Raw: raw}})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = protobuf().StreamSerializer.NewFrameWriter(&out).Write(event)
	return out.Bytes(), err
}

// resources is the discovery of a version.
func (h handler) resources(gv schema.GroupVersion) metav1.APIResourceList {
	out := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	h.mu.Lock()
	defer h.mu.Unlock()
	for of, k := range h.kinds {
		if of.Group == gv.Group && h.find(of.WithVersion(gv.Version)) != nil {
			plural, _ := meta.UnsafeGuessKindToResource(of.WithVersion(gv.Version))
			out.APIResources = append(out.APIResources, metav1.APIResource{
				Name: plural.Resource, Kind: of.Kind, Namespaced: k.namespaced,
				Verbs: metav1.Verbs{"create", "get", "list", "patch", "update", "watch"},
			})
		}
	}
	return out
}

// groups is the discovery of all groups.
func (h handler) groups() metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string]bool{"": true}
	for of, k := range h.kinds {
		if seen[of.Group] {
			continue
		}
		seen[of.Group] = true
		g := metav1.APIGroup{Name: of.Group}
		for _, v := range k.versions {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: of.Group + "/" + v, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		out.Groups = append(out.Groups, g)
	}
	return out
}

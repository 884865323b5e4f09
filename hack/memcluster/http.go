package memcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/linkwright/linkwright/object"
)

// Handler serves the cluster over HTTP, as far as a daemon needs it: discovery, lists, watches, server-side apply, and PUT and POST, such as of
// Leases. Anybody may do anything. A watch begins with all changes since the handler was made.
func (c *Cluster) Handler() http.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = served{by: map[schema.GroupKind][]servedChange{}, moved: make(chan struct{})}
	return handler{c}
}

type handler struct{ *Cluster }

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if err := h.serve(w, q); err != nil {
		status := apierrors.NewInternalError(err)
		if api, ok := err.(apierrors.APIStatus); ok {
			status = &apierrors.StatusError{ErrStatus: api.Status()}
		}
		status.ErrStatus.APIVersion, status.ErrStatus.Kind = "v1", "Status"
		reply(w, int(status.ErrStatus.Code), status.ErrStatus)
	}
}

func reply(w http.ResponseWriter, code int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // who asked says what is missing
}

// asked is a request for objects.
type asked struct {
	of              schema.GroupVersionKind
	namespace, name string
}

func (h handler) serve(w http.ResponseWriter, q *http.Request) error {
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	if slices.Equal(parts, []string{"apis"}) {
		reply(w, http.StatusOK, h.groups())
		return nil
	}
	gv := schema.GroupVersion{Version: at(parts, 1)}
	rest := parts[min(2, len(parts)):]
	if parts[0] == "apis" {
		gv, rest = schema.GroupVersion{Group: at(parts, 1), Version: at(parts, 2)}, parts[min(3, len(parts)):]
	}
	resources := h.resources(gv)
	if len(rest) == 0 && len(resources.APIResources) > 0 {
		reply(w, http.StatusOK, resources)
		return nil
	}
	a, ok := target(resources, rest)
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: gv.Group, Resource: strings.Join(rest, "/")}, "")
	}
	a.of.Group, a.of.Version = gv.Group, gv.Version
	return h.objects(w, q, a)
}

func at(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return ""
}

// target reads what comes after the version in a path.
func target(resources metav1.APIResourceList, rest []string) (a asked, ok bool) {
	if len(rest) > 2 && rest[0] == "namespaces" {
		a.namespace, rest = rest[1], rest[2:]
	}
	if len(rest) == 0 || len(rest) > 2 {
		return a, false
	}
	for _, r := range resources.APIResources {
		if r.Name == rest[0] {
			a.of.Kind, a.name = r.Kind, at(rest, 1)
			return a, true
		}
	}
	return a, false
}

func (h handler) objects(w http.ResponseWriter, q *http.Request, a asked) error {
	switch {
	case q.Method == http.MethodGet && q.URL.Query().Get("watch") != "":
		return h.watch(w, q, a)
	case q.Method == http.MethodGet && a.name == "":
		return h.listed(w, q, a)
	case q.Method == http.MethodGet:
		return h.one(w, q, a)
	case q.Method == http.MethodDelete:
		return apierrors.NewMethodNotSupported(schema.GroupResource{Group: a.of.Group, Resource: a.of.Kind}, "delete")
	}
	return h.written(w, q, a)
}

// matches selects what a request asks for.
func (a asked) matches(q *http.Request) (match, error) {
	selector, err := labels.Parse(q.URL.Query().Get("labelSelector"))
	name := strings.TrimPrefix(q.URL.Query().Get("fieldSelector"), "metadata.name=")
	return func(k object.Key, u *unstructured.Unstructured) bool {
		return (a.namespace == "" || a.namespace == k.Namespace) && (name == "" || name == k.Name) && selector.Matches(labels.Set(u.GetLabels()))
	}, err
}

func (h handler) listed(w http.ResponseWriter, q *http.Request, a asked) error {
	matches, err := a.matches(q)
	if err != nil {
		return err
	}
	all, version := h.list(a.of.GroupKind(), matches)
	from, _ := strconv.Atoi(q.URL.Query().Get("continue")) // empty: from the first
	limit, _ := strconv.Atoi(q.URL.Query().Get("limit"))   // empty: all
	page, meta := all[min(from, len(all)):], metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}
	if limit > 0 && len(page) > limit {
		page, meta.Continue = page[:limit], strconv.Itoa(from+limit)
	}
	return sendList(w, q, a, meta, page)
}

func (h handler) one(w http.ResponseWriter, q *http.Request, a asked) error {
	h.mu.Lock()
	u := h.Cluster.objects[a.key()]
	h.mu.Unlock()
	if u == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: a.of.Group, Resource: a.of.Kind}, a.name)
	}
	return sendObject(w, q, u)
}

func (a asked) key() object.Key {
	return object.Key{Group: a.of.Group, Kind: a.of.Kind, Namespace: a.namespace, Name: a.name}
}

// written is a server-side apply, or the whole object.
func (h handler) written(w http.ResponseWriter, q *http.Request, a asked) error {
	want, err := bodyOf(q)
	if err != nil {
		return apierrors.NewBadRequest("the body is not an object: " + err.Error())
	}
	want.SetGroupVersionKind(a.of)
	if a.namespace != "" {
		want.SetNamespace(a.namespace)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	live, version := h.Cluster.objects[keyOf(want)], want.GetResourceVersion()
	if live != nil && (q.Method == http.MethodPost || version != "" && version != live.GetResourceVersion()) {
		return apierrors.NewConflict(schema.GroupResource{Group: a.of.Group, Resource: a.of.Kind}, want.GetName(), fmt.Errorf("it is of version %s", live.GetResourceVersion()))
	}
	for _, field := range []string{"resourceVersion", "uid"} {
		unstructured.RemoveNestedField(want.Object, "metadata", field)
	}
	now, err := h.store(q, want, live)
	if err != nil {
		return err
	}
	return sendObject(w, q, now)
}

// store needs the lock.
func (h handler) store(q *http.Request, want, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	manager := q.URL.Query().Get("fieldManager")
	if q.Method == http.MethodPatch {
		return h.apply(want, manager, true)
	}
	if live != nil {
		want.SetUID(live.GetUID())
		want.SetResourceVersion(live.GetResourceVersion())
		want.SetCreationTimestamp(live.GetCreationTimestamp())
	}
	return h.update(want, writer{name: manager})
}

// bodyOf reads an object in JSON, or a built-in one in protobuf.
func bodyOf(q *http.Request) (*unstructured.Unstructured, error) {
	raw, err := io.ReadAll(q.Body)
	out := &unstructured.Unstructured{}
	if err != nil || q.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
		return out, errors.Join(err, utiljson.Unmarshal(raw, &out.Object))
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err == nil {
		out.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	}
	return out, err
}

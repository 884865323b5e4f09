package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// group is where the kinds are that are watched.
var group = schema.GroupVersion{Group: "bench.linkwright.io", Version: "v1"} //nolint:gochecknoglobals // a constant

// kindOf and pluralOf name the i-th kind.
func kindOf(i int) string { return fmt.Sprintf("Thing%d", i) }

func pluralOf(i int) string { return strings.ToLower(kindOf(i)) + "s" }

// fakeServer is an API server in which nothing happens. It serves lists, and watches in protobuf.
type fakeServer struct {
	list, bookmark       []byte // bookmark is of a watch that goes on
	initial              []byte // what a watch begins with that is asked for all there is
	watches, connections atomic.Int64
}

// serveFake serves until the process ends, and prints its address in the first line.
func serveFake(ctx context.Context) error {
	p := &fakeServer{}
	if err := p.encode(); err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(p)
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			p.connections.Add(1)
		case http.StateClosed, http.StateHijacked:
			p.connections.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	server.StartTLS()
	at := address{Host: server.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// encode makes all that is ever answered about objects.
func (p *fakeServer) encode() error {
	proto, _ := kruntime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), kruntime.ContentTypeProtobuf)
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
	list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	for i := range objectsPerKind {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("thing-%d", i), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)), ResourceVersion: strconv.Itoa(900 + i),
		}}
		list.Items = append(list.Items, o)
	}
	var err error
	if p.list, err = kruntime.Encode(proto.Serializer, list); err != nil {
		return err
	}
	end := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1000"}}
	if p.bookmark, err = frame(proto, watch.Bookmark, end); err != nil {
		return err
	}
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	last, err := frame(proto, watch.Bookmark, end)
	for _, o := range list.Items {
		added, failed := frame(proto, watch.Added, o)
		p.initial, err = append(p.initial, added...), errors.Join(err, failed)
	}
	p.initial = append(p.initial, last...)
	return err
}

// frame is an event as it goes over a watch.
func frame(form kruntime.SerializerInfo, kind watch.EventType, o metav1.PartialObjectMetadata) ([]byte, error) {
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	raw, err := kruntime.Encode(form.Serializer, &o)
	if err != nil {
		return nil, err
	}
	event, err := kruntime.Encode(form.StreamSerializer, &metav1.WatchEvent{Type: string(kind), Object: kruntime.RawExtension{Raw: raw}})
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	_, err = form.StreamSerializer.NewFrameWriter(&out).Write(event)
	return []byte(out.String()), err
}

// ServeHTTP implements http.Handler.
func (p *fakeServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	of := "/apis/" + group.String()
	switch at := q.URL.Path; {
	case at == "/open":
		writeJSON(w, []int64{p.watches.Load(), p.connections.Load()})
	case at == of:
		writeJSON(w, served())
	case strings.HasPrefix(at, of+"/") && q.URL.Query().Get("watch") != "":
		p.watch(w, q)
	case strings.HasPrefix(at, of+"/"):
		w.Header().Set("Content-Type", kruntime.ContentTypeProtobuf)
		_, _ = w.Write(p.list) // who asked says what is missing
	default:
		http.NotFound(w, q)
	}
}

func writeJSON(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", kruntime.ContentTypeJSON)
	_ = json.NewEncoder(w).Encode(answer) // who asked says what is missing
}

// served is what discovery tells of the group.
func served() metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group.String()}
	for i := range watchesPerCluster {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: pluralOf(i), Kind: kindOf(i), Verbs: metav1.Verbs{"list", "watch"},
		})
	}
	return list
}

// watch sends bookmarks now and then, one watch after the other.
func (p *fakeServer) watch(w http.ResponseWriter, q *http.Request) {
	p.watches.Add(1)
	defer p.watches.Add(-1)
	w.Header().Set("Content-Type", kruntime.ContentTypeProtobuf+";stream=watch")
	to := http.NewResponseController(w)
	if q.URL.Query().Get("sendInitialEvents") == "true" {
		_, _ = w.Write(p.initial) // that it is lost shows the flush
	}
	next := time.NewTimer(rand.N(bookmarkEvery))
	defer next.Stop()
	for to.Flush() == nil {
		select {
		case <-q.Context().Done():
			return
		case <-next.C:
			next.Reset(bookmarkEvery)
			_, _ = w.Write(p.bookmark) // as above
		}
	}
}

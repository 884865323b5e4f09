package cluster

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// mostRetained is what may be kept of one object of linkwright, in bytes.
const mostRetained = 350

// fromWire returns the metadata of an object of linkwright as it comes from the wire: nothing in it is shared.
func fromWire(tb testing.TB, i int) *metav1.ObjectMeta {
	tb.Helper()
	text := fmt.Sprintf(`{"name":"linkerd-service-mirror-cluster-%05d","namespace":"linkerd-multicluster","resourceVersion":"%d",
		"uid":"5e9f4a6c-3b1d-4f6e-9d3a-%012d","labels":{"linkwright.dev/owner":"linkwright"},"annotations":{"linkwright.dev/digest":"%016x"},
		"managedFields":[{"manager":"linkwright","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":
		{"f:metadata":{"f:annotations":{"f:linkwright.dev/digest":{}},"f:labels":{"f:linkwright.dev/owner":{}}},"f:data":{"f:k":{}}}}]}`, i, 1_000_000+i, i, i+1)
	var m metav1.ObjectMeta
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		tb.Fatal(err)
	}
	return &m
}

// wholeWire returns a whole object of linkwright as it comes from the wire.
func wholeWire(tb testing.TB, i int) []byte {
	tb.Helper()
	var entries strings.Builder
	for _, kind := range []string{"Secret", "Service", "ServiceAccount", "Deployment", "Link", "Role", "RoleBinding", "ClusterRoleBinding"} {
		fmt.Fprintf(&entries, `{"kind":%q,"namespace":"linkerd-multicluster","name":"linkerd-service-mirror-cluster-%05d"},`, kind, i)
	}
	text, err := json.Marshal(map[string]any{"kind": "ConfigMap", "metadata": fromWire(tb, i), "data": map[string]string{"inventory.json": entries.String()}})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// retained fills a feed with so many objects, by a list or by events, hands an observation out, and says what one of them costs.
func retained(tb testing.TB, objects int, listed bool, depth object.Depth) float64 {
	tb.Helper()
	c, err := connect(&rest.Config{Host: "https://example.com"}, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	s := scope{location: location{kind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, namespace: "linkerd-multicluster"}, extent: extent{depth: depth}}
	f := &feed{scope: s, condition: complete, pending: map[object.Key]pendingWrite{}}
	c.feeds.open[s], c.feeds.scopes = f, []scope{s}
	before := heap()
	var all listing
	for i := range objects {
		it, err := c.arrived(tb, s, i)
		switch {
		case err != nil:
			tb.Fatal(err)
		case listed:
			all.items = append(all.items, it)
		default:
			c.feeds.apply(f, event{kind: watch.Added, item: it, at: it.Record.ResourceVersion})
		}
	}
	if listed {
		all.at = "2000000"
		c.feeds.fill(f, all, 0)
	}
	all = listing{}
	c.feeds.take()
	observed, _, err := c.feeds.observe(c.reader)
	if err != nil || observed.Len() != objects {
		tb.Fatalf("got %d objects and %v, want %d", observed.Len(), err, objects)
	}
	per := float64(heap()-before) / float64(objects)
	runtime.KeepAlive(observed)
	runtime.KeepAlive(c)
	return per
}

// arrived returns an item as feeds take it.
func (c *Client) arrived(tb testing.TB, s scope, i int) (it object.Item, err error) {
	as := s.reading(resource{GroupVersionKind: s.kind})
	if as.whole() {
		it, err = c.wholeItem(wholeWire(tb, i), as)
	} else {
		it, err = c.metaItem(fromWire(tb, i), as)
	}
	return it, err
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestRetained(t *testing.T) {
	for _, listed := range []bool{true, false} {
		// Of an object that is read whole, as inventories are, its text is kept as well.
		whole := mostRetained + float64(len(wholeWire(t, 0)))
		for depth, most := range map[object.Depth]float64{object.Reduced: mostRetained, object.Whole: whole} {
			if got := retained(t, 10_000, listed, depth); got > most {
				t.Errorf("an object (listed: %v, depth %d) costs %.0f B, want at most %.0f", listed, depth, got, most)
			}
		}
	}
}

func BenchmarkRetained(b *testing.B) {
	for _, listed := range []bool{true, false} {
		b.Run(fmt.Sprintf("listed=%v", listed), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(retained(b, 10_000, listed, object.Reduced), "B/object")
				b.ReportMetric(retained(b, 10_000, listed, object.Whole), "B/whole")
			}
		})
	}
}

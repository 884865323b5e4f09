package cluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// twoClients are of one registry.
func twoClients(t *testing.T) (east, west *Client) {
	t.Helper()
	o := Options{}.withDefaults()
	clients := make([]*Client, 2)
	for i := range clients {
		c, err := connect(&rest.Config{Host: "http://cluster.invalid"}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.close)
		clients[i] = c
	}
	return clients[0], clients[1]
}

// What is alike is kept as a difference: in all clusters, or of Secrets in one alone; what is long, and a Secret that is
// asked for by name, never, and nothing is kept as a difference from it.
func TestPacked(t *testing.T) {
	body := func(i, size int) object.Body {
		return object.NewBody(fmt.Appendf(nil, `{"metadata":{"name":"body-%d"},"data":{"k":%q}}`, i, strings.Repeat("what is the same in all ", size/24)))
	}
	for _, tt := range []struct {
		name, kind, named string
		size              int
		near, far         bool // packed: of two in one cluster the second, and one in another cluster
	}{
		{name: "a kind", kind: "ConfigMap", size: 1000, near: true, far: true},
		{name: "by name", kind: "ConfigMap", named: "a", size: 1000, near: true, far: true},
		{name: "Secrets", kind: "Secret", size: 1000, near: true},
		{name: "a Secret by name", kind: "Secret", named: "a", size: 1000},
		{name: "long ones", kind: "ConfigMap", size: mostPacked + 24},
	} {
		east, west := twoClients(t)
		s := scope{place: place{kind: schema.GroupVersionKind{Version: "v1", Kind: tt.kind}, name: tt.named}}
		first, second, third := body(1, tt.size), body(2, tt.size), body(3, tt.size)
		if east.packed(s, first) != first {
			t.Errorf("%s: the first is packed", tt.name)
		}
		near, far := east.packed(s, second), west.packed(s, third)
		if got := near != second; got != tt.near {
			t.Errorf("%s: the second is packed: %v", tt.name, got)
		}
		if got := far != third; got != tt.far {
			t.Errorf("%s: one in another cluster is packed: %v", tt.name, got)
		}
		if !near.Equal(second) || !far.Equal(third) {
			t.Errorf("%s: what is kept is not what came", tt.name)
		}
		if kept := len(east.alike.of) + len(east.secrets.of) + len(west.secrets.of); kept > 0 && !tt.near {
			t.Errorf("%s: %d samples are kept", tt.name, kept)
		}
	}
}

// BenchmarkLikeNothing is what a cluster costs that shows nothing that is like anything: four samples are tried in vain.
func BenchmarkLikeNothing(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	s := newSamples()
	for b.Loop() {
		text := make([]byte, mostPacked)
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		s.like(sampled{}, object.NewBody(text))
	}
}

package cluster

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// samples are bodies that others are kept as differences from: inventories, Linkerd Links or what facts are read from are
// much the same in all clusters. Secrets are compared with those of their own cluster alone, so that none stays behind when
// that is closed; until then a few may be kept that are gone there.
type samples struct {
	mu sync.Mutex
	of map[sampled][]object.Body // the newest first
}

type sampled struct {
	kind schema.GroupVersionKind
	name string // of a single object that is looked at: empty for all others
}

const (
	// mostSamples are kept of a kind: what is like none of them takes the place of the oldest.
	mostSamples = 4
	// mostPacked bounds the bodies that are compared, in bytes: a longer one is kept as it is, and is no sample. One of 1 MiB
	// that is like nothing would cost all clusters 0.1 s of a processor, and one that is a sample would stay in memory.
	mostPacked = 64 << 10
)

func newSamples() *samples { return &samples{of: map[sampled][]object.Body{}} }

// like gives a body as what it differs in from a sample, or makes it one.
func (s *samples) like(key sampled, body object.Body) object.Body {
	s.mu.Lock()
	known := s.of[key]
	s.mu.Unlock()
	for _, sample := range known {
		if packed, ok := body.Like(sample); ok {
			return packed
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known = s.of[key]
	s.of[key] = slices.Concat([]object.Body{body}, known[:min(len(known), mostSamples-1)])
	return body
}

// pack has what came in take less memory.
func (c *Client) pack(of scope, items []object.Item) {
	for i := range items {
		items[i].Body = c.packed(of, items[i].Body)
	}
}

// packed gives a body that just came in as it is to be kept.
func (c *Client) packed(of scope, body object.Body) object.Body {
	key, size := sampled{of.kind, of.name}, len(body.Bytes())
	switch {
	case size == 0 || size > mostPacked:
		return body
	case of.kind.Kind != "Secret":
		return c.alike.like(key, body)
	case of.name != "":
		return body // like nothing in this cluster but what it was before, which nobody needs
	}
	return c.secrets.like(key, body)
}

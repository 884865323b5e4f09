package prune

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// What a controller left in a former namespace goes with its link, too: its lease, once its pods have ended, for as long as
// the inventory names its account.
func TestLeftInFormerNamespace(t *testing.T) {
	in := input(source, moved(perLink()), linkerd.Mirror{})
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "former", Name: linkerd.Lease("east")}
	put(&in.Seen, lease, object.Record{UID: "lease"}, object.Body{})
	var gone []object.Key
	for range 20 {
		v := one(t, in, settled())
		if v.Drop {
			break
		}
		for _, c := range v.Go {
			drop(&in.Seen, c.Key)
			gone = append(gone, c.Key)
		}
		in.Recorded = []inventory.Inventory{v.Next}
	}
	account := moved([]object.Key{accountKey})[0]
	if i, j := slices.Index(gone, account), slices.Index(gone, lease); i < 0 || j < i {
		t.Errorf("the account goes as number %d, and the lease as %d, of %v", i, j, gone)
	}
}

// Where somebody else links the target from that namespace by then, they are in use.
func TestFormerNamespaceOfOthers(t *testing.T) {
	in := input(source, moved([]object.Key{accountKey, linkKey}), linkerd.Mirror{})
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "former", Name: linkerd.Lease("east")}
	put(&in.Seen, lease, object.Record{UID: "lease"}, object.Body{})
	drop(&in.Seen, moved([]object.Key{accountKey})[0])
	gone := func() []object.Key {
		var keys []object.Key
		for _, c := range one(t, in, settled()).Go {
			keys = append(keys, c.Key)
		}
		return keys
	}
	record(&in.Seen, moved([]object.Key{linkKey})[0], object.Record{UID: "theirs", ResourceVersion: "1"})
	if keys := gone(); slices.Contains(keys, lease) {
		t.Errorf("of others: %v", keys)
	}
	drop(&in.Seen, moved([]object.Key{linkKey})[0])
	if keys := gone(); !slices.Contains(keys, lease) {
		t.Errorf("of nobody: %v", keys)
	}
}

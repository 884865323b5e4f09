package inventory

import (
	"encoding/json"
	"strings"

	"github.com/linkwright/linkwright/object"
)

// Named reports whether an object has the name of an inventory of the owner, of any end.
func Named(owner string, k object.Key) bool {
	return k.Group == "" && k.Kind == "ConfigMap" && k.Namespace == object.AccessNamespace && strings.HasPrefix(k.Name, owner+".")
}

// ForPeers is what the steps of other clusters depend on in an inventory: all but the conditions of its link, which are many and change by the clock. A text
// that cannot be read is returned whole.
func ForPeers(body object.Body) []byte {
	w, err := decodeConfigMap(body)
	if err != nil {
		return body.Bytes()
	}
	w.Conditions = nil
	out, err := json.Marshal(w)
	if err != nil {
		return body.Bytes()
	}
	return out
}

// Of returns the inventory of one end alone; false: there is none that is the owner's and can be read.
func Of(owner string, end object.End, observed object.Observation) (Inventory, bool) {
	key := Key(owner, end)
	body, ok := observed.Body(key)
	if !ok || observed.Record(key).Mark != object.Ours {
		return Inventory{}, false
	}
	inv, err := decode(body)
	inv.Was = observed.Record(key)
	found := err == nil && inv.End.Link == end.Link && inv.End.IsSource() == end.IsSource()
	inv.End = end // its cluster may have had another name
	return inv, found
}

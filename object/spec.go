package object

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
)

// SpecDigest is the first 64 bits of SHA-256 of an object's spec, given the object as JSON. The order of fields does not matter. It is
// that of null if there is no spec, or no JSON.
func SpecDigest(raw []byte) uint64 {
	var o struct {
		Spec any `json:"spec"`
	}
	if json.Unmarshal(raw, &o) != nil {
		o.Spec = nil
	}
	canonical, err := json.Marshal(o.Spec)
	if err != nil {
		canonical = []byte("null") // what was decoded encodes
	}
	sum := sha256.Sum256(canonical)
	return binary.BigEndian.Uint64(sum[:])
}

package inventory

import (
	"slices"

	"github.com/linkwright/linkwright/object"
)

// Approval is what people let go, though a guard finds it too much: these very objects, and no others. It stays written
// down until none of them is left, so that a prune that was broken off goes on.
type Approval struct {
	Hash    string     `json:"hash"` // of all that its cluster was to lose, of which these are one end's
	Entries []Identity `json:"entries"`
}

// Identity is one object as it lives: made anew under the same name it is another one.
type Identity struct {
	object.Key
	UID string `json:"uid"`
}

func (a Approval) same(b Approval) bool {
	return a.Hash == b.Hash && slices.Equal(a.Entries, b.Entries)
}

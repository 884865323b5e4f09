package inventory

import (
	"bytes"

	"github.com/linkwright/linkwright/object"
)

// Rotation is what people ask for of a link's token: that its source uses one past the number of one that it had, and, to revoke, that
// no other is left. Written twice it means the same, and once it is done it goes.
type Rotation struct {
	After  int  `json:"after"`
	Revoke bool `json:"revoke,omitempty"`
}

func (r *Rotation) same(o *Rotation) bool {
	return r == o || r != nil && o != nil && *r == *o
}

// Asked is the rotation that the inventory of an end asks for, or nil. It is asked of every link in every pass, and hardly one asks:
// an inventory that does not hold the word is not decoded.
func Asked(owner string, end object.End, seen object.Observation) *Rotation {
	if !Mentions(owner, end, seen, `\"rotate\"`) {
		return nil
	}
	inv, _ := Of(owner, end, seen)
	return inv.Rotate
}

// Mentions reports whether the text of an end's inventory holds a word: what is looked for in every pass, and hardly ever there, is decoded only
// then.
func Mentions(owner string, end object.End, seen object.Observation, word string) bool {
	body, _ := seen.Body(Key(owner, end))
	return bytes.Contains(body.Bytes(), []byte(word))
}

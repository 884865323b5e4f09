package inventory

import (
	"bytes"

	"github.com/linkwright/linkwright/object"
)

// Rotation requests a new token of a link: its source must use a token with a higher number than After, and with Revoke all others are
// deleted. Requesting it twice has no further effect, and it is removed when it is complete.
type Rotation struct {
	After  int  `json:"after"`
	Revoke bool `json:"revoke,omitempty"`
}

func (r *Rotation) same(o *Rotation) bool {
	return r == o || r != nil && o != nil && *r == *o
}

// RequestedRotation is the rotation that the inventory of an end requests, or nil. It runs for every link in every sync, so an inventory without
// the word is not decoded.
func RequestedRotation(owner string, end object.End, observed object.Observation) *Rotation {
	if !Mentions(owner, end, observed, `\"rotate\"`) {
		return nil
	}
	inv, _ := Of(owner, end, observed)
	return inv.Rotate
}

// Mentions reports whether the text of an end's inventory contains a word. It saves decoding for rare fields.
func Mentions(owner string, end object.End, observed object.Observation, word string) bool {
	body, _ := observed.Body(Key(owner, end))
	return bytes.Contains(body.Bytes(), []byte(word))
}

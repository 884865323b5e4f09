package prune

import "github.com/linkwright/linkwright/object"

// Peer is what an unlink must know of its other end.
type Peer struct {
	State  PeerState
	Unread *object.Reason // why it could not be read, though its cluster answers
	Denied *object.Reason // a guard refuses its end: then neither end begins
	Closed *object.Reason // nothing is written there: then neither end begins, nor does its own go on
}

// PeerState says what is known of the other end of a link.
//
//	                 its cluster                                     what it holds of the link
//	PeerUnheard      cannot be read; Unread says why, if it answers  nobody knows
//	PeerDead         was tried, and gave no answer at all            nobody knows
//	PeerUnjudged     was read, and is the one of that name           cannot be judged: Unread says why
//	PeerHolds        was read, and is the one of that name           something
//	PeerCleared      was read, and is the one of that name           nothing
//	PeerAbsent       was never written to, or is given up            nothing that anybody needs
type PeerState int

// The states of a Peer.
const (
	PeerUnheard PeerState = iota
	PeerDead
	PeerUnjudged
	PeerHolds
	PeerCleared
	PeerAbsent
)

// Known reports whether somebody can tell what the end holds.
func (s PeerState) Known() bool { return s >= PeerHolds }

// gone reports whether nothing of the link is left there.
func (s PeerState) gone() bool { return s == PeerCleared || s == PeerAbsent }

// answers reports whether the cluster is the one of that name, and that it answers.
func (s PeerState) answers() bool { return s == PeerUnjudged || s == PeerHolds || s == PeerCleared }

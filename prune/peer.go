package prune

import "github.com/linkwright/linkwright/object"

// Peer is the link's other end, as far as an unlink depends on it.
type Peer struct {
	State  PeerState
	Unread *object.Reason // why it could not be read, though its cluster answers
	Denied *object.Reason // why a guard denies its removal: then neither end begins
	Closed *object.Reason // why nothing is written there: then neither end begins, and its own does not continue
}

// PeerState is what is known of the other end of a link.
//
//	                 its cluster                                     what it holds of the link
//	PeerNotRead      cannot be read; Unread says why, if it answers  unknown
//	PeerUnreachable         was asked, and gave no answer at all            unknown
//	PeerUnknown     was read, and is the one of that name           unknown: Unread says why
//	PeerHasObjects        was read, and is the one of that name           something
//	PeerCleared      was read, and is the one of that name           nothing
//	PeerAbsent       was never written to, or was abandoned          nothing that anybody needs
type PeerState int

// The states of a Peer.
const (
	PeerNotRead PeerState = iota
	PeerUnreachable
	PeerUnknown
	PeerHasObjects
	PeerCleared
	PeerAbsent
)

// Known reports whether it is known what the end holds.
func (s PeerState) Known() bool { return s >= PeerHasObjects }

// gone reports whether nothing of the link is left there.
func (s PeerState) gone() bool { return s == PeerCleared || s == PeerAbsent }

// reachable reports whether the cluster answers and is the one of that name.
func (s PeerState) reachable() bool {
	return s == PeerUnknown || s == PeerHasObjects || s == PeerCleared
}

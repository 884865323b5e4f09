package pair

import (
	"time"

	"github.com/linkwright/linkwright/object"
)

// Proof is what trying a link's credential gave: requests to the target as Linkerd's readers make them, with the bytes that they
// are to read, sent by this process and not from the source's pods.
type Proof struct {
	Print  string         // of what was tried: address, CA and login
	At     time.Time      // when
	Why    *object.Reason // what did not pass; nil: all did
	Blocks bool           // the target refuses it, or its certificate does not fit: its readers would fare no better
	Next   time.Time      // when it is to be tried again; zero: never
}

package lease

import (
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// lastSyncKey is the annotation that keeps when the last sync ended and whose it was. Holder and times of a released lease do not
// tell: the holder is empty, and other commands take the lease, too.
const lastSyncKey = "linkwright.dev/last-sync"

// Last is a sync that ended.
type Last struct {
	By string // Lock.Identity
	At time.Time
}

// LastSync returns the last sync that released a lease; false: none did since this is kept.
func LastSync(lease *coordinationv1.Lease) (Last, bool) {
	at, by, ok := strings.Cut(lease.Annotations[lastSyncKey], " ")
	ended, err := time.Parse(time.RFC3339, at)
	return Last{by, ended}, ok && err == nil && by != ""
}

package object

import "time"

// TokenRequest asks for a token of Account that lives for TTL at most, and no longer than a Secret: that of this very UID.
type TokenRequest struct {
	Account, Secret Key
	UID             string
	TTL             time.Duration
}

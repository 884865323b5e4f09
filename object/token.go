package object

import "time"

// TokenRequest asks for a token of Account that lives for TTL at most, and, if Secret names one, no longer than that Secret of
// this very UID.
type TokenRequest struct {
	Account, Secret Key
	UID             string
	TTL             time.Duration
}

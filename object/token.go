package object

import "time"

// TokenRequest requests a token of Account that is valid for at most TTL, and, if Secret is set, only while the Secret with
// this UID exists.
type TokenRequest struct {
	Account, Secret Key
	UID             string
	TTL             time.Duration
}

package object

import "encoding/json"

// Cause is what Endpoints or a Lease lack, for callers that tell such states apart.
type Cause uint8

// Causes.
const (
	OtherCause Cause = iota
	NoAddress        // Endpoints without any address
	NoneReady        // Endpoints of whose addresses none is ready
	NoHolder         // a Lease without a holder
)

// String is the message of Health.
func (c Cause) String() string {
	return [...]string{"", "it has no address", "none of its addresses is ready", "nobody holds it"}[c]
}

// endpoints is the health of Endpoints: they need a ready address.
func endpoints(raw []byte) Health {
	var e struct {
		Subsets []struct {
			Addresses, NotReadyAddresses []json.RawMessage
		}
	}
	if json.Unmarshal(raw, &e) != nil {
		return Health{}
	}
	waiting := false
	for _, s := range e.Subsets {
		if len(s.Addresses) > 0 {
			return Health{}
		}
		waiting = waiting || len(s.NotReadyAddresses) > 0
	}
	if waiting {
		return notReadyFor(NoneReady)
	}
	return notReadyFor(NoAddress)
}

// lease is the health of a Lease: it needs a holder. Whether the holder renews it depends on the clock, and does not count.
func lease(raw []byte) Health {
	var l struct {
		Spec struct{ HolderIdentity string }
	}
	if json.Unmarshal(raw, &l) != nil || l.Spec.HolderIdentity != "" {
		return Health{}
	}
	return notReadyFor(NoHolder)
}

package object

import "encoding/json"

// What Endpoints and Leases lack, as Health says it.
const (
	NoAddress = "it has no address"
	NoneReady = "none of its addresses is ready"
	NoHolder  = "nobody holds it"
)

// endpoints judges Endpoints: by whether anybody serves.
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
		return notReady(NoneReady)
	}
	return notReady(NoAddress)
}

// lease judges a Lease: by whether it has a holder. Whether that renews it is a matter of the clock, and not judged.
func lease(raw []byte) Health {
	var l struct {
		Spec struct{ HolderIdentity string }
	}
	if json.Unmarshal(raw, &l) != nil || l.Spec.HolderIdentity != "" {
		return Health{}
	}
	return notReady(NoHolder)
}

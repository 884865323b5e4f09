package object

import "testing"

func TestHealthOfServing(t *testing.T) {
	for _, tt := range []struct{ kind, raw, want string }{
		{"Endpoints", `{"metadata":{}}`, NoAddress.String()},
		{"Endpoints", `{"subsets":[]}`, NoAddress.String()},
		{"Endpoints", `{"subsets":[{"ports":[{"port":1}]}]}`, NoAddress.String()},
		{"Endpoints", `{"subsets":[{"notReadyAddresses":[{"ip":"192.0.2.1"}]}]}`, NoneReady.String()},
		{"Endpoints", `{"subsets":[{"notReadyAddresses":[{"ip":"192.0.2.1"}]},{"addresses":[{"ip":"192.0.2.2"}]}]}`, ""},
		{"Endpoints", `{"subsets":"odd"}`, ""}, // nobody can judge it
		{"Lease", `{"spec":{}}`, NoHolder.String()},
		{"Lease", `{"spec":{"holderIdentity":""}}`, NoHolder.String()},
		{"Lease", `{"spec":{"holderIdentity":"controller-east-1"}}`, ""},
		{"Lease", `{"spec":[]}`, ""},
	} {
		if got := HealthOf(tt.kind, []byte(tt.raw)); got.String() != tt.want || got.Failed() {
			t.Errorf("HealthOf(%s %s) = %q, want %q", tt.kind, tt.raw, got, tt.want)
		}
	}
}

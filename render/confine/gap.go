package confine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/linkwright/linkwright/object"
)

// Watches are for all policies of a cluster with their bindings, each with a digest of its spec.
func Watches() (out []object.Watch) {
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		v := admissionv1.SchemeGroupVersion
		out = append(out, object.Watch{Group: v.Group, Version: v.Version, Kind: kind, Spec: true, MayBeForbidden: true})
	}
	return out
}

// ForUser sets the account's name from a user name; false: the user is no ServiceAccount, so policies cannot confine it.
func (a Account) ForUser(user string) (Account, bool) {
	namespace, name, ok := strings.Cut(strings.TrimPrefix(user, prefix), ":")
	a.Namespace, a.Name = namespace, name
	return a, ok && strings.HasPrefix(user, prefix)
}

// Expected are the policies and bindings of an account, each with the digest of its spec, in a fixed order.
type Expected []struct {
	key    object.Key
	digest uint64
}

// Expect returns the policies and bindings of the account.
func Expect(a Account) (out Expected) {
	for _, o := range Objects(a) {
		raw, _ := json.Marshal(o) //nolint:errchkjson // it is made of strings, numbers and lists of them: it encodes
		out = append(out, struct {
			key    object.Key
			digest uint64
		}{object.Key{Group: admissionv1.GroupName, Kind: o.Kind, Name: o.Metadata.Name}, object.SpecDigest(raw)})
	}
	return out
}

// Gap returns why a cluster's policies do not confine the account; empty: they do. Policies that the account may not read are a gap,
// too:
//
//	policies are not served    Kubernetes before 1.30
//	they may not be read       the rights lack it
//	missing                    a policy, or the binding that has it enforced
//	other than this version's  altered, or of another version of linkwright
func (e Expected) Gap(observed object.Observation) string {
	for _, w := range Watches() {
		switch k := (object.Key{Group: w.Group, Kind: w.Kind}); {
		case slices.Contains(observed.Unserved, w.KindName()):
			return "the cluster does not serve ValidatingAdmissionPolicy, which needs Kubernetes 1.30 or later"
		case observed.Hides(k) != nil:
			return "linkwright may not read the cluster's admission policies"
		}
	}
	var missing, other []string
	for _, want := range e {
		switch r := observed.Record(want.key); {
		case r.IsZero() || r.Terminating:
			missing = append(missing, want.key.String())
		case r.Digest != want.digest:
			other = append(other, want.key.String())
		}
	}
	switch {
	case len(missing) == len(e):
		return "no admission policy confines linkwright's account"
	case len(missing) > 0:
		return fmt.Sprintf("admission policies that confine linkwright's account are missing (%d, the first is %s)", len(missing), missing[0])
	case len(other) > 0:
		return fmt.Sprintf("admission policies that confine linkwright's account are of another version or other flags of linkwright (%d, the first is %s)", len(other), other[0])
	}
	return ""
}

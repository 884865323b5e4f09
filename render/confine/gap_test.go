package confine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
)

// observationOf is a cluster that has what confines an account.
func observationOf(t *testing.T, a Account) object.Observation {
	t.Helper()
	e := object.Observation{}.Edit()
	for _, o := range Objects(a) {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		e.Put(object.Key{Group: "admissionregistration.k8s.io", Kind: o.Kind, Name: o.Metadata.Name}, object.Record{UID: "x", Digest: object.SpecDigest(raw)}, object.Body{})
	}
	return e.Observation()
}

// What a cluster lacks of what confines an account is told, also that nobody knows.
func TestGap(t *testing.T) {
	a := account("linkwright")
	all, secrets := observationOf(t, a), object.Key{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding", Name: "linkwright.secrets"}
	edited := func(do func(*object.Edit)) object.Observation {
		e := all.Edit()
		do(e)
		return e.Observation()
	}
	unserved, hidden := all, all
	unserved.Unserved = []string{"ValidatingAdmissionPolicy.v1.admissionregistration.k8s.io"}
	hidden.Hidden = []object.Hidden{{Key: object.Key{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}}}
	hidden = without(hidden)
	for name, tt := range map[string]struct {
		seen object.Observation
		want string
	}{
		"confined":                {all, ""},
		"nothing":                 {object.Observation{}, "no admission policy confines linkwright's account"},
		"of another account":      {observationOf(t, Account{Owner: "linkwright", Namespace: "ops", Name: "other", Multicluster: "mc"}), "are of another version or other flags of linkwright (15"},
		"of another installation": {observationOf(t, account("other")), "no admission policy confines"},
		"not bound":               {edited(func(e *object.Edit) { e.Drop(secrets) }), "are missing (1, the first is ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io linkwright.secrets)"},
		"being deleted":           {edited(func(e *object.Edit) { e.Put(secrets, object.Record{UID: "x", Terminating: true}, object.Body{}) }), "are missing (1"},
		"altered":                 {edited(func(e *object.Edit) { e.Put(secrets, object.Record{UID: "x", Digest: 1}, object.Body{}) }), "are of another version or other flags of linkwright (1"},
		"not served":              {unserved, "does not serve ValidatingAdmissionPolicy"},
		"not readable":            {hidden, "may not read"},
	} {
		if got := Expect(a).Gap(tt.seen); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// without shows nothing of what is hidden.
func without(observed object.Observation) object.Observation {
	e := observed.Edit()
	for k := range observed.Records() {
		if k.Kind == "ValidatingAdmissionPolicyBinding" {
			e.Drop(k)
		}
	}
	return e.Observation()
}

// Policies confine ServiceAccounts.
func TestAs(t *testing.T) {
	for user, want := range map[string]string{
		"system:serviceaccount:ops:lw": "ops/lw", "kubernetes-admin": "", "": "", "system:serviceaccount:ops": "", "x:system:serviceaccount:ops:lw": "",
	} {
		if a, ok := (Account{Owner: "linkwright"}).ForUser(user); ok != (want != "") || ok && (a.Namespace+"/"+a.Name != want || a.User() != user) {
			t.Errorf("As(%q): %v, %t", user, a, ok)
		}
	}
}

package confine

import (
	"regexp"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

func account(owner string, images ...string) Account {
	return Account{Owner: owner, Namespace: "ops", Name: "lw", Multicluster: "mc", Images: images}
}

// Every policy is bound, denies, fails closed, and is about one account alone.
func TestObjects(t *testing.T) {
	all := Objects(account("linkwright"))
	if len(all) == 0 || len(all)%2 > 0 {
		t.Fatalf("%d objects, want policies with a binding each", len(all))
	}
	for i := 0; i < len(all); i += 2 {
		name := all[i].Metadata.Name
		policy, isPolicy := all[i].Spec.(admissionv1.ValidatingAdmissionPolicySpec)
		binding, isBinding := all[i+1].Spec.(admissionv1.ValidatingAdmissionPolicyBindingSpec)
		if !isPolicy || !isBinding || binding.PolicyName != name || !slices.Equal(binding.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
			t.Errorf("%s is not enforced: %+v", name, all[i+1])
		}
		if *policy.FailurePolicy != admissionv1.Fail || len(policy.MatchConditions) != 1 ||
			policy.MatchConditions[0].Expression != `request.userInfo.username == "system:serviceaccount:ops:lw"` {
			t.Errorf("%s: %+v", name, policy)
		}
		if len(policy.Validations) == 0 || slices.ContainsFunc(policy.Validations, func(v admissionv1.Validation) bool { return v.Message == "" }) {
			t.Errorf("%s validates %+v", name, policy.Validations)
		}
	}
	if a, b := all[0].Metadata.Name, Objects(account("other"))[0].Metadata.Name; a == b {
		t.Errorf("two installations have the policy %s", a)
	}
}

// Images are allowed as --allow-controller-image says: a prefix ends where a part of an image's name does.
func TestImages(t *testing.T) {
	allowed := regexp.MustCompile(account("linkwright", "registry.example.com", "other.example.com/a/").images())
	for image, want := range map[string]bool{
		"cr.l5d.io/linkerd/controller:edge-26.6.3":      true,
		"cr.l5d.io/linkerd/controller@sha256:0a":        true,
		"cr.l5d.io/linkerd/controller-thief:1":          false,
		"cr.l5d.io/linkerd/controller:5000/thief":       false,
		"crxl5d.io/linkerd/controller:1":                false,
		"registry.example.com/a/b:1":                    true,
		"registry.example.com.example.org/a":            false,
		"registry.example.com:5000/a":                   false,
		"other.example.com/a/b":                         true,
		"other.example.com/ab":                          false,
		"x/cr.l5d.io/linkerd/controller":                false,
		"cr.l5d.io/linkerd/controller:1\nregistry.evil": false,
	} {
		if got := allowed.MatchString(image); got != want {
			t.Errorf("%q: %t, want %t", image, got, want)
		}
	}
}

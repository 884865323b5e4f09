package cluster

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

func TestAnswersAboutSecretsQuoteNoValue(t *testing.T) {
	rbac := `secrets "a" is forbidden: User "system:serviceaccount:linkwright:linkwright" cannot patch resource "secrets" in API group "" in the namespace "ns"`
	policy := `secrets "a" is forbidden: ValidatingAdmissionPolicy 'no-tokens' with binding 'all' denied request`
	webhook := `admission webhook "no-tokens.example.com" denied the request`
	tests := []struct {
		code          int
		reason        metav1.StatusReason
		message, want string
	}{
		{http.StatusForbidden, metav1.StatusReasonForbidden, rbac, rbac},
		{http.StatusForbidden, metav1.StatusReasonForbidden, rbac + `: RBAC: clusterrole "x" not found`, rbac},
		{http.StatusForbidden, metav1.StatusReasonForbidden, policy + ": token is hush", policy},
		{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, policy + ": token is hush", policy},
		{http.StatusForbidden, metav1.StatusReasonForbidden, webhook + ": " + rbac + ", not hush", webhook},
		{http.StatusConflict, metav1.StatusReasonConflict, webhook + ": not hush", webhook},
		{http.StatusForbidden, "", `secrets "a" is forbidden: hush is too short`, "refused as "},
		{http.StatusForbidden, metav1.StatusReasonForbidden, `secrets "a" is forbidden: hush is too short`, "refused as Forbidden"},
		{http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, "hush", "refused as RequestEntityTooLarge"},
		{http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified", "the object has been modified"},
	}
	for _, tt := range tests {
		in := &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(tt.code), Reason: tt.reason, Message: tt.message}}
		got := withoutValues(object.Change{Key: object.Key{Kind: "Secret", Namespace: "ns", Name: "a"}}, in)
		if got.Error() != tt.want || strings.Contains(Explain(got).Message, "hush") {
			t.Errorf("withoutValues(%d %s): got %q, want %q", tt.code, tt.message, got, tt.want)
		}
		if Explain(got).Code != Explain(in).Code {
			t.Errorf("withoutValues(%d %s): the code became %s", tt.code, tt.message, Explain(got).Code)
		}
		if other := withoutValues(object.Change{Key: object.Key{Kind: "ConfigMap"}}, in); !errors.Is(other, in) {
			t.Errorf("an answer about a ConfigMap was changed: %v", other)
		}
	}
}

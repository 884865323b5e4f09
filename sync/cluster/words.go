package cluster

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/object"
)

// withoutValues keeps what an answer about a Secret says of fields, rights and names, and drops its other sentences:
// the server, or an admission webhook or policy, may quote values in them.
func withoutValues(ch object.Change, err error) error {
	var status *apierrors.StatusError
	if ch.Key.Group != "" || ch.Key.Kind != "Secret" || !errors.As(err, &status) {
		return err
	}
	immutable := isImmutable(err) // the API server's own words, after the value
	refusal := harmless(status.ErrStatus.Message)
	if immutable {
		refusal = invalid(status.ErrStatus.Details)
	}
	if refusal == "" && !mayQuote(err) {
		return err
	}
	bare := status.ErrStatus.DeepCopy()
	bare.Message = refusal
	if refusal == "" {
		bare.Message = "refused as " + string(bare.Reason)
	}
	if bare.Details != nil {
		for i, cause := range bare.Details.Causes {
			said, kept := string(cause.Type), ""
			if immutable {
				said = causeDetail(cause.Message)
				kept = said
			}
			bare.Details.Causes[i].Message = kept
			bare.Message += fmt.Sprintf(", %s: %s", cause.Field, said)
		}
	}
	return &apierrors.StatusError{ErrStatus: *bare}
}

// mayQuote reports whether whoever looked at the object may have answered. Of the other codes, which a webhook may use as well, harmless knows its
// answers.
func mayQuote(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsInternalError(err) ||
		apierrors.IsForbidden(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// harmless returns the beginning of a refusal that the API server words itself, of names alone, or "": a missing right (which is found before
// anybody reads the object), and who denied (apiserver, endpoints/handlers/responsewriters errors.go; admission/plugin/webhook/errors;
// admission/plugin/policy/validating).
func harmless(message string) string {
	return regexp.MustCompile(`^(` +
		`secrets( "[^"]*")? is forbidden: User "[^"]*" cannot \w+ resource "secrets" in API group ""( in the namespace "[^"]*"| at the cluster scope)` +
		`|admission webhook "[^"]*" denied the request` +
		`|secrets "[^"]*" is forbidden: ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request` +
		`)`).FindString(message)
}

package fault

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Refusal is what an API server says to a request with Code: an error whose Status is its body.
func (f Fault) Refusal(r Request) *apierrors.StatusError {
	of := r.groupResource()
	switch f.Code {
	case http.StatusUnauthorized:
		return apierrors.NewUnauthorized("Unauthorized")
	case http.StatusForbidden:
		return apierrors.NewForbidden(of, r.Name, errors.New(`User "fault" cannot `+r.Verb+` resource "`+r.Resource+`" in API group "`+r.Group+`"`))
	case http.StatusNotFound:
		return apierrors.NewNotFound(of, r.Name)
	case http.StatusConflict:
		return conflict(r)
	case http.StatusGone:
		return expired(r)
	case http.StatusUnprocessableEntity:
		why := field.Forbidden(field.NewPath("spec"), "fault")
		return apierrors.NewInvalid(schema.GroupKind{Group: r.Group, Kind: r.Resource}, r.Name, field.ErrorList{why})
	case http.StatusTooManyRequests:
		return apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", max(1, f.RetryAfter))
	case http.StatusInternalServerError:
		return apierrors.NewInternalError(errors.New("fault"))
	case http.StatusServiceUnavailable:
		e := apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
		e.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(f.RetryAfter)}
		return e
	case http.StatusGatewayTimeout:
		return apierrors.NewTimeoutError("request did not complete within the allotted time", f.RetryAfter)
	}
	return apierrors.NewGenericServerResponse(f.Code, r.Verb, of, r.Name, "fault", f.RetryAfter, false)
}

// conflict: a name that is taken, or a version that is no longer the object's.
func conflict(r Request) *apierrors.StatusError {
	if r.Verb == "create" {
		return apierrors.NewAlreadyExists(r.groupResource(), r.Name)
	}
	return apierrors.NewConflict(r.groupResource(), r.Name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

func expired(r Request) *apierrors.StatusError {
	if r.Continued {
		return apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
			"You can start a new list without the continue parameter.")
	}
	return apierrors.NewResourceExpired("too old resource version: 1 (2)")
}

package cluster

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How the API server refuses to change a field that an object keeps for life (apimachinery, pkg/api/validation
// objectmeta.go, FieldImmutableErrorMsg; kubernetes pkg/apis/rbac/validation and pkg/apis/core/validation).
const (
	fieldImmutable  = "field is immutable"
	objectImmutable = "field is immutable when `immutable` is set"
	otherRole       = "cannot change roleRef"
	onceSet         = "may not change once set" // clusterIPs of a Service
)

// Immutable says that the API server refused a change only because of fields that never change in an existing object,
// and gives the first of them, such as roleRef, type or spec.selector. Nobody else's words count: a webhook, a policy or
// a proxy may say the same of an object that can well be changed.
func Immutable(err error) (field string, ok bool) {
	var refusal apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refusal) {
		return "", false
	}
	s := refusal.Status()
	if s.Details == nil || len(s.Details.Causes) == 0 || !strings.HasPrefix(s.Message, invalid(s.Details)) {
		return "", false
	}
	for _, cause := range s.Details.Causes {
		if !keepsField(s.Details, cause) {
			return "", false
		}
	}
	return s.Details.Causes[0].Field, true
}

func isImmutable(err error) bool {
	_, ok := Immutable(err)
	return ok
}

// invalid returns how a refusal of the API server's own begins (apimachinery, pkg/api/errors, NewInvalid).
func invalid(of *metav1.StatusDetails) string {
	kind := of.Kind
	if of.Group != "" {
		kind += "." + of.Group
	}
	return kind + ` "` + of.Name + `" is invalid`
}

// keepsField reports whether a cause is about a field that its object keeps. Metadata is no such: another name or uid is another object.
func keepsField(of *metav1.StatusDetails, cause metav1.StatusCause) bool {
	said := causeDetail(cause.Message)
	switch {
	case strings.HasPrefix(cause.Field, "metadata."):
		return false
	case of.Group == "rbac.authorization.k8s.io" && cause.Field == "roleRef":
		return cause.Type == metav1.CauseTypeFieldValueInvalid && said == otherRole
	case cause.Type == metav1.CauseTypeFieldValueInvalid:
		return said == fieldImmutable || said == onceSet
	}
	return cause.Type == metav1.CauseTypeForbidden && said == objectImmutable
}

// causeDetail returns what a cause says after the type of error and the value.
func causeDetail(message string) string {
	return message[strings.LastIndex(": "+message, ": "):]
}

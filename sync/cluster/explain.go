package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Explain says what an error of this package means and what to do. It gives a zero Reason for nil.
func Explain(err error) object.Reason {
	if err == nil {
		return object.Reason{}
	}
	for _, e := range explanations() {
		if e.is(err) {
			return object.Reason{Code: e.code, Message: said(err) + e.advice}
		}
	}
	return object.Reason{Code: reason.Unknown, Message: said(err)}
}

// said is the error in one line. The rules of a role that may not be bound are left out: nobody is to grant them instead.
func said(err error) string {
	text := err.Error()
	if isUnbound(err) {
		text, _, _ = strings.Cut(text, ":\n{APIGroups")
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// AccessError is of a cluster whose declared access cannot be used: nobody could ask the cluster anything.
type AccessError struct{ Err error }

// Error implements error.
func (e AccessError) Error() string { return e.Err.Error() }

// Unwrap gives the cause, which has a code of its own if the management cluster refused to give the access.
func (e AccessError) Unwrap() error { return e.Err }

func isAccess(err error) bool {
	_, ok := errors.AsType[AccessError](err)
	return ok
}

type explanation struct {
	is     func(error) bool
	code   reason.Code
	advice string
}

// refused is the advice for one object that a server does not take, as all others of its phase it may.
const refused = " (only this object is refused: correct the declaration, overlay or policy that the message is about)"

// explanations are asked in order: from the most to the least particular.
func explanations() []explanation {
	return []explanation{
		{isOccupied, reason.ObjectExists, " (not ours: remove or rename it, or adopt it)"},
		{apierrors.IsUnauthorized, reason.Unauthorized, " (the credentials are not accepted: renew them)"},
		{isUnbound, reason.Forbidden, " (grant it bind on the ClusterRole that this binding names, as linkwright rbac prints it)"},
		{isNotAdmitted, reason.AdmissionDenied, " (only this object is denied: correct the declaration or the policy that the message names; policies of linkwright's own account are renewed by linkwright cluster add)"},
		{apierrors.IsForbidden, reason.Forbidden, " (grant this to the account that linkwright uses)"},
		{apierrors.IsTooManyRequests, reason.Throttled, " (it is tried again later)"},
		{apierrors.IsConflict, reason.Conflict, " (changed since it was read: it is read and judged again)"},
		{apierrors.IsAlreadyExists, reason.Conflict, " (changed since it was read: it is read and judged again)"},
		{apierrors.IsNotFound, reason.NotFound, ""},
		{isImmutable, reason.ImmutableField, " (no write changes it: undo the change, or delete the object so that it is created anew)"},
		{isCollision, reason.ListKeyConflict, " (remove the item of others, or delete the object, and it is made anew)"},
		{apierrors.IsInvalid, reason.Invalid, refused},
		{apierrors.IsBadRequest, reason.Invalid, refused},
		{apierrors.IsRequestEntityTooLargeError, reason.Invalid, refused},
		{isExpired, reason.Unavailable, " (the list expired while it was read, twice: the API server is overloaded)"},
		{isServerTimeout, reason.Unavailable, " (the API server is slow or overloaded)"},
		{isServerFault, reason.Unavailable, " (the API server is starting, stopping or broken)"},
		{isUntrusted, reason.UntrustedCertificate, " (compare the CA and the server name of the credentials with the cluster's)"},
		{isDeadline, reason.Timeout, " (the API server accepts connections but does not answer in time)"},
		{isCanceled, reason.Canceled, ""},
		{isNetwork, reason.Unreachable, " (is the API server up, and may it be reached from here?)"},
		{isAccess, reason.AccessInvalid, ""},
	}
}

// isUnbound: a ClusterRole that is bound must be held, or named by bind (rbac.authorization.k8s.io, ConfirmNoEscalation).
func isUnbound(err error) bool {
	var status *apierrors.StatusError
	return apierrors.IsForbidden(err) && errors.As(err, &status) && status.ErrStatus.Details != nil &&
		status.ErrStatus.Details.Kind == "clusterrolebindings" && strings.Contains(err.Error(), "attempting to grant RBAC permissions not currently held")
}

// isNotAdmitted: a ValidatingAdmissionPolicy denies it, as Invalid or with a reason of its own, or a webhook does (k8s.io/apiserver,
// pkg/admission/plugin: policy/validating and webhook/errors).
func isNotAdmitted(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (strings.Contains(err.Error(), "ValidatingAdmissionPolicy '") && strings.Contains(err.Error(), "denied request") ||
		strings.Contains(err.Error(), "admission webhook \"") && strings.Contains(err.Error(), "denied the request"))
}

func isOccupied(err error) bool { return errors.Is(err, ErrOccupied) }

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

// isExpired: the server does not know a resourceVersion any more, or, where its etcd was restored, not yet.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func isServerTimeout(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

func isServerFault(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsUnexpectedServerError(err)
}

func isUntrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &authority) || errors.As(err, &host)
}

// isDeadline is a connection that stands but stays silent; one that was never made is isNetwork.
func isDeadline(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var timeout net.Error
	return lost(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func isNetwork(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || strings.HasSuffix(err.Error(), "EOF")
}

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

// Explain returns what an error of this package means and what to do. It gives a zero Reason for nil.
func Explain(err error) object.Reason {
	if err == nil {
		return object.Reason{}
	}
	for _, e := range explanations() {
		if e.is(err) {
			return object.Reason{Code: e.code, Message: oneLine(err) + e.advice}
		}
	}
	return object.Reason{Code: reason.Unknown, Message: oneLine(err)}
}

// Unanswered reports whether an error means that no API server answered at all: another address, or a later try, may help.
func Unanswered(err error) bool {
	code := Explain(err).Code
	return code == reason.Unreachable || code == reason.Timeout || code == reason.UntrustedCertificate
}

// oneLine returns the error in one line. The rules of a role that may not be bound are left out: nobody is to grant them instead.
func oneLine(err error) string {
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

// Unwrap returns the cause, which has a code of its own if the management cluster refused to give the access.
func (e AccessError) Unwrap() error { return e.Err }

func isAccess(err error) bool {
	_, ok := errors.AsType[AccessError](err)
	return ok && !isCanceled(err)
}

type explanation struct {
	is     func(error) bool
	code   reason.Code
	advice string
}

// refused is the advice for one object that a server does not take, as all others of its phase it may.
const refused = " (the API server refuses only this object: correct the declaration, overlay or policy that the message names)"

// MissingRight is the advice if linkwright's account lacks a right.
const MissingRight = " (grant this to the account that linkwright uses)"

// explanations are asked in order: from the most to the least particular.
func explanations() []explanation {
	return []explanation{
		{isExisting, reason.ObjectExists, " (it is not linkwright's: remove or rename it, or adopt it)"},
		{apierrors.IsUnauthorized, reason.Unauthorized, " (the API server does not accept the credentials: renew them)"},
		{isUnbound, reason.Forbidden, " (grant linkwright's account bind on the ClusterRole that this binding names, as linkwright rbac prints it)"},
		{isNotAdmitted, reason.AdmissionDenied, " (only this object is denied: correct the declaration or the policy that the message names; linkwright cluster add renews the policies of linkwright's own account)"},
		{apierrors.IsForbidden, reason.Forbidden, MissingRight},
		{apierrors.IsTooManyRequests, reason.Throttled, " (linkwright tries again)"},
		{apierrors.IsConflict, reason.Conflict, " (it changed after linkwright read it: linkwright reads it again)"},
		{apierrors.IsAlreadyExists, reason.Conflict, " (it changed after linkwright read it: linkwright reads it again)"},
		{apierrors.IsNotFound, reason.NotFound, ""},
		{isImmutable, reason.ImmutableField, " (the API server never changes this field: undo the change, or delete the object: linkwright creates it again)"},
		{isListKeyConflict, reason.ListKeyConflict, " (remove the other item, or delete the object: linkwright creates it again)"},
		{apierrors.IsInvalid, reason.Invalid, refused},
		{apierrors.IsBadRequest, reason.Invalid, refused},
		{apierrors.IsRequestEntityTooLargeError, reason.Invalid, refused},
		{isExpired, reason.Unavailable, " (the list expired twice while linkwright read it: the API server is overloaded)"},
		{isServerTimeout, reason.Unavailable, " (the API server is slow or overloaded)"},
		{isServerFault, reason.Unavailable, " (the API server is starting, stopping or broken)"},
		{isUntrusted, reason.UntrustedCertificate, " (compare the CA and the server name of the credentials with the cluster's)"},
		{isAccess, reason.AccessInvalid, ""}, // ahead of a silence of the management cluster, which is not the cluster's own
		{isDeadline, reason.Timeout, " (the API server accepts connections but does not answer in time)"},
		{isCanceled, reason.Canceled, ""},
		{isNetwork, reason.Unreachable, " (check that the API server is up and reachable from linkwright)"},
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

func isExisting(err error) bool { return errors.Is(err, ErrExists) }

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
	return connectionLost(err) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func isNetwork(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || strings.HasSuffix(err.Error(), "EOF")
}

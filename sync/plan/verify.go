package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
)

// verifier checks the credentials that a cluster uses as a source.
type verifier struct{ *cluster }

// verifyResult is what to verify of a source's end, and when again.
type verifyResult struct {
	requests []Verification
	retry    time.Time // when it is tried again, for which nothing waits; zero: never
}

// verify has the credential of a source's end tried if that is due, and says why an end whose changes bring it there must wait,
// as a whole, or nil. What is in use is never taken away.
func (c verifier) verify(want object.Desired, changes []object.Change) (out verifyResult, why *object.Reason) {
	l, ok := c.verifies(want.End)
	if !ok {
		return verifyResult{}, nil
	}
	v := c.View(l)
	cred, why := c.Link(l)
	if cred == nil || why != nil {
		return verifyResult{}, nil
	}
	tried := v.VerificationOf(cred)
	if proof := v.Verified(tried); proof != nil && (proof.Next.IsZero() || c.Now.Before(proof.Next)) {
		out.retry = proof.Next
	} else {
		out.requests = newVerification(v, want, tried, proof != nil)
	}
	if !c.delivers(l, cred, changes) {
		return out, nil
	}
	return out, v.NotYetVerified(v.Verified(tried))
}

// verifies returns the link of a source's end, and whether its credential is to be verified.
func (c *cluster) verifies(end object.End) (fleet.Link, bool) {
	if c.Verifications == nil || end.IsBase() || !end.IsSource() || c.WrittenElsewhere[c.name] && !c.Probe || c.Fleet == nil {
		return fleet.Link{}, false
	}
	l, ok := c.Fleet.Link(end.Link)
	return l, ok && l.Spec.Credentials.Preflight != api.Skip && c.denied(end) == nil
}

// newVerification returns the trial of a link's credential, with the bytes that its last Secret is to have; none if there are none yet.
func newVerification(v credential.Pair, want object.Desired, tried string, again bool) []Verification {
	secrets, at := v.Secrets(), string(v.Link.Target.Name)
	last := secrets[len(secrets)-1]
	body, _ := v.Source.Live.Body(last)
	if v.Link.Spec.Credentials.Mode == api.Existing {
		at = v.Link.Pair().String()
	} else if i := slices.IndexFunc(want.Objects, func(o object.Object) bool { return o.Key == last }); i >= 0 {
		body = want.Objects[i].Body
	}
	request := v.Request(body)
	if request.Config.IsZero() {
		return nil
	}
	return []Verification{{Link: v.Link.Pair(), Fingerprint: tried, Address: at, Request: request, Again: again}}
}

// delivers reports whether changes give a credential to a reader that must not get a bad one: the control plane, which ends when it cannot list;
// with Require also the service mirror.
func (c verifier) delivers(l fleet.Link, cred *linkerd.Credential, changes []object.Change) bool {
	at, target := l.Source.Spec.Linkerd, l.Target.Name
	plane, link := linkerd.ControlPlaneSecret(at, target), linkerd.LinkKey(at, target)
	strict := l.Spec.Credentials.Preflight == api.Require
	return slices.ContainsFunc(changes, func(w object.Change) bool {
		switch {
		case w.Action == object.Delete || w.Action == object.Release:
			return false
		case w.Key == plane:
			return true
		case w.Key == link:
			return strict && l.Spec.Credentials.Mode == api.Existing && !c.announced(link, cred)
		}
		return strict && slices.Contains(credential.Secrets(l), w.Key)
	})
}

// announced reports whether the live Linkerd Link names the credential.
func (c verifier) announced(link object.Key, cred *linkerd.Credential) bool {
	body, _ := c.current.Live.Body(link)
	_, entries := linkerd.CredentialEntries(body)
	return slices.Contains(entries, linkerd.CredentialEntry(cred.Fingerprint))
}

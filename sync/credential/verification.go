package credential

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// VerificationOf returns what is tried of a link with a credential, in short.
func (v Pair) VerificationOf(c *linkerd.Credential) string {
	h := sha256.New()
	for _, part := range []string{c.Fingerprint, v.Target.Facts.API.Server, v.Target.Facts.API.CA} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	what := "mirror "
	if v.Link.Spec.UsesRemoteDiscovery() {
		what = "plane "
	}
	return what + hex.EncodeToString(h.Sum(nil)[:12])
}

// Request returns what is tried: the bytes in the link's last Secret, that of the control plane where there is one. Nothing where there are none.
func (v Pair) Request(secret object.Body) object.Login {
	config, err := dataOf(secret, linkerd.KubeconfigKey)
	if err != nil || len(config) == 0 {
		return object.Login{}
	}
	return object.Login{Target: v.Link.Target.Name, Config: object.NewSecret(config), Lists: linkerd.Lists(v.Link.Spec.UsesRemoteDiscovery())}
}

// Verified returns what is known of a credential, by what is tried of it; nil: nothing.
func (v Pair) Verified(tried string) *state.Verification {
	if v.Verification == nil || v.Verification.Fingerprint != tried {
		return nil
	}
	return v.Verification
}

// Fails returns a reason if a credential does not work; else nil.
func (v Pair) Fails(p *state.Verification) *object.Reason {
	if p == nil || p.Why == nil {
		return nil
	}
	return object.Because(reason.CredentialNotAccepted, "the credential of %s does not work in cluster %s: %s",
		v.Link.Source.Name, v.Link.Target.Name, p.Why.Message)
}

// NotYetVerified returns why a credential may not be written yet, or nil: with Warn only a refusal counts.
func (v Pair) NotYetVerified(p *state.Verification) *object.Reason {
	switch why := v.Fails(p); {
	case p == nil:
		return object.Because(reason.CredentialNotVerified, "linkwright has not verified the credential of %s in cluster %s yet, and writes it only after that", v.Link.Source.Name, v.Link.Target.Name)
	case why == nil || !p.Blocks && v.Link.Spec.Credentials.Preflight != api.Require:
		return nil
	default:
		return why.With("linkwright writes it once it works, or at once with credentials.preflight: Skip")
	}
}

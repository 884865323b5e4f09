package credential

import (
	"bytes"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Secrets returns the keys in the source of what holds a link's credential: the service mirror's first, and the control plane's where it needs one.
func Secrets(l fleet.Link) []object.Key {
	at := l.Source.Spec.Linkerd
	out := []object.Key{{Kind: "Secret", Namespace: at.MulticlusterNamespace, Name: l.Spec.SecretFor(l.Target.Name)}}
	if l.Spec.UsesRemoteDiscovery() {
		out = append(out, linkerd.ControlPlaneSecret(at, l.Target.Name))
	}
	return out
}

// Secrets returns those of the link, but for one that the source's control plane cannot be given: see WithoutControlPlaneSecret.
func (v Pair) Secrets() []object.Key {
	all := Secrets(v.Link)
	if v.Undiscovered != nil {
		all = all[:1]
	}
	return all
}

// Existing returns the credential of a link whose Secrets somebody else writes, or why it cannot be used. They are read, whole, and never written.
//
//	not looked for, or not whole     Unknown
//	not there                        SecretNotFound
//	with our mark                    SecretStillManaged: what linkwright wrote is no secret manager's
//	being deleted                    Going
//	Linkerd could not use it         SecretInvalid
func (v Pair) Existing() (*linkerd.Credential, *object.Reason) {
	if why := v.OwnSecret(); why != nil {
		return nil, why
	}
	var cred *linkerd.Credential
	for i, k := range Secrets(v.Link) {
		given, why := v.existingSecret(k, i > 0)
		if why != nil {
			return nil, why
		}
		if i == 0 {
			cred = &linkerd.Credential{Fingerprint: given.Fingerprint(v.Source.Facts.UID)}
		}
	}
	return cred, nil
}

func (v Pair) existingSecret(k object.Key, controlPlane bool) (object.Secret, *object.Reason) {
	live := v.Source.Live.Record(k)
	body, _ := v.Source.Live.Body(k)
	switch {
	case live.IsZero() && v.Source.Covers(k):
		return object.Secret{}, object.Because(reason.SecretNotFound,
			"%s does not exist: credentials.mode is Existing, so have your secret manager write it, with type %s and key %s",
			k, linkerd.KubeconfigSecretType, linkerd.KubeconfigKey)
	case v.Source.Live.Hides(k) != nil:
		return object.Secret{}, v.Source.Live.Hides(k)
	case len(body.Bytes()) == 0:
		return object.Secret{}, object.Because(reason.Unknown, "linkwright has not read %s yet", k)
	case live.Terminating:
		return object.Secret{}, object.Because(reason.Terminating, "%s is being deleted", k)
	}
	given, err := linkerd.ExistingKubeconfig(body, v.Link.Target.Name, v.Target.Facts, controlPlane)
	if err != nil {
		return object.Secret{}, object.Because(reason.SecretInvalid, "Linkerd cannot use %s, which your secret manager writes: %v", k, err)
	}
	return given, nil
}

// OwnSecret returns a reason if a Secret that somebody else is to write is still linkwright's own, from another mode of the link; else nil. It is
// neither written nor deleted: the link goes on with it until people give it up.
func (v Pair) OwnSecret() *object.Reason {
	for _, k := range Secrets(v.Link) {
		if v.Source.Live.Record(k).Mark == object.Ours {
			return object.Because(reason.SecretStillManaged,
				"%s is still linkwright's: to hand it to your secret manager, run kubectl -n %s label secret %s %s-; credentials.mode is Existing now",
				k, k.Namespace, k.Name, object.OwnerLabel)
		}
	}
	return nil
}

// StillUsed returns why the source may still use a token of its account in the target, although its credential is another one now, or nil: what was
// given may go once nothing in the source carries it and Linkerd was told.
func (v Pair) StillUsed(a Access, now *linkerd.Credential) *object.Reason {
	at, source := v.Link.Source.Spec.Linkerd, v.Source.Live
	inUse := func(format string, a ...any) *object.Reason {
		return object.Because(reason.CredentialInUse, "linkwright's account for %s stays until the source uses your credential: "+format, append([]any{v.Link.Source.Name}, a...)...)
	}
	if !v.Source.Known() || now == nil {
		return inUse("the source's end is not ready")
	}
	for _, k := range []object.Key{linkerd.MirrorSecret(at, v.Link.Target.Name), linkerd.ControlPlaneSecret(at, v.Link.Target.Name)} {
		if source.Record(k).Mark == object.Ours {
			return inUse("%s still exists", k)
		}
		if why := source.Hides(k); why != nil {
			return inUse("%s", why.Message)
		}
	}
	for _, k := range Secrets(v.Link) {
		if body, _ := source.Body(k); v.containsAnyToken(body, a) || issuedFor(a.Account, linkerd.TokenOf(body)) {
			return inUse("%s still contains the account's token", k)
		}
	}
	link := linkerd.LinkKey(at, v.Link.Target.Name)
	if source.Record(link).IsZero() && v.Source.Covers(link) {
		return nil
	}
	body, _ := source.Body(link)
	name, entries := linkerd.CredentialEntries(body)
	if name != Secrets(v.Link)[0].Name || !slices.Contains(entries, linkerd.CredentialEntry(now.Fingerprint)) {
		return inUse("%s does not name your credential yet", link)
	}
	return nil
}

// issuedFor reports whether a token that expires is the account's.
func issuedFor(account object.Key, token object.Secret) bool {
	c, ok := claimsOf(token)
	return ok && c.Namespace == account.Namespace && c.Account.Name == account.Name
}

// containsAnyToken reports whether a Secret's kubeconfig holds a token of the account that does not expire.
func (v Pair) containsAnyToken(secret object.Body, a Access) bool {
	for k := range v.Target.Live.Kind("", "Secret") {
		if account, n := parseTokenKey(k); n == 0 || account != a.Account {
			continue
		}
		if token, _ := v.Target.Live.Body(k); containsToken(secret, token) {
			return true
		}
	}
	return false
}

// containsToken reports whether a Secret's kubeconfig holds the token of another Secret.
func containsToken(secret, token object.Body) bool {
	var config, of corev1.Secret
	if json.Unmarshal(secret.Bytes(), &config) != nil || json.Unmarshal(token.Bytes(), &of) != nil {
		return false
	}
	value := of.Data[corev1.ServiceAccountTokenKey]
	return len(value) > 0 && bytes.Contains(config.Data[linkerd.KubeconfigKey], value)
}

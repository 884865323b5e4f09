package credential

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// Pair is a link with both its ends as they were seen.
type Pair struct{ state.View }

// Credential returns the token that the target's token controller issued for the source's account, read from the Secret token; nil while there is
// none.
func (v Pair) Credential(token object.Key) (*linkerd.Credential, error) {
	body, ok := v.Target.Live.Body(token)
	if !ok || v.Target.Live.Record(token).Mark != object.Ours {
		return nil, nil //nolint:nilnil // no credential yet is an answer, not a failure
	}
	value, err := dataOf(body, corev1.ServiceAccountTokenKey)
	if err != nil {
		return nil, fmt.Errorf("read %s: it is not a valid Secret", token) // the cause could quote the secret
	}
	if len(value) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	t := object.NewSecret(value)
	return v.credential(t), nil
}

// credential returns a token as it is used: with another address or CA of the target it is another credential, for its readers hold all three. Its
// print is keyed with the source's identity.
func (v Pair) credential(token object.Secret) *linkerd.Credential {
	at := v.Target.Facts.API
	return &linkerd.Credential{Token: token, Fingerprint: token.Fingerprint(v.Source.Facts.UID, at.Server, at.CA)}
}

// dataOf returns one value of a Secret, empty where it has none. What stands where every server writes it is found without decoding the rest.
func dataOf(secret object.Body, key string) ([]byte, error) {
	if text, ok := secret.Text("data", key); ok {
		return base64.StdEncoding.DecodeString(text)
	}
	var s corev1.Secret
	err := json.Unmarshal(secret.Bytes(), &s)
	return s.Data[key], err
}

package linkerd

import (
	"encoding/base64"
	"errors"
	"slices"

	"github.com/linkwright/linkwright/object"
)

// Credential is what a source uses against its target.
type Credential struct {
	Token object.Secret
	Print string // keyed hash: shown, and put where Linkerd notices that it changed
}

// CredentialEntry stands in a Link's excludedAnnotations and tells its controller that the credential changed: any change
// of a Link's spec makes it read the secret again (linkerd2 multicluster/cmd/service-mirror/main.go), and it does not
// watch the secret itself.
func CredentialEntry(fingerprint string) string { return credentialPrefix + fingerprint }

const credentialPrefix = object.Prefix + "credential-"

// Kubeconfig is what Linkerd's readers find in a credential secret: address, CA and token, nothing else, inline. The names are the same
// in all kubeconfigs, since readers only follow them. An address or a token that is not printable ASCII is an error, which quotes
// neither: YAML would read on behind a line break in it.
//
// Line breaks fill up each value to a multiple of three bytes, and the constants between values are such. The base64 of a constant is
// then always the same, and by it an admission policy can check that there is nothing else in a kubeconfig (render/confine).
func Kubeconfig(at Endpoint, token object.Secret) ([]byte, error) {
	const mostFill = 3 * quantum
	secret := token.Bytes()
	switch {
	case !plain([]byte(at.Server)):
		return nil, errors.New("the address of the target's API server is not printable ASCII: correct the Cluster's apiServer, or the server in its access")
	case !plain(secret):
		return nil, errors.New("the target issued a token that is not printable ASCII, so linkwright does not use it")
	}
	out := make([]byte, 0, len(beforeServer+beforeCA+beforeToken)+len(at.Server)+base64.StdEncoding.EncodedLen(len(at.CA))+len(secret)+mostFill)
	out = filled(append(append(out, beforeServer...), at.Server...))
	out = filled(base64.StdEncoding.AppendEncode(append(out, beforeCA...), []byte(at.CA)))
	return filled(append(append(out, beforeToken...), secret...)), nil
}

func plain(value []byte) bool {
	return !slices.ContainsFunc(value, func(b byte) bool { return b < ' ' || b > '~' })
}

// quantum is how many bytes base64 encodes at a time.
const quantum = 3

// What is the same in every kubeconfig: each is a multiple of quantum. A value is a block of text, in which YAML has no escapes.
const (
	beforeServer = `apiVersion: v1
kind: Config
current-context: target
contexts:
- name: target
  context:
    cluster: target
    user: linkwright
clusters:
- name: target
  cluster:
    server: |-
      `
	beforeCA = `
    certificate-authority-data: |-
      `
	beforeToken = `users:
- name: linkwright
  user:
    token: |-
      `
)

// filled ends a value, with as many line breaks as it takes.
func filled(kubeconfig []byte) []byte {
	return append(kubeconfig, "\n\n\n"[len(kubeconfig)%quantum:]...)
}

// KubeconfigConstants are what stands before each value of a kubeconfig. Each value is followed by one to three line breaks.
func KubeconfigConstants() []string { return []string{beforeServer, beforeCA, beforeToken} }

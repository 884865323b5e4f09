package linkerd

import (
	"encoding/base64"
	"errors"
	"slices"

	"github.com/linkwright/linkwright/object"
)

// Credential is the login of a source at its target.
type Credential struct {
	Token       object.Secret
	Fingerprint string // fingerprint: reports show it, and Linkerd notices that it changed
}

// CredentialEntry is the entry in a Link's excludedAnnotations that makes its controller load a changed credential. The controller
// reads the secret again when the Link's spec changes (linkerd2 multicluster/cmd/service-mirror/main.go); it does not
// watch the secret.
func CredentialEntry(fingerprint string) string { return credentialPrefix + fingerprint }

const credentialPrefix = object.Prefix + "credential-"

// Kubeconfig is the content of a credential secret: address, CA and token, inline, and nothing else. The names in it are the same
// for all targets. An address or a token that is not printable ASCII is an error, which quotes neither: a line break in a value
// could add other YAML.
//
// Line breaks pad each value to a multiple of three bytes, and the constants between values have such a length. The base64 of a
// constant is then always the same, so that an admission policy can check that a kubeconfig holds nothing else (render/confine).
func Kubeconfig(at Endpoint, token object.Secret) ([]byte, error) {
	const maxPadding = 3 * base64Group
	secret := token.Bytes()
	switch {
	case !isPrintable([]byte(at.Server)):
		return nil, errors.New("the address of the target's API server is not printable ASCII: correct the Cluster's apiServer, or the server in its access")
	case !isPrintable(secret):
		return nil, errors.New("the target issued a token that is not printable ASCII, so linkwright does not use it")
	}
	out := make([]byte, 0, len(beforeServer+beforeCA+beforeToken)+len(at.Server)+base64.StdEncoding.EncodedLen(len(at.CA))+len(secret)+maxPadding)
	out = pad(append(append(out, beforeServer...), at.Server...))
	out = pad(base64.StdEncoding.AppendEncode(append(out, beforeCA...), []byte(at.CA)))
	return pad(append(append(out, beforeToken...), secret...)), nil
}

func isPrintable(value []byte) bool {
	return !slices.ContainsFunc(value, func(b byte) bool { return b < ' ' || b > '~' })
}

// base64Group is the number of bytes that base64 encodes at a time.
const base64Group = 3

// The constant parts of every kubeconfig; the length of each is a multiple of base64Group. A value is a block of text, in which YAML has no escapes.
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

// pad ends a value with one to three line breaks.
func pad(kubeconfig []byte) []byte {
	return append(kubeconfig, "\n\n\n"[len(kubeconfig)%base64Group:]...)
}

// KubeconfigConstants are the constant parts before each value of a kubeconfig. One to three line breaks follow each value.
func KubeconfigConstants() []string { return []string{beforeServer, beforeCA, beforeToken} }

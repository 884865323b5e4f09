package linkerd

import (
	"encoding/base64"

	"github.com/linkwright/linkwright/api"
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

// Kubeconfig is what Linkerd's readers find in a credential secret: address, CA and token, nothing else, inline, as JSON,
// which every reader of the format takes.
func Kubeconfig(target api.ClusterName, account string, at Endpoint, token object.Secret) []byte {
	const most = 256 // of what is the same in each
	name, secret := string(target), string(token.Bytes())
	m := make(object.Members, 0, most+4*len(name)+2*len(account)+len(at.Server)+base64.StdEncoding.EncodedLen(len(at.CA))+len(secret))
	m = append(m, `{"apiVersion":"v1","kind":"Config","clusters":[{`...)
	m.Text("name", name)
	m.Open("cluster")
	m.Text("server", at.Server)
	m.Base64("certificate-authority-data", []byte(at.CA))
	m = append(m, `}}],"users":[{`...)
	m.Text("name", account)
	m.Open("user")
	m.Text("token", secret)
	m = append(m, `}}],"contexts":[{`...)
	m.Text("name", name)
	m.Open("context")
	m.Text("cluster", name)
	m.Text("user", account)
	m = append(m, `}}]`...)
	m.Text("current-context", name)
	m.Close()
	return m
}

package linkerd

import (
	"encoding/json"

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

// kubeconfig is the part of the kubeconfig format that a credential needs: inline and deterministic.
type kubeconfig struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	Clusters       []namedCluster `json:"clusters"`
	Users          []namedUser    `json:"users"`
	Contexts       []namedContext `json:"contexts"`
	CurrentContext string         `json:"current-context"`
}

type namedCluster struct {
	Name    string `json:"name"`
	Cluster struct {
		Server string `json:"server"`
		CA     []byte `json:"certificate-authority-data"`
	} `json:"cluster"`
}

type namedUser struct {
	Name string `json:"name"`
	User struct {
		Token string `json:"token"`
	} `json:"user"`
}

type namedContext struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
}

// Kubeconfig is what Linkerd's readers find in a credential secret: address, CA and token, nothing
// else, as JSON, which every reader of the format takes.
func Kubeconfig(target api.ClusterName, account string, at Endpoint, token object.Secret) ([]byte, error) {
	c := namedCluster{Name: string(target)}
	c.Cluster.Server, c.Cluster.CA = at.Server, []byte(at.CA)
	u := namedUser{Name: account}
	u.User.Token = string(token.Bytes())
	x := namedContext{Name: string(target)}
	x.Context.Cluster, x.Context.User = string(target), account
	return json.Marshal(kubeconfig{
		APIVersion: "v1", Kind: "Config", CurrentContext: string(target),
		Clusters: []namedCluster{c}, Users: []namedUser{u}, Contexts: []namedContext{x},
	})
}

package linkerd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// ExistingKubeconfig is the kubeconfig in an existing credential Secret for target, whose facts are f, or an error if Linkerd
// could not use it. The control plane finds its Secret by type and label, and requires both annotations
// (linkerd2 controller/api/destination/watcher/cluster_store.go). Errors quote nothing of the kubeconfig.
func ExistingKubeconfig(secret object.Body, target api.ClusterName, f Facts, controlPlane bool) (object.Secret, error) {
	var s corev1.Secret
	if json.Unmarshal(secret.Bytes(), &s) != nil {
		return object.Secret{}, errors.New("it is not a Secret") // the cause could quote it
	}
	if s.Type != KubeconfigSecretType {
		return object.Secret{}, fmt.Errorf("its type is %s, and must be %s", s.Type, KubeconfigSecretType)
	}
	if controlPlane {
		if err := checkControlPlaneMarks(s, target, f.Domains); err != nil {
			return object.Secret{}, err
		}
	}
	raw, ok := s.Data[KubeconfigKey]
	if !ok {
		return object.Secret{}, fmt.Errorf("it has no key %s", KubeconfigKey)
	}
	if err := CheckKubeconfig(raw, f.API.Server); err != nil {
		return object.Secret{}, fmt.Errorf("key %s: %w", KubeconfigKey, err)
	}
	return object.NewSecret(raw), nil
}

// checkControlPlaneMarks checks the label and the annotations that only the destination controller reads.
func checkControlPlaneMarks(s corev1.Secret, target api.ClusterName, remote Domains) error {
	if got := s.Labels[RemoteClusterLabel]; got != string(target) {
		return fmt.Errorf("its label %s is %q, and must be %s", RemoteClusterLabel, got, target)
	}
	for _, a := range []struct{ name, want string }{{TrustDomain, remote.Trust}, {ClusterDomain, remote.Cluster}} {
		if got := s.Annotations[a.name]; got == "" || got != a.want && a.want != "" {
			return fmt.Errorf("its annotation %s is %q, and must be %q, as in cluster %s", a.name, got, a.want, target)
		}
	}
	return nil
}

// TokenOf is the token in a credential's Secret; empty if there is none.
func TokenOf(secret object.Body) object.Secret {
	var s corev1.Secret
	var c kubeconfig
	if json.Unmarshal(secret.Bytes(), &s) != nil || yaml.Unmarshal(s.Data[KubeconfigKey], &c) != nil {
		return object.Secret{}
	}
	for _, x := range c.Contexts {
		for _, u := range c.Users {
			if x.Name == c.CurrentContext && u.Name == x.Context.User {
				return object.NewSecret([]byte(u.User.Token))
			}
		}
	}
	return object.Secret{}
}

// kubeconfig has the fields of an existing kubeconfig that are checked; others are ignored.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string            `json:"name"`
		Cluster kubeconfigCluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string         `json:"name"`
		User kubeconfigUser `json:"user"`
	} `json:"users"`
}

type kubeconfigCluster struct {
	Server   string `json:"server"`
	CA       []byte `json:"certificate-authority-data"`
	CAFile   string `json:"certificate-authority"`
	Insecure bool   `json:"insecure-skip-tls-verify"`
}

type kubeconfigUser struct {
	Token        string          `json:"token"`
	Cert         []byte          `json:"client-certificate-data"`
	Key          []byte          `json:"client-key-data"`
	TokenFile    string          `json:"tokenFile"`
	CertFile     string          `json:"client-certificate"`
	KeyFile      string          `json:"client-key"`
	Exec         json.RawMessage `json:"exec"`
	AuthProvider json.RawMessage `json:"auth-provider"`
}

// CheckKubeconfig returns why Linkerd's readers could not use a kubeconfig, or nil. They run in pods of the source: files
// and programs that it refers to are not there, and a loopback address is not the target, unless it is the declared one.
// Errors quote nothing of it.
func CheckKubeconfig(raw []byte, declared string) error {
	var c kubeconfig
	if yaml.Unmarshal(raw, &c) != nil {
		return errors.New("it is not a kubeconfig in YAML or JSON")
	}
	if c.CurrentContext == "" {
		return errors.New("it has no current-context")
	}
	for _, x := range c.Contexts {
		if x.Name == c.CurrentContext {
			if err := c.checkCluster(x.Context.Cluster, declared); err != nil {
				return err
			}
			return c.checkUser(x.Context.User)
		}
	}
	return errors.New("its current-context names a context that it does not have")
}

func (c kubeconfig) checkCluster(name, declared string) error {
	for _, e := range c.Clusters {
		if e.Name == name {
			return e.Cluster.check(declared)
		}
	}
	return errors.New("its context names a cluster that it does not have")
}

func (c kubeconfigCluster) check(declared string) error {
	at, err := url.Parse(c.Server)
	switch {
	case err != nil || at.Scheme != "https" || at.Host == "":
		return errors.New("server is not an https URL")
	case Loopback(c.Server) && c.Server != declared:
		return errors.New("server is a loopback address, which does not lead to the target from the source's pods")
	case c.Insecure:
		return errors.New("insecure-skip-tls-verify is not allowed: use certificate-authority-data")
	case c.CAFile != "":
		return errors.New("certificate-authority refers to a file: use certificate-authority-data")
	}
	return nil
}

func (c kubeconfig) checkUser(name string) error {
	for _, e := range c.Users {
		if e.Name == name {
			return e.User.check()
		}
	}
	return errors.New("its context names a user that it does not have")
}

func (u kubeconfigUser) check() error {
	for _, f := range []struct{ value, field, instead string }{
		{u.TokenFile, "tokenFile", "token"},
		{u.CertFile, "client-certificate", "client-certificate-data"},
		{u.KeyFile, "client-key", "client-key-data"},
	} {
		if f.value != "" {
			return fmt.Errorf("%s refers to a file: use %s", f.field, f.instead)
		}
	}
	switch {
	case isSet(u.Exec):
		return errors.New("exec starts a program, which Linkerd's images do not have: use a token")
	case isSet(u.AuthProvider):
		return errors.New("auth-provider is not supported: use a token")
	case u.Token == "" && (len(u.Cert) == 0 || len(u.Key) == 0):
		return errors.New("its user has neither a token nor a client certificate with its key")
	}
	return nil
}

func isSet(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }

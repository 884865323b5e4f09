package cluster

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Trust says what a kubeconfig may refer to beyond the data it holds. The zero value: nothing.
type Trust struct {
	// Files may be read: certificates, keys, tokens.
	Files bool
	// Exec plugins may be started.
	Exec bool
	// Dir is where relative paths begin; default the working directory.
	Dir string
}

// ParseKubeconfig returns the configuration of one context; an empty name is the file's current one. Whoever may write a kubeconfig may not thereby
// read files or start programs here: see Trust. Verification of the server is never off. Errors name the entry and what to do, and quote no values.
func ParseKubeconfig(raw []byte, context string, trust Trust) (*rest.Config, error) {
	file, err := clientcmd.Load(raw)
	if err != nil {
		// The parser's own words may quote what it read.
		return nil, errors.New("parse kubeconfig: this is not a kubeconfig in YAML or JSON")
	}
	if context == "" {
		context = file.CurrentContext
	}
	e, err := entries(file, context)
	if err != nil {
		return nil, fmt.Errorf("parse kubeconfig: %w", err)
	}
	if err := errors.Join(e.checkCluster(trust), e.checkUser(trust)); err != nil {
		return nil, fmt.Errorf("parse kubeconfig: %w", err)
	}
	e.root(trust.Dir)
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, fmt.Errorf("parse kubeconfig: %w", err)
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*file, context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("parse kubeconfig: context %q: %w", context, err)
	}
	return cfg, nil
}

// chosen is what a context names.
type chosen struct {
	cluster  *clientcmdapi.Cluster
	user     *clientcmdapi.AuthInfo
	ofServer string // the cluster entry's name
	ofUser   string // the user entry's name
}

func entries(file *clientcmdapi.Config, context string) (chosen, error) {
	if context == "" {
		return chosen{}, errors.New("it has no current context: name one")
	}
	c, ok := file.Contexts[context]
	if !ok || c == nil {
		return chosen{}, fmt.Errorf("it has no context %q, only %s", context, contextNames(file.Contexts))
	}
	e := chosen{cluster: file.Clusters[c.Cluster], user: file.AuthInfos[c.AuthInfo], ofServer: c.Cluster, ofUser: c.AuthInfo}
	switch {
	case e.cluster == nil:
		return chosen{}, fmt.Errorf("context %q names cluster %q, which does not exist there", context, c.Cluster)
	case e.user == nil:
		return chosen{}, fmt.Errorf("context %q names user %q, which does not exist there", context, c.AuthInfo)
	case e.cluster.Server == "":
		return chosen{}, fmt.Errorf("cluster %q has no server", c.Cluster)
	}
	return e, nil
}

func contextNames(contexts map[string]*clientcmdapi.Context) string {
	if len(contexts) == 0 {
		return "none"
	}
	list := make([]string, 0, len(contexts))
	for name := range contexts {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (e chosen) checkCluster(trust Trust) error {
	switch c := e.cluster; {
	case c.InsecureSkipTLSVerify:
		return fmt.Errorf("cluster %q has insecure-skip-tls-verify: remove it, and give the CA as certificate-authority-data", e.ofServer)
	case c.CertificateAuthority != "" && !trust.Files:
		return fmt.Errorf("cluster %q refers to a file by certificate-authority: "+inline, e.ofServer, "certificate-authority-data")
	}
	return nil
}

const inline = "give the content inline as %s (kubectl config view --flatten --minify does so)"

func (e chosen) checkUser(trust Trust) error {
	u := e.user
	files := []struct{ field, value, instead string }{
		{"client-certificate", u.ClientCertificate, "client-certificate-data"},
		{"client-key", u.ClientKey, "client-key-data"},
		{"tokenFile", u.TokenFile, "token"},
	}
	for _, f := range files {
		if f.value != "" && !trust.Files {
			return fmt.Errorf("user %q refers to a file by %s: "+inline, e.ofUser, f.field, f.instead)
		}
	}
	switch {
	case u.AuthProvider != nil:
		return fmt.Errorf("user %q has an auth-provider, which is not supported: give a token or a client certificate inline", e.ofUser)
	case u.Exec != nil && !trust.Exec:
		return fmt.Errorf("user %q starts a program by exec, which is not allowed here: give a service account's token inline", e.ofUser)
	}
	return nil
}

// root makes relative paths begin in dir.
func (e chosen) root(dir string) {
	if dir == "" {
		return
	}
	e.cluster.LocationOfOrigin = filepath.Join(dir, "kubeconfig")
	e.user.LocationOfOrigin = filepath.Join(dir, "kubeconfig")
}

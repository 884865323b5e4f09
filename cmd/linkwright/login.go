package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/cluster"
)

// login is the operator's own: one context of a kubeconfig.
type login struct{ kubeconfig, context string }

// newcomer is a cluster by the operator's login, and how linkwright is to reach it.
type newcomer struct {
	office
	here location // of the operator's login
	at   location // as linkwright reaches it
}

// location is where an API server is, and whom it must prove to be.
type location struct {
	server, name string // name: of its certificate, if another than the server's
	ca           []byte // PEM; empty: whom this machine trusts
}

// open reads the login. It connects to nothing yet.
func (l login) open(server string) (newcomer, error) {
	file, raw, err := operatorsFile(l.kubeconfig)
	if err != nil {
		return newcomer{}, err
	}
	cfg, err := operatorsLogin(file, raw, l.context)
	if err != nil {
		return newcomer{}, err
	}
	here := locationIn(cfg)
	if len(here.ca) == 0 && cfg.CAFile != "" {
		if here.ca, err = os.ReadFile(cfg.CAFile); err != nil {
			return newcomer{}, fmt.Errorf("read --kubeconfig %s, context %s: %w", file, l.context, err)
		}
	}
	at := here
	at.server = cmp.Or(server, here.server)
	o, err := openOffice(cfg)
	return newcomer{o, here, at}, err
}

// local says that nobody reaches the address from another machine.
func (a location) local() bool {
	u, err := url.Parse(a.server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// identity is the uid of kube-system, of a cluster in which Linkerd's namespaces are: some of the rights go there.
func (n newcomer) identity(ctx context.Context, l api.Linkerd) (string, error) {
	system, err := n.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", explained(err)
	}
	for _, name := range []string{l.Namespace, l.MulticlusterNamespace} {
		switch _, err := n.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return "", fmt.Errorf("namespace %s is missing: install Linkerd and its multicluster extension first, or give --linkerd-namespace or --multicluster-namespace", name)
		case err != nil:
			return "", explained(err)
		}
	}
	return string(system.UID), nil
}

// explained is an answer of an API server with what to do.
func explained(err error) error {
	why := cluster.Explain(err)
	return fmt.Errorf("%s: %s", why.Code, why.Message)
}

// token asks for one of an account.
func (n newcomer) token(ctx context.Context, of grantee, ttl time.Duration) (object.Secret, error) {
	granted, err := n.client.CoreV1().ServiceAccounts(of.namespace).CreateToken(ctx, of.account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(ttl.Seconds()))},
	}, metav1.CreateOptions{})
	if err != nil {
		return object.Secret{}, fmt.Errorf("ask for a token of %s/%s: %w", of.namespace, of.account, explained(err))
	}
	return object.NewSecret([]byte(granted.Status.Token)), nil
}

// kubeconfig is inline: address, CA and token, nothing else.
func (a location) kubeconfig(name api.ClusterName, token object.Secret) ([]byte, error) {
	const user = "linkwright"
	file := clientcmdapi.NewConfig()
	file.Clusters[string(name)] = &clientcmdapi.Cluster{Server: a.server, TLSServerName: a.name, CertificateAuthorityData: a.ca}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: string(token.Bytes())}
	file.Contexts[string(name)] = &clientcmdapi.Context{Cluster: string(name), AuthInfo: user}
	file.CurrentContext = string(name)
	return clientcmd.Write(*file)
}

// locationIn is the address of a configuration that holds all it needs.
func locationIn(cfg *rest.Config) location {
	return location{server: cfg.Host, name: cfg.ServerName, ca: cfg.CAData}
}

func (a location) same(b location) bool {
	return a.server == b.server && a.name == b.name && slices.Equal(a.ca, b.ca)
}

// settling is how long rights that were just given may take to count.
const settling = 15 * time.Second

// try reads the cluster by a kubeconfig, until its uid is read or settling is over.
func try(ctx context.Context, raw []byte, uid string) error {
	cfg, err := cluster.ParseKubeconfig(raw, "", cluster.Trust{})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for {
		system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		switch {
		case err == nil && string(system.UID) != uid:
			return fmt.Errorf("%s is another cluster than that of the context: its kube-system has uid %s, not %s", cfg.Host, system.UID, uid)
		case err == nil:
			return nil
		case !apierrors.IsForbidden(err):
			return fmt.Errorf("reach %s by the new account: %w", cfg.Host, explained(err))
		}
		select {
		case <-ctx.Done():
			return explained(err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

package enroll

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
)

// login is the operator's own: one context of a kubeconfig. server is the address by which linkwright reaches the cluster; empty: the same.
type login struct{ kubeconfig, context, server string }

// newCluster is a cluster by the operator's login, and how linkwright is to reach it.
type newCluster struct {
	admin
	here access.Location // of the operator's login
	at   access.Location // as linkwright reaches it
}

// open reads the login; timeout is the limit of one request. It connects to nothing yet.
func (l login) open(timeout time.Duration) (newCluster, error) {
	file, raw, err := cli.Kubeconfig(l.kubeconfig)
	if err != nil {
		return newCluster{}, err
	}
	cfg, err := cli.Login(file, raw, l.context)
	if err != nil {
		return newCluster{}, err
	}
	here := access.LocationIn(cfg)
	if len(here.CA) == 0 && cfg.CAFile != "" {
		if here.CA, err = os.ReadFile(cfg.CAFile); err != nil {
			return newCluster{}, fmt.Errorf("read --kubeconfig %s, context %s: %w", file, l.context, err)
		}
	}
	at := here
	at.Server = cmp.Or(l.server, here.Server)
	o, err := openAdmin(cfg, timeout)
	return newCluster{o, here, at}, err
}

// identity is the uid of kube-system, of a cluster in which Linkerd's namespaces are: some of the rights go there.
func (n newCluster) identity(ctx context.Context, l api.Linkerd) (string, error) {
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

// explained is an answer of an API server to a person's login, with what to do.
func explained(err error) error {
	why := cluster.Explain(err)
	return fmt.Errorf("%s: %s", why.Code, strings.Replace(why.Message, cluster.MissingRight, " (use the context of a login that may do this)", 1))
}

// token asks for one of an account.
func (n newCluster) token(ctx context.Context, of grantee, ttl time.Duration) (object.Secret, error) {
	granted, err := n.client.CoreV1().ServiceAccounts(of.namespace).CreateToken(ctx, of.account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(ttl.Seconds()))},
	}, metav1.CreateOptions{})
	if err != nil {
		return object.Secret{}, fmt.Errorf("request a token of %s/%s: %w", of.namespace, of.account, explained(err))
	}
	return object.NewSecret([]byte(granted.Status.Token)), nil
}

// propagation is how long rights that were just given may take to count.
const propagation = 15 * time.Second

// probe is how a cluster is read by a new login: the uid that its kube-system must have, and the time limit of one request.
type probe struct {
	uid     string
	timeout time.Duration
}

// verify reads the cluster by a kubeconfig, until its uid is read or propagation is over.
func verify(ctx context.Context, raw []byte, want probe) error {
	cfg, err := cluster.ParseKubeconfig(raw, "", cluster.Trust{})
	if err != nil {
		return err
	}
	cfg.Timeout = want.timeout
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, propagation)
	defer cancel()
	for {
		system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		switch {
		case err == nil && string(system.UID) != want.uid:
			return fmt.Errorf("%s is another cluster than that of the context: its kube-system has uid %s, not %s", cfg.Host, system.UID, want.uid)
		case err == nil:
			return nil
		case !apierrors.IsForbidden(err):
			return fmt.Errorf("reach %s with the new account: %w", cfg.Host, explained(err))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the new account has no rights in %s after %s: %w", cfg.Host, propagation, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

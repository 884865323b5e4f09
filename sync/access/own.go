package access

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/cluster"
)

// Annotations of an access Secret that `cluster add` made.
const (
	RenewAnnotation = object.Prefix + "renew"       // NAMESPACE/NAME of the account whose token it holds
	WhoseAnnotation = object.Prefix + "cluster-uid" // of kube-system, of the cluster it leads to
)

// Location is where an API server is, and whom it must prove to be.
type Location struct {
	Server, Name string // Name: of its certificate, if another than the server's
	CA           []byte // PEM; empty: whom this machine trusts
}

// IsLocal reports whether nobody reaches the address from another machine.
func (a Location) IsLocal() bool {
	u, err := url.Parse(a.Server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Same reports whether both are one.
func (a Location) Same(b Location) bool {
	return a.Server == b.Server && a.Name == b.Name && slices.Equal(a.CA, b.CA)
}

// Kubeconfig is inline: address, CA and token, nothing else.
func (a Location) Kubeconfig(name api.ClusterName, token object.Secret) ([]byte, error) {
	const user = "linkwright"
	file := clientcmdapi.NewConfig()
	file.Clusters[string(name)] = &clientcmdapi.Cluster{Server: a.Server, TLSServerName: a.Name, CertificateAuthorityData: a.CA}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: string(token.Bytes())}
	file.Contexts[string(name)] = &clientcmdapi.Context{Cluster: string(name), AuthInfo: user}
	file.CurrentContext = string(name)
	return clientcmd.Write(*file)
}

// LocationIn returns the address of a configuration that holds all it needs.
func LocationIn(cfg *rest.Config) Location {
	return Location{Server: cfg.Host, Name: cfg.ServerName, CA: cfg.CAData}
}

// ManagedAccess is an access that `cluster add` made: whose token it is, and what for.
type ManagedAccess struct {
	Name            api.ClusterName
	Account, UID    string // NAMESPACE/NAME; of the cluster's kube-system
	At              Location
	Token           object.Secret
	Issued, Expires time.Time
}

// Due reports whether two thirds of the token's life are over.
func (o ManagedAccess) Due(now time.Time) bool {
	return !now.Before(o.Issued.Add(o.Expires.Sub(o.Issued) * 2 / 3))
}

// ManagedAccessIn reads an access Secret; false: it is none that `cluster add` made, or its token does not expire.
func ManagedAccessIn(k CachedObject, entry string) (ManagedAccess, bool) {
	if k.Record.Mark != object.Ours {
		return ManagedAccess{}, false
	}
	var s corev1.Secret
	if json.Unmarshal(k.Body.Bytes(), &s) != nil || s.Annotations[RenewAnnotation] == "" {
		return ManagedAccess{}, false
	}
	cfg, err := cluster.ParseKubeconfig(s.Data[entry], "", cluster.Trust{})
	if err != nil {
		return ManagedAccess{}, false
	}
	return ownIn(cfg, s.Annotations)
}

func ownIn(cfg *rest.Config, annotations map[string]string) (ManagedAccess, bool) {
	o := ManagedAccess{Account: annotations[RenewAnnotation], UID: annotations[WhoseAnnotation], At: LocationIn(cfg), Token: object.NewSecret([]byte(cfg.BearerToken))}
	var ok bool
	o.Issued, o.Expires, ok = cluster.Lifetime(o.Token)
	return o, ok && o.Account != ""
}

// Handover is an access Secret that is to be written.
type Handover struct {
	Owner string        // of the installation
	Entry api.SecretKey // the Secret, and the key of the kubeconfig in it
	ManagedAccess
	Was object.Record // of the Secret as it was read; zero: there is none
}

// HandOver writes an access Secret, if it is still what was read.
func (h *ManagementCluster) HandOver(ctx context.Context, o Handover) error {
	ch, err := h.handOver(o)
	if err != nil {
		return err
	}
	if _, err := h.Write(ctx, ch); err != nil {
		return fmt.Errorf("write the access: %w", err)
	}
	return nil
}

// CheckHandOver has the API server check what HandOver would write, by dryRun=All.
func (h *ManagementCluster) CheckHandOver(ctx context.Context, o Handover) error {
	ch, err := h.handOver(o)
	if err != nil {
		return err
	}
	return h.DryRun(ctx, ch)
}

// handOver is the write of an access Secret.
func (h *ManagementCluster) handOver(o Handover) (object.Change, error) {
	raw, err := o.At.Kubeconfig(o.Name, o.Token)
	if err != nil {
		return object.Change{}, err
	}
	key := h.Key("Secret", o.Entry.Name)
	secret := coreac.Secret(key.Name, key.Namespace).WithData(map[string][]byte{o.Entry.Key: raw}).
		WithAnnotations(map[string]string{RenewAnnotation: o.Account, WhoseAnnotation: o.UID})
	body, err := object.New(object.Spec{
		Key: key, Version: "v1", Phase: object.PhaseSecrets, Owner: o.Owner, Meta: secret.ObjectMetaApplyConfiguration, Config: secret,
	})
	if err != nil {
		return object.Change{}, err
	}
	action := object.Update
	if o.Was.IsZero() {
		action = object.Create
	}
	return object.Change{Action: action, Key: key, Object: body, Was: o.Was, Conditional: true}, nil
}

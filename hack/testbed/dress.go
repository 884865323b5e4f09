package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Linkerd's default names, which InstallLinkerd uses.
const (
	ControlPlane = "linkerd"              // namespace
	Multicluster = "linkerd-multicluster" // namespace
	Gateway      = "linkerd-gateway"      // Service and Deployment in Multicluster
)

// Linkerd says which Linkerd a cluster seems to have. The zero value is a
// Linkerd of 2.20 with a gateway at 192.0.2.10.
type Linkerd struct {
	// LinkerdVersion as linkerd-config spells it: "edge-26.6.3", the time of
	// 2.20, when empty; until 2.14 there were stable ones, "stable-2.14.10".
	LinkerdVersion string
	ClusterDomain  string // "cluster.local" when empty
	TrustDomain    string // ClusterDomain when empty
	// TrustAnchors is PEM; empty means one anchor that all clusters dressed so
	// share. NewTrustAnchors makes others.
	TrustAnchors string
	// GatewayAddresses are IP addresses or host names of the load balancer;
	// nil means 192.0.2.10, empty means that it has none yet.
	GatewayAddresses []string
	// NodePort makes the gateway's Service of that type, at GatewayNodePort and
	// ProbeNodePort.
	NodePort bool
	// NoGateway leaves the gateway out; it does not remove one.
	NoGateway bool
	// LinkVersions that the Link CRD serves, the last one stored: v1alpha1 to
	// v1alpha3 when nil. Linkerd up to 2.16 had v1alpha1 alone, 2.17 had
	// v1alpha1 and v1alpha2.
	LinkVersions []string
}

// Where a gateway of type NodePort listens.
const (
	GatewayNodePort = 30143
	ProbeNodePort   = 30191
)

// linkVersion is one version of the Link CRD and what it can do.
type linkVersion struct {
	Name                                 string
	Storage, Status, Federated, Excludes bool
}

// templateData is a Linkerd as the manifests read it.
type templateData struct {
	Linkerd
	LinkVersions []linkVersion
	NodePorts    struct{ Gateway, Probe int }
	Values       string // YAML of linkerd-config
}

func (d Linkerd) withDefaults() Linkerd {
	d.LinkerdVersion = orDefault(d.LinkerdVersion, "edge-26.6.3")
	d.ClusterDomain = orDefault(d.ClusterDomain, "cluster.local")
	d.TrustDomain = orDefault(d.TrustDomain, d.ClusterDomain)
	d.TrustAnchors = orDefault(d.TrustAnchors, sharedAnchor)
	if d.GatewayAddresses == nil {
		d.GatewayAddresses = []string{"192.0.2.10"}
	}
	if d.LinkVersions == nil {
		d.LinkVersions = []string{"v1alpha1", "v1alpha2", "v1alpha3"}
	}
	return d
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

func (d Linkerd) templateData() (templateData, error) {
	values, err := yaml.Marshal(map[string]any{
		"clusterDomain":           d.ClusterDomain,
		"identityTrustDomain":     d.TrustDomain,
		"identityTrustAnchorsPEM": d.TrustAnchors,
		"linkerdVersion":          d.LinkerdVersion,
		"cliVersion":              "",
		"enableEndpointSlices":    true,
		"identity":                map[string]any{"externalCA": false, "issuer": map[string]any{"scheme": "linkerd.io/tls"}},
		"proxy": map[string]any{
			"await":                 true,
			"defaultInboundPolicy":  "all-unauthenticated",
			"image":                 map[string]any{"name": "cr.l5d.io/linkerd/proxy", "version": "", "pullPolicy": ""},
			"logFormat":             "plain",
			"logLevel":              "warn,linkerd=info",
			"nativeSidecar":         false,
			"opaquePorts":           "25,587,3306,4444,5432,6379,9300,11211",
			"ports":                 map[string]any{"admin": 4191, "control": 4190, "inbound": 4143, "outbound": 4140},
			"resources":             map[string]any{"cpu": map[string]any{"limit": "", "request": ""}, "memory": map[string]any{"limit": "", "request": ""}},
			"waitBeforeExitSeconds": 0,
		},
		"proxyInit": map[string]any{"ignoreInboundPorts": "4567,4568", "ignoreOutboundPorts": "4567,4568"},
	})
	out := templateData{Linkerd: d, Values: string(values)}
	out.NodePorts.Gateway, out.NodePorts.Probe = GatewayNodePort, ProbeNodePort
	for i, name := range d.LinkVersions {
		out.LinkVersions = append(out.LinkVersions, linkVersion{
			Name:      name,
			Storage:   i == len(d.LinkVersions)-1,
			Status:    name != "v1alpha1",
			Federated: name != "v1alpha1",
			Excludes:  name == "v1alpha3",
		})
	}
	return out, err
}

// manifests are the files of its objects, in the order of applying.
func (d Linkerd) manifests() []string {
	files := []string{"namespaces.yaml", "link.yaml", "controlplane.yaml", "multicluster.yaml"}
	if !d.NoGateway {
		files = append(files, "gateway.yaml")
	}
	return files
}

// Objects are what InstallLinkerd applies, in order; addresses of the gateway are no part of them.
func (d Linkerd) Objects() ([]*unstructured.Unstructured, error) {
	d = d.withDefaults()
	data, err := d.templateData()
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, file := range d.manifests() {
		objects, err := fill(file, data)
		if err != nil {
			return nil, fmt.Errorf("read manifest %s: %w", file, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// InstallLinkerd makes a cluster look as one that Linkerd and its multicluster
// extension are installed in, by server-side apply as field manager "testbed".
// Installing it again the same way changes nothing. It returns when the CRDs are
// served and the remote access token exists.
func InstallLinkerd(ctx context.Context, cfg *rest.Config, d Linkerd) error {
	d = d.withDefaults()
	data, err := d.templateData()
	if err != nil {
		return fmt.Errorf("dress cluster: %w", err)
	}
	if err := applyManifests(ctx, cfg, data, d.manifests()...); err != nil {
		return fmt.Errorf("dress cluster: %w", err)
	}
	if !d.NoGateway && !d.NodePort {
		if err := SetGateway(ctx, cfg, d.GatewayAddresses...); err != nil {
			return fmt.Errorf("dress cluster: %w", err)
		}
	}
	if err := waitReady(ctx, cfg); err != nil {
		return fmt.Errorf("dress cluster: %w", err)
	}
	return nil
}

// SetGateway gives the gateway's load balancer these IP addresses or host
// names, and no others; without any it loses its address.
func SetGateway(ctx context.Context, cfg *rest.Config, addresses ...string) error {
	client, err := kubernetes.NewForConfig(as(cfg, manager))
	if err != nil {
		return err
	}
	ingress := make([]map[string]string, 0, len(addresses))
	for _, address := range addresses {
		key := "hostname"
		if net.ParseIP(address) != nil {
			key = "ip"
		}
		ingress = append(ingress, map[string]string{key: address})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Services(Multicluster).Patch(ctx, Gateway, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager}, "status")
	if err != nil {
		return fmt.Errorf("set gateway: %w", err)
	}
	return nil
}

// waitReady waits until what other controllers add to the dressing is there.
func waitReady(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(as(cfg, manager))
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		for _, group := range []string{"multicluster.linkerd.io", "policy.linkerd.io"} {
			if err := client.Discovery().RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Error(); err != nil {
				return err
			}
		}
		return hasToken(ctx, client)
	})
}

func hasToken(ctx context.Context, client kubernetes.Interface) error {
	secret, err := client.CoreV1().Secrets(Multicluster).Get(ctx, "linkerd-service-mirror-remote-access-default-token", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data["token"]) == 0 {
		return errors.New("remote access has no token yet")
	}
	return err
}

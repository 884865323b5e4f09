package render

import (
	corev1 "k8s.io/api/core/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// credentials renders what link-gen prints: the service mirror's secret, and the control plane's, of
// the same bytes, where remote discovery or federation is used (linkerd2 multicluster/cmd/link-gen.go).
func credentials(b *builder) {
	account := Account(b.owner, b.Link.Source.Name).Name
	kubeconfig, err := linkerd.Kubeconfig(b.target(), account, b.Target.API, b.Credential.Token)
	if err != nil {
		b.err = err
		return
	}
	b.secret(linkerd.MirrorSecret(b.source(), b.target()), kubeconfig, nil, nil)
	if b.Link.Spec.UsesRemoteDiscovery() {
		b.secret(linkerd.ControlPlaneSecret(b.source(), b.target()), kubeconfig,
			map[string]string{linkerd.RemoteClusterLabel: string(b.target())},
			map[string]string{
				linkerd.TrustDomain:   b.Target.Domains.Trust,
				linkerd.ClusterDomain: b.Target.Domains.Cluster,
			})
	}
}

func (b *builder) secret(key object.Key, kubeconfig []byte, labels, annotations map[string]string) {
	s := coreac.Secret(key.Name, key.Namespace).WithType(corev1.SecretType(linkerd.KubeconfigSecretType)).
		WithData(map[string][]byte{linkerd.KubeconfigKey: kubeconfig}).WithAnnotations(annotations)
	b.add(named{key: key, version: "v1", phase: object.PhaseSecrets, meta: &s.ObjectMetaApplyConfiguration, labels: labels}, s)
}

package render

import (
	"encoding/base64"

	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

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
	secret := encodedSecret(kubeconfig)
	b.secret(linkerd.MirrorSecret(b.source(), b.target()), secret, nil, nil)
	if b.Link.Spec.UsesRemoteDiscovery() {
		b.secret(linkerd.ControlPlaneSecret(b.source(), b.target()), secret,
			map[string]string{linkerd.RemoteClusterLabel: string(b.target())},
			map[string]string{
				linkerd.TrustDomain:   b.Target.Domains.Trust,
				linkerd.ClusterDomain: b.Target.Domains.Cluster,
			})
	}
}

func (b *builder) secret(key object.Key, content object.Encoded, labels, annotations map[string]string) {
	meta := &metaac.ObjectMetaApplyConfiguration{Annotations: annotations}
	b.add(named{key: key, version: "v1", phase: object.PhaseSecrets, meta: &meta, labels: labels}, content)
}

// encodedSecret is the JSON of a Secret's apply configuration, once for both: it is most of the bytes of a link.
func encodedSecret(kubeconfig []byte) object.Encoded {
	const (
		head = `{"kind":"Secret","apiVersion":"v1","metadata":{},"data":{"` + linkerd.KubeconfigKey + `":"`
		tail = `"},"type":"` + linkerd.KubeconfigSecretType + `"}`
	)
	out := make([]byte, 0, len(head)+base64.StdEncoding.EncodedLen(len(kubeconfig))+len(tail))
	out = base64.StdEncoding.AppendEncode(append(out, head...), kubeconfig)
	return append(out, tail...)
}

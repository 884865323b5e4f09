package render

import (
	"cmp"
	"encoding/base64"
	"fmt"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// credentials renders what link-gen prints: the service mirror's secret, and for remote discovery or
// federation the control plane's, with the same bytes (linkerd2 multicluster/cmd/link-gen.go).
func credentials(b *builder) {
	kubeconfig, err := linkerd.Kubeconfig(b.Target.API, b.Credential.Token)
	if err != nil {
		b.err = cmp.Or(b.err, fmt.Errorf("the credential for %s: %w", b.target(), err))
		return
	}
	secret := encodedSecret(kubeconfig)
	b.addSecret(linkerd.MirrorSecret(b.source(), b.target()), secret, nil, nil)
	if b.Link.Spec.UsesRemoteDiscovery() && !b.WithoutControlPlaneSecret {
		b.addSecret(linkerd.ControlPlaneSecret(b.source(), b.target()), secret,
			map[string]string{linkerd.RemoteClusterLabel: string(b.target())},
			map[string]string{
				linkerd.TrustDomain:    b.Target.Domains.Trust,
				linkerd.ClusterDomain:  b.Target.Domains.Cluster,
				linkerd.CredentialMark: linkerd.NextMark(b.CredentialMark, b.fingerprint(kubeconfig)),
			})
	}
}

// fingerprint is the keyed hash of all that Linkerd's destination controller reads of its secret.
func (b *builder) fingerprint(kubeconfig []byte) string {
	return object.NewSecret(kubeconfig).Fingerprint(b.Source.UID, b.Target.Domains.Trust, b.Target.Domains.Cluster)
}

func (b *builder) addSecret(key object.Key, content object.Encoded, labels, annotations map[string]string) {
	b.addEncoded(identity{key: key, version: "v1", phase: object.PhaseSecrets, labels: labels}, content, annotations)
}

// encodedSecret is the JSON of a Secret's apply configuration. It is made once for both Secrets, which are most of a link's bytes.
func encodedSecret(kubeconfig []byte) object.Encoded {
	const (
		head = `{"kind":"Secret","apiVersion":"v1","metadata":{},"data":{`
		tail = `},"type":"` + linkerd.KubeconfigSecretType + `"}`
	)
	m := make(object.Members, 0, len(head)+len(linkerd.KubeconfigKey)+len(`"":""`)+base64.StdEncoding.EncodedLen(len(kubeconfig))+len(tail))
	m = append(m, head...)
	m.Base64(linkerd.KubeconfigKey, kubeconfig)
	return object.Encoded(append(m, tail...))
}

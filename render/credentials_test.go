package render

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

func TestEncodedSecretAsByEncodingJSON(t *testing.T) {
	for size := range 20 {
		kubeconfig := make([]byte, size)
		for i := range kubeconfig {
			kubeconfig[i] = byte(rand.Uint32())
		}
		s := coreac.Secret("", "").WithType(corev1.SecretType(linkerd.KubeconfigSecretType)).
			WithData(map[string][]byte{linkerd.KubeconfigKey: kubeconfig})
		*s.ObjectMetaApplyConfiguration = metaac.ObjectMetaApplyConfiguration{}
		want, err := json.Marshal(s)
		if got := encodedSecret(kubeconfig); err != nil || string(got) != string(want) {
			t.Errorf("encodedSecret(%x): got %s, want %s, %v", kubeconfig, got, want, err)
		}
	}
}

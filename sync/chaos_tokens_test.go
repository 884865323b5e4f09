package sync_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
)

// signed returns a token with another time, and a signature by the cluster's own key.
func (c *chaos) signed(by, token string, later time.Duration) string {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.Cluster(by).Dir, "account.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		c.t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	claims := map[string]any{}
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	for _, at := range []string{"iat", "nbf", "exp"} {
		claims[at] = int64(claims[at].(float64)) + int64(later.Seconds()) //nolint:forcetypeassert // a number of seconds
	}
	if err == nil {
		payload, err = json.Marshal(claims)
	}
	said := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(said))
	r, s, failed := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil || failed != nil {
		c.t.Fatal(err, failed)
	}
	signature := make([]byte, 64) // ES256: both numbers in 32 bytes each (RFC 7518, section 3.4)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return said + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// rewritten has a Secret of west hold another token, just as linkwright would have written it.
func (c *chaos) rewritten(namespace, was, is string) {
	c.t.Helper()
	secrets := c.client("west").CoreV1().Secrets(namespace)
	live, err := secrets.Get(c.t.Context(), "cluster-credentials-east", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := json.Marshal(corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: live.Name, Namespace: namespace, Labels: live.Labels, Annotations: live.Annotations},
		Type:       live.Type, Data: map[string][]byte{"kubeconfig": []byte(strings.Replace(string(live.Data["kubeconfig"]), was, is, 1))},
	})
	if err == nil {
		_, err = secrets.Patch(c.t.Context(), live.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "linkwright"})
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// config returns what the control plane of west holds for east.
func (c *chaos) config() string {
	c.t.Helper()
	s, err := c.client("west").CoreV1().Secrets(testbed.ControlPlane).Get(c.t.Context(), "cluster-credentials-east", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return string(s.Data["kubeconfig"])
}

// announced returns what west's Link to east says of its credential.
func (c *chaos) announced() string {
	c.t.Helper()
	dyn, err := dynamic.NewForConfig(c.Cluster("west").Config)
	if err != nil {
		c.t.Fatal(err)
	}
	l, err := dyn.Resource(linkResource).Namespace(testbed.Multicluster).Get(c.t.Context(), "east", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	entries, _, _ := unstructured.NestedStringSlice(l.Object, "spec", "excludedAnnotations")
	i := slices.IndexFunc(entries, func(e string) bool { return strings.HasPrefix(e, "linkwright.dev/credential-") })
	if i < 0 {
		c.t.Fatalf("no credential is announced: %v", entries)
	}
	return entries[i]
}

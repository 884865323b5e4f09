package object

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// slow is what New and Seal say of themselves: encoding/json twice, without the digest and with it.
func slow(t *testing.T, config any, mark func(digest string)) (bare, body []byte) {
	t.Helper()
	encode := func() []byte {
		b, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	bare = encode()
	mark(FormatDigest(sum(bare)))
	return bare, encode()
}

func sum(b []byte) uint64 {
	h := sha256.Sum256(b)
	return binary.BigEndian.Uint64(h[:8])
}

func checkSealed(t *testing.T, what string, o Object, err error, bare, body []byte) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if string(o.Body.Bytes()) != string(body) || o.Digest != sum(bare) {
		t.Fatalf("%s: got %x of\n%s\nwant %x of\n%s", what, o.Digest, o.Body.Bytes(), sum(bare), body)
	}
}

// The bytes on the wire are a persisted format, as digests of them are: they are exactly those of encoding/json, whatever
// stands in names, labels and annotations.
func TestSealedAsByEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		name, namespace, labels, annotations := text(r), text(r), texts(r), texts(r)
		spec := Spec{Key: Key{Kind: "Secret", Namespace: namespace, Name: name}, Version: "v1", Owner: "blue<"}
		made := func() *coreac.SecretApplyConfiguration {
			c := coreac.Secret(name, namespace).WithType(corev1.SecretTypeOpaque).WithStringData(labels).
				WithLabels(labels).WithAnnotations(annotations)
			if len(labels)%2 == 0 {
				c.Namespace = nil
			}
			return c
		}
		want := made()
		want.WithLabels(map[string]string{OwnerLabel: spec.Owner, backupLabel: "true"})
		delete(want.Annotations, DigestAnnotation) // a digest is of everything else
		bare, body := slow(t, want, func(digest string) { want.WithAnnotations(map[string]string{DigestAnnotation: digest}) })
		got := made()
		spec.Meta, spec.Config = got.ObjectMetaApplyConfiguration, got
		o, err := New(spec)
		checkSealed(t, "New", o, err, bare, body)
		checkSeal(t, spec, o)
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// checkSeal seals an object's content again, which has the same members in another order, and one more.
func checkSeal(t *testing.T, spec Spec, o Object) {
	t.Helper()
	content := func() map[string]any {
		m, err := decode(o.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		m["metadata"].(map[string]any)["finalizers"] = []any{"a", json.Number("1.0"), nil, map[string]any{"metadata": map[string]any{"annotations": "<"}}}
		return m
	}
	want := content()
	meta := want["metadata"].(map[string]any)
	if annotations := meta["annotations"].(map[string]any); len(annotations) > 1 {
		delete(annotations, DigestAnnotation)
	} else {
		delete(meta, "annotations")
	}
	bare, body := slow(t, want, func(digest string) { childMap(meta, "annotations")[DigestAnnotation] = digest })
	sealed, err := Seal(spec, content())
	checkSealed(t, "Seal", sealed, err, bare, body)
}

func text(r *rand.Rand) string {
	all := []string{"a", "B", "linkwright.dev/", "zz", "-", "\"", "\\", "<", "&", ">", "\u2028", "ü", "\x00", "\x7f", "\xff", "", `"linkwright.dev/digest":"0000000000000000"`, `"metadata":{}`}
	out := ""
	for range r.IntN(4) {
		out += all[r.IntN(len(all))]
	}
	return out
}

func texts(r *rand.Rand) map[string]string {
	out := map[string]string{}
	for range r.IntN(6) {
		out["k"+text(r)] = text(r)
	}
	for _, ours := range []string{OwnerLabel, DigestAnnotation, "linkwright.dev/digess", "linkwright.dev/digesu"} {
		if r.IntN(6) == 0 {
			out[ours] = text(r)
		}
	}
	return out
}

func TestNewTakesNoOtherMetadata(t *testing.T) {
	c := coreac.ConfigMap("a", "ns").WithFinalizers("a")
	if _, err := New(Spec{Meta: c.ObjectMetaApplyConfiguration, Config: c}); err == nil {
		t.Error("an object with finalizers was sealed without them")
	}
	if _, err := New(Spec{Meta: &metaac.ObjectMetaApplyConfiguration{}, Config: coreac.Capabilities()}); err == nil {
		t.Error("an object without metadata was sealed")
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := coreac.ServiceAccount("controller-east", "linkerd-multicluster").WithLabels(map[string]string{
			"component": "controller", "linkerd.io/extension": "multicluster", "mirror.linkerd.io/cluster-name": "east",
		})
		if _, err := New(Spec{Key: Key{Kind: "ServiceAccount"}, Owner: "linkwright", Meta: c.ObjectMetaApplyConfiguration, Config: c}); err != nil {
			b.Fatal(err)
		}
	}
}

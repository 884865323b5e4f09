package linkerd

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// What is written by hand is, byte for byte, what encoding/json writes: digests are made of it.
func TestLinkAsByEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		s := LinkSpec{
			word(r), word(r), word(r), word(r), word(r), word(r), word(r), nil,
			selector(r), selector(r), selector(r), words(r), words(r),
		}
		if r.IntN(2) == 0 {
			s.ProbeSpec = &ProbeSpec{word(r), word(r), word(r)}
		}
		want, err := json.Marshal(struct {
			Kind       string   `json:"kind"`
			APIVersion string   `json:"apiVersion"`
			Metadata   struct{} `json:"metadata"`
			Spec       LinkSpec `json:"spec"`
		}{"Link", Group + "/" + LinkVersion, struct{}{}, s})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Encode(LinkVersion); err != nil || string(got) != string(want) {
			t.Fatalf("seed %d: got %s, %v\nwant %s", seed, got, err, want)
		}
	}
}

// The order of fields is held by goldens.
func TestKubeconfigAsByEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	type fields = map[string]any
	for range 2000 {
		target, account, server, ca, token := word(r), word(r), word(r), word(r), word(r)
		raw := Kubeconfig(api.ClusterName(target), account, Endpoint{server, ca}, object.NewSecret([]byte(token)))
		want, err := json.Marshal(fields{
			"apiVersion": "v1", "kind": "Config", "current-context": target,
			"clusters": []any{fields{"name": target, "cluster": fields{"server": server, "certificate-authority-data": []byte(ca)}}},
			"users":    []any{fields{"name": account, "user": fields{"token": token}}},
			"contexts": []any{fields{"name": target, "context": fields{"cluster": target, "user": account}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, want), decoded(t, raw)); diff != "" {
			t.Fatalf("seed %d: %s -want +got\n%s", seed, raw, diff)
		}
	}
}

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

func word(r *rand.Rand) string {
	return []string{"", "a", "web.example.com", `"\<>&`, "ü\u2028\x00", "\xff%s"}[r.IntN(6)]
}

func words(r *rand.Rand) (out []string) {
	for range r.IntN(3) {
		out = append(out, word(r))
	}
	return out
}

func selector(r *rand.Rand) *metav1.LabelSelector {
	if r.IntN(3) == 0 {
		return nil
	}
	var s metav1.LabelSelector
	for range r.IntN(3) {
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]string{}
		}
		s.MatchLabels[word(r)] = word(r)
	}
	if r.IntN(3) == 0 {
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: word(r), Operator: "In", Values: words(r)}}
	}
	return &s
}

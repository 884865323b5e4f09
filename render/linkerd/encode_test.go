package linkerd

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

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

// A kubeconfig holds its values as they are, and each of its constants is on its own in base64.
func TestKubeconfig(t *testing.T) {
	type fields = map[string]any
	values := []string{"", "a", "ab", "abc", `it's: "\n" #1`, "- x: |-", "<east: API server>", "eyJ.x-_.9"}
	for n := range len(values) * len(values) * len(values) {
		server, ca, token := values[n%len(values)], values[n/len(values)%len(values)], values[n/len(values)/len(values)]
		raw, err := Kubeconfig(Endpoint{server, ca + "\n"}, object.NewSecret([]byte(token)))
		if err != nil {
			t.Fatal(err)
		}
		want := fields{
			"apiVersion": "v1", "kind": "Config", "current-context": "target",
			"clusters": []any{fields{"name": "target", "cluster": fields{
				"server": server, "certificate-authority-data": base64.StdEncoding.EncodeToString([]byte(ca + "\n")),
			}}},
			"users":    []any{fields{"name": "linkwright", "user": fields{"token": token}}},
			"contexts": []any{fields{"name": "target", "context": fields{"cluster": "target", "user": "linkwright"}}},
		}
		var got fields
		if err := yaml.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: -want +got\n%s", raw, diff)
		}
		encoded := base64.StdEncoding.EncodeToString(raw)
		for _, constant := range KubeconfigConstants() {
			if !strings.Contains(encoded, base64.StdEncoding.EncodeToString([]byte(constant))) {
				t.Fatalf("%s: %q is not on its own in base64", raw, constant)
			}
		}
	}
}

// An address or a token that YAML would read on behind is no value, whoever gave it: a hostile target issues tokens.
func TestKubeconfigTakesOneLine(t *testing.T) {
	for _, bad := range []string{
		"a\n    tokenFile: /etc/hostname", "a\r    tokenFile: b", "a\u0085    tokenFile: b", "a\u2028b", "a\u2029b", "a\t", "\x00", "\x7f", "\xff", "ü",
	} {
		for _, kubeconfig := range []func() ([]byte, error){
			func() ([]byte, error) {
				return Kubeconfig(Endpoint{Server: "https://a/" + bad}, object.NewSecret([]byte("t")))
			},
			func() ([]byte, error) {
				return Kubeconfig(Endpoint{Server: "https://a"}, object.NewSecret([]byte(bad)))
			},
		} {
			if raw, err := kubeconfig(); err == nil || raw != nil || strings.Contains(err.Error(), "tokenFile") {
				t.Errorf("%q: got %q, %v", bad, raw, err)
			}
		}
	}
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

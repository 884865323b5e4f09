package confine

import (
	"encoding/base64"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// What is rendered passes, whatever the lengths of its values.
func TestKubeconfigPasses(t *testing.T) {
	pattern := regexp.MustCompile(kubeconfig())
	for n := range 50 {
		for _, text := range []string{strings.Repeat("x", n), strings.Repeat("-._/:=+~", n), strings.Repeat(`"\'#: `, n)} {
			raw := linkerd.Kubeconfig(linkerd.Endpoint{Server: "https://east.example.com:6443" + text, CA: text}, object.NewSecret([]byte(text+"9")))
			if !pattern.MatchString(base64.StdEncoding.EncodeToString(raw)) {
				t.Errorf("denied: %s", raw)
			}
		}
	}
	t.Logf("%d characters", len(kubeconfig()))
}

// Three bytes match if each is of its set, and only then.
func TestTriple(t *testing.T) {
	sets := []func(byte) bool{printable, lineBreak, func(b byte) bool { return b != '"' }, func(b byte) bool { return b%5 == 2 }, func(byte) bool { return true }}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		x, y, z := sets[r.IntN(len(sets))], sets[r.IntN(len(sets))], sets[r.IntN(len(sets))]
		pattern := regexp.MustCompile("^(" + triple(x, y, z) + ")$")
		for range 2000 {
			b := []byte{edge(r), edge(r), edge(r)}
			want := x(b[0]) && y(b[1]) && z(b[2])
			if got := pattern.MatchString(base64.StdEncoding.EncodeToString(b)); got != want {
				t.Fatalf("%q: %t, want %t: %s", b, got, want, pattern)
			}
		}
	}
}

// edge is a byte, mostly one of those at which sets begin and end.
func edge(r *rand.Rand) byte {
	const edges = "\x00\x1f !\"#[\\]~\x7f\x80\xff"
	if r.IntN(3) == 0 {
		return byte(r.Uint32())
	}
	return edges[r.IntN(len(edges))]
}

// Whatever passes is a kubeconfig that holds an address, a CA and a token, and nothing else.
func FuzzKubeconfig(f *testing.F) {
	pattern := regexp.MustCompile(kubeconfig())
	good := string(linkerd.Kubeconfig(linkerd.Endpoint{Server: "https://a", CA: "ca"}, object.NewSecret([]byte("t"))))
	f.Add(good)
	for _, extra := range []string{
		"    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token\n", "tokenFile: a\n", "\n", " ", "\t", "\r", "\u0085", "---\n", "\n---\n", "#", "|",
	} {
		for i := range good {
			f.Add(good[:i] + extra + good[i:])
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !pattern.MatchString(base64.StdEncoding.EncodeToString([]byte(raw))) {
			return
		}
		type fields = map[string]any
		var got struct {
			Clusters []struct{ Cluster struct{ Server, CA string } }
			Users    []struct{ User struct{ Token string } }
		}
		raw = strings.Replace(raw, "certificate-authority-data", "CA", 1)
		var all fields
		if yaml.Unmarshal([]byte(raw), &got) != nil || yaml.Unmarshal([]byte(raw), &all) != nil {
			return // such as DEL: no reader takes it
		}
		want := fields{
			"apiVersion": "v1", "kind": "Config", "current-context": "target",
			"contexts": []any{fields{"name": "target", "context": fields{"cluster": "target", "user": "linkwright"}}},
			"clusters": []any{fields{"name": "target", "cluster": fields{"server": got.Clusters[0].Cluster.Server, "CA": got.Clusters[0].Cluster.CA}}},
			"users":    []any{fields{"name": "linkwright", "user": fields{"token": got.Users[0].User.Token}}},
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("%s passes: -want +got\n%s", raw, diff)
		}
	})
}

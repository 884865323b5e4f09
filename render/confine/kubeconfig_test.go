package confine

import (
	"bytes"
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
		for _, text := range []string{strings.Repeat("x", n), strings.Repeat("-._/:=+~", n), strings.Repeat(`"\'#:`, n)} {
			raw, err := linkerd.Kubeconfig(linkerd.Endpoint{Server: "https://east.example.com:6443" + text, CA: text}, object.NewSecret([]byte(text+"9")))
			if err != nil {
				t.Fatal(err)
			}
			if !pattern.MatchString(base64.StdEncoding.EncodeToString(raw)) {
				t.Errorf("denied: %s", raw)
			}
		}
	}
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

// Whatever passes is a kubeconfig that holds an address, a CA and a token, and nothing else, as readers of YAML take it. Lines are three
// values of printable bytes; more is put into the kubeconfig that they make, and moves nothing behind it in base64.
func FuzzKubeconfig(f *testing.F) {
	pattern := regexp.MustCompile(kubeconfig())
	for _, line := range []string{"", " ", "   a", "#", "---", "...", "%YAML 1.2", "!!binary YQ==", "a: b", "|-", `"\x46"`, "'", "{", "&a *a", "\x7f"} {
		f.Add([]byte(line), []byte("ca"), []byte("token"), "", 0)
		f.Add([]byte("https://a"), []byte(line), []byte(line), "", 0)
	}
	for _, more := range []string{"\n    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token\n", "\n---\n", "\r  tokenFile: a\r", "\u0085   tokenFile: a\u0085", "\n", "\t", "#"} {
		for at := range 300 {
			f.Add([]byte("https://a"), []byte("ca"), []byte("token"), more, at)
		}
	}
	f.Fuzz(func(t *testing.T, server, ca, token []byte, more string, at int) {
		raw := withLines(server, ca, token)
		for len(more)%3 != 0 {
			more += " "
		}
		at = max(0, min(at, len(raw)))
		text := string(raw[:at]) + more + string(raw[at:])
		switch matches := pattern.MatchString(base64.StdEncoding.EncodeToString([]byte(text))); {
		case !matches && more == "":
			t.Fatalf("it does not pass: %q", text)
		case matches:
			holdsThree(t, text)
		}
	})
}

// withLines is a kubeconfig with such values, each byte of them made printable.
func withLines(values ...[]byte) (raw []byte) {
	for i, constant := range linkerd.KubeconfigConstants() {
		raw = append(raw, constant...)
		for _, b := range values[i] {
			raw = append(raw, ' '+b%('\x80'-' '))
		}
		raw = append(raw, "\n\n\n"[len(raw)%3:]...)
	}
	return raw
}

func holdsThree(t *testing.T, text string) {
	t.Helper()
	type fields = map[string]any
	var got struct {
		Clusters []struct{ Cluster struct{ Server, CA string } }
		Users    []struct{ User struct{ Token string } }
	}
	var all fields
	read := strings.Replace(text, "certificate-authority-data", "CA", 1)
	if err := yaml.Unmarshal([]byte(read), &all); err != nil {
		if !bytes.ContainsAny([]byte(text), "\x7f") { // which YAML does not take
			t.Errorf("%q: %v", text, err)
		}
		return
	}
	if err := yaml.Unmarshal([]byte(read), &got); err != nil || len(got.Clusters) != 1 || len(got.Users) != 1 {
		t.Fatalf("%q: %v", text, err)
	}
	want := fields{
		"apiVersion": "v1", "kind": "Config", "current-context": "target",
		"contexts": []any{fields{"name": "target", "context": fields{"cluster": "target", "user": "linkwright"}}},
		"clusters": []any{fields{"name": "target", "cluster": fields{"server": got.Clusters[0].Cluster.Server, "CA": got.Clusters[0].Cluster.CA}}},
		"users":    []any{fields{"name": "linkwright", "user": fields{"token": got.Users[0].User.Token}}},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("%q passes: -want +got\n%s", text, diff)
	}
}

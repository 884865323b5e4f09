package object

import (
	"math/rand/v2"
	"strings"
	"testing"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"
)

func TestStencilAsNew(t *testing.T) {
	made := func(word, label string) Object {
		c := coreac.ConfigMap("a-"+word, word).WithData(map[string]string{"k": word + `"` + word, "l": "1"}).
			WithLabels(map[string]string{"l": label, "m": word})
		if strings.HasSuffix(label, "annotated") {
			c.WithAnnotations(map[string]string{"a": word, "z": word})
		}
		o, err := New(Spec{Key: Key{Kind: "ConfigMap", Namespace: word, Name: "a-" + word}, Version: "v1", Owner: "blue", Meta: c.ObjectMetaApplyConfiguration, Config: c})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		word, label := text(r), text(r)+[]string{"", "annotated"}[r.IntN(2)]
		s, ok := NewStencil(made("~w~", label), "~w~")
		if !ok {
			t.Fatalf("no stencil for %q", label)
		}
		got, want := s.Fill(word), made(word, label)
		if got.Key != want.Key || got.Digest != want.Digest || string(got.Body.Bytes()) != string(want.Body.Bytes()) {
			t.Fatalf("seed %d: Fill(%q): got %s %x\n%s\nwant %s %x\n%s", seed, word, got.Key, got.Digest, got.Body.Bytes(), want.Key, want.Digest, want.Body.Bytes())
		}
	}
	for _, bad := range []string{"", `"`, "<"} {
		if _, ok := NewStencil(made("a", ""), bad); ok {
			t.Errorf("a stencil around %q", bad)
		}
	}
	if _, ok := NewStencil(Object{}, "a"); ok {
		t.Error("a stencil of nothing")
	}
}

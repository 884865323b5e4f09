package render

import (
	"math/rand/v2"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// What is filled in is, byte for byte, what is encoded, whatever is declared and in whichever order.
func TestFilledAsEncoded(t *testing.T) {
	seed := rand.Uint64()
	var group sync.WaitGroup
	remembers := New("blue")
	for n := range uint64(4) {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, n))
			var last Input
			for range 500 {
				in := anyInput(r)
				if r.IntN(2) == 0 && last.Link.Spec != nil { // the same shape, another name
					in.Link.Spec, in.Link.Source, in.Source, in.Target.Gateway = last.Link.Spec, last.Link.Source, last.Source, last.Target.Gateway
				}
				last = in
				checkFilled(t, remembers.Source(in), Renderer{Owner: "blue"}.Source(in))
			}
		})
	}
	group.Wait()
	if shapes := remembers.cache.shapes.Load(); shapes == nil || len(*shapes) != maxShapes {
		t.Errorf("kept %v", shapes)
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

func checkFilled(t *testing.T, got, want object.Desired) {
	t.Helper()
	if len(got.Objects) != len(want.Objects) || len(got.Objects) < 6 {
		t.Errorf("Source: got %d objects, want %d", len(got.Objects), len(want.Objects))
		return
	}
	for i, o := range got.Objects {
		if w := want.Objects[i]; !equal(o, w) || o.Version != w.Version || o.Phase != w.Phase {
			t.Errorf("Source: got %s %x\n%s\nwant %s %x\n%s", o.Key, o.Digest, o.Body.Bytes(), w.Key, w.Digest, w.Body.Bytes())
		}
	}
}

func anyInput(r *rand.Rand) Input {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	replicas := int32(r.IntN(3))
	spec := api.LinkSpec{
		Controller: api.Controller{
			Mode: api.ControllerMode(one(string(api.PerLink), string(api.Shared))), Replicas: &replicas, LogLevel: api.LogLevel(one("info", "debug")), Headless: r.IntN(2) == 0,
			Image: one("", "", "a/b:c", "~target~"), PodAntiAffinity: r.IntN(2) == 0,
		},
		Credentials: api.Credentials{Mode: api.LegacyToken},
	}
	if r.IntN(3) == 0 {
		spec.Credentials = api.Credentials{Mode: api.Existing, SecretRef: &api.SecretRef{Name: one("a", "cluster-credentials-b")}}
	}
	if r.IntN(2) == 0 {
		spec.Controller.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(one("1", "100m"))}
	}
	gateway := linkerd.Gateway{Disabled: r.IntN(3) == 0, Probe: linkerd.Probe{Port: one("4191", "30000", "{}")}}
	return Input{
		Link: fleet.Link{
			Source: &fleet.Cluster{Name: "west", Spec: api.Cluster{Linkerd: api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: one("links", "a")}}},
			Target: &fleet.Cluster{Name: api.ClusterName(one("a", "b", "east", "target", "controller", "linkwright", "a-name-that-is-much-longer-than-what-stands-for-it"))},
			Spec:   &spec,
		},
		Source:     &linkerd.Facts{Links: linkerd.LinkVersion, Version: one("edge-25.1.1", "edge-25.1.1", "~target~", "x~target~<\"\x00", "~tar")},
		Target:     &linkerd.Facts{Gateway: gateway, API: linkerd.Endpoint{Server: "https://a", CA: "ca"}},
		Credential: &linkerd.Credential{Token: object.NewSecret([]byte("t")), Fingerprint: "0123456789ab"},
	}
}

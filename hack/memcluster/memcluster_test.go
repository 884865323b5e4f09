package memcluster

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/cluster"
)

func withLinkerd(t *testing.T, o Options) (*Clusters, *Cluster) {
	t.Helper()
	s := New(o, "east")
	c := s.Cluster("east")
	if err := c.InstallLinkerd(testbed.Linkerd{}); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// A dressed cluster is one that Linkerd is installed in.
func TestFactsAreComplete(t *testing.T) {
	_, c := withLinkerd(t, Options{})
	spec := api.Cluster{}.WithDefaults()
	for name, read := range map[string]func() (object.Observation, error){
		"Observe": func() (object.Observation, error) { return c.Observe(t.Context(), linkerd.Watches(spec)) },
		"Live":    func() (object.Observation, error) { return c.Live(t.Context(), linkerd.Watches(spec)) },
	} {
		seen, err := read()
		if err != nil {
			t.Fatal(err)
		}
		f := linkerd.FactsOf(spec, c.Address(), seen)
		if len(f.Missing) > 0 || f.UID == "" || !slices.Equal(f.Gateway.Addresses, []string{"192.0.2.10"}) {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

// What the renderer makes of a link is covered once it is written, and no more once somebody changed it.
func TestCovered(t *testing.T) {
	_, c := withLinkerd(t, Options{})
	for _, o := range rendered(t) {
		now, err := c.Write(t.Context(), object.Change{Action: object.Create, Key: o.Key, Object: o})
		if err != nil {
			t.Fatal(err)
		}
		if !o.Covered(now) || now.Mark != object.Ours || now.Digest != o.Digest {
			t.Errorf("%s: got %+v, want ours and covered", o.Key, now)
		}
		relabel := func(content map[string]any) {
			content["metadata"].(map[string]any)["labels"].(map[string]any)[object.OwnerLabel] = "somebody"
		}
		if err := c.Edit("kubectl", o.Key, relabel); err != nil {
			t.Fatal(err)
		}
		if seen := c.record(c.objects[o.Key]); o.Covered(seen) || seen.Mark != object.Theirs || seen.ForeignManagers.Value() == "" {
			t.Errorf("%s after a foreign edit: got %+v", o.Key, seen)
		}
	}
}

func TestTokensComeLater(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute, -1} {
		synctest.Test(t, func(t *testing.T) {
			_, c := withLinkerd(t, Options{TokenAfter: after})
			time.Sleep(59 * time.Second)
			key := object.Key{Kind: "Secret", Namespace: testbed.Multicluster, Name: "linkerd-service-mirror-remote-access-default-token"}
			if got := c.Object(key)["data"] != nil; got != (after == 0) {
				t.Errorf("after %s: filled at 59 s: %v", after, got)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := c.Object(key)["data"] != nil; got != (after >= 0) {
				t.Errorf("after %s: filled at 61 s: %v", after, got)
			}
		})
	}
}

// requestLog is a cluster that is asked in both ways, and whose moves are taken.
type requestLog struct {
	*testing.T
	set *Clusters
	c   *Cluster
}

var linkerdConfig = []object.Watch{{Version: "v1", Kind: "ConfigMap", Namespace: "linkerd"}}

// expect holds what Live and Observe are told, as codes of Explain, and whether it was told that all moved.
func (a requestLog) expect(what string, live, observe reason.Code, moved bool) {
	a.Helper()
	synctest.Wait()
	told := a.set.Take()["east"].All
	_, err := a.c.Live(a.Context(), linkerdConfig)
	_, other := a.c.Observe(a.Context(), linkerdConfig)
	if got, also := cluster.Explain(err).Code, cluster.Explain(other).Code; got != live || also != observe {
		a.Errorf("%s: Live %v, Observe %v, want %q and %q", what, err, other, live, observe)
	}
	if told != moved {
		a.Errorf("%s: all moved: %v", what, told)
	}
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := withLinkerd(t, Options{})
		a := requestLog{t, s, c}
		a.expect("up", "", "", false)
		c.Fault(func(f *Faults) { f.Down = true })
		a.expect("down", reason.Unreachable, reason.Unreachable, true)
		c.Fault(func(f *Faults) { *f = Faults{Hanging: true} })
		a.expect("hanging after down", reason.Unreachable, reason.Timeout, false)
		c.Fault(func(f *Faults) { *f = Faults{} })
		a.expect("over", "", "", true)
		start := time.Now()
		c.Fault(func(f *Faults) { f.Hanging = true })
		a.expect("hanging, and nobody knows", "", reason.Timeout, false)
		if took := time.Since(start); took != defaultTimeout {
			t.Errorf("it was noticed after %s", took)
		}
		a.expect("hanging", reason.Timeout, reason.Timeout, true)
		c.Fault(func(f *Faults) { *f = Faults{Forbidden: []schema.GroupKind{{Kind: "ConfigMap"}}} })
		a.expect("forbidden", reason.Forbidden, reason.Forbidden, true)
	})
}

func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, want := range map[int]reason.Code{0: "", 3: "", 11: reason.Throttled} {
			_, c := withLinkerd(t, Options{})
			c.Fault(func(f *Faults) { f.Throttled = n })
			o := rendered(t)[0]
			start := time.Now()
			_, err := c.Write(t.Context(), object.Change{Action: object.Create, Key: o.Key, Object: o})
			if got := cluster.Explain(err).Code; got != want || time.Since(start) != time.Duration(min(n, maxAttempts))*time.Second {
				t.Errorf("%d times: got %v after %s, want %q", n, err, time.Since(start), want)
			}
		}
	})
}

func TestRequests(t *testing.T) {
	_, c := withLinkerd(t, Options{})
	c.Requests()
	o := rendered(t)[0]
	if _, err := c.Write(t.Context(), object.Change{Action: object.Create, Key: o.Key, Object: o}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Observe(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got := c.Requests()
	if !slices.Equal(got, []string{"create " + o.Key.String(), "observe"}) || len(Written(got)) != 1 || !strings.HasPrefix(Written(got)[0], "create") {
		t.Errorf("got %q", got)
	}
}

// rendered is all that a link's source holds, of whatever kind.
func rendered(t *testing.T) []object.Object {
	t.Helper()
	const text = `apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {access: {kubeconfigSecret: {name: east}}}
---
apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: west}
spec: {access: {kubeconfigSecret: {name: west}}}
---
apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: west-east}
spec: {source: west, target: east}
`
	f, problems := fleet.Load("", fstest.MapFS{"f.yaml": {Data: []byte(text)}})
	if f == nil {
		t.Fatal(problems)
	}
	_, c := withLinkerd(t, Options{})
	link, _ := f.Link(api.Pair{Source: "west", Target: "east"})
	seen, err := c.Observe(t.Context(), linkerd.Watches(link.Source.Spec))
	if err != nil {
		t.Fatal(err)
	}
	facts := linkerd.FactsOf(link.Source.Spec, c.Address(), seen)
	want := render.Renderer{Owner: object.DefaultOwner}.Source(render.Input{
		Link: link, Source: &facts, Target: &facts, Credential: &linkerd.Credential{Token: object.NewSecret([]byte("a"))},
	})
	if want.Blocked != nil || len(want.Objects) < 6 {
		t.Fatalf("got %d objects, held %v", len(want.Objects), want.Blocked)
	}
	return want.Objects
}

// What may be hidden is, by kind, namespace or name, as by a Client.
func TestHidden(t *testing.T) {
	_, c := withLinkerd(t, Options{})
	config := object.Key{Kind: "ConfigMap", Namespace: "linkerd", Name: "linkerd-config"}
	services := object.Key{Kind: "Service", Namespace: "linkerd-multicluster"}
	c.Fault(func(f *Faults) { f.Closed = []object.Key{config, services} })
	watches := []object.Watch{
		{Version: "v1", Kind: "ConfigMap", Namespace: "linkerd", Names: []string{"linkerd-config", "linkerd-identity-trust-roots"}, MayBeForbidden: true},
		{Version: "v1", Kind: "Service", Namespace: "linkerd-multicluster", Selector: "a", MayBeForbidden: true},
	}
	for what, look := range map[string]func(context.Context, []object.Watch) (object.Observation, error){"Observe": c.Observe, "Live": c.Live} {
		seen, err := look(t.Context(), watches)
		want := []object.Hidden{{Key: config}, {Key: services, Selector: "a"}}
		if err != nil || !slices.Equal(seen.Hidden, want) || !seen.Record(config).IsZero() {
			t.Errorf("%s: %v, hidden %v", what, err, seen.Hidden)
		}
		if _, err := look(t.Context(), append(slices.Clone(watches), object.Watch{Version: "v1", Kind: "Service", Namespace: "linkerd-multicluster"})); cluster.Explain(err).Code != reason.Forbidden {
			t.Errorf("%s of what may not be hidden: %v", what, err)
		}
	}
}

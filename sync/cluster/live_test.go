package cluster

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// scene is a registry with one cluster, as we see it, and somebody else there.
type scene struct {
	*testing.T
	registry *Registry
	client   *Client
	count    *counter
	foreign  *kubernetes.Clientset
	ns       string
	all      bool
	keys     map[object.Key]bool
}

// config returns that of the live cluster.
func config(t *testing.T) *rest.Config {
	t.Helper()
	needAPIServer(t)
	return live.Config
}

// watched opens the live cluster by a configuration of it.
func watched(t *testing.T, cfg *rest.Config, o Options) *scene {
	t.Helper()
	s := watchedOf(t, live, cfg, o)
	s.rooted()
	return s
}

func watchedOf(t *testing.T, of *testbed.Cluster, cfg *rest.Config, o Options) *scene {
	t.Helper()
	s := &scene{T: t, foreign: kubernetes.NewForConfigOrDie(of.As("foreign")), keys: map[object.Key]bool{}}
	s.ns = namespace(t, s.foreign)
	o.Wrap = func(_ api.ClusterName, next http.RoundTripper) http.RoundTripper {
		s.count = &counter{next: next}
		return s.count
	}
	s.registry = New(o)
	if err := s.registry.Spawn(t.Context(), "east", cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.registry.Stop(context.WithoutCancel(t.Context()), "east"); err != nil {
			t.Error(err)
		}
	})
	s.client = client(t, s.registry, "east")
	return s
}

// rooted waits for the root CA that Kubernetes puts into every namespace, so that it does not move later.
func (s *scene) rooted() {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		_, err := s.foreign.CoreV1().ConfigMaps(s.ns).Get(s.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) {
			s.Fatal(err)
		}
	}
}

func (s *scene) configMaps(depth object.Depth) object.Watch {
	return object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: s.ns, Depth: depth}
}

func (s *scene) key(name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: s.ns, Name: name}
}

// look returns a Live that must succeed.
func (s *scene) look(watches ...object.Watch) object.Observation {
	s.Helper()
	observed, err := s.client.Live(s.Context(), watches)
	if err != nil {
		s.Fatal(err)
	}
	return observed
}

// take gathers what moved so far.
func (s *scene) take() {
	for _, m := range s.registry.Take() {
		s.all = s.all || m.All
		for _, k := range m.Keys {
			s.keys[k] = true
		}
	}
}

// until waits for moves until they are enough.
func (s *scene) until(what string, enough func() bool) {
	s.Helper()
	late := time.After(2 * time.Minute)
	for !enough() {
		select {
		case <-s.registry.Moved():
			s.take()
		case <-late:
			s.Fatalf("%s: not told; all: %v, keys: %v", what, s.all, s.keys)
		}
	}
	s.take()
}

// moved waits until one object is told to have moved.
func (s *scene) moved(name string) {
	s.Helper()
	s.until(name, func() bool { return s.keys[s.key(name)] })
	s.keys = map[object.Key]bool{}
}

// still fails where anything was told. What was written by others before sees to it that the feeds are past it.
func (s *scene) still(what string) {
	s.Helper()
	if s.take(); s.all || len(s.keys) > 0 {
		s.Errorf("%s: told all: %v, keys: %v; want nothing", what, s.all, s.keys)
	}
}

func (s *scene) put(name, value string) *corev1.ConfigMap {
	s.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": value}}
	made, err := s.foreign.CoreV1().ConfigMaps(s.ns).Create(s.Context(), m, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made
}

func (s *scene) patch(name, body string) {
	s.Helper()
	if _, err := s.foreign.CoreV1().ConfigMaps(s.ns).Patch(s.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) remove(name string) {
	s.Helper()
	if err := s.foreign.CoreV1().ConfigMaps(s.ns).Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

func TestLiveShowsWhatOthersDo(t *testing.T) {
	for _, depth := range []object.Depth{object.Reduced, object.Metadata, object.Whole} {
		t.Run(string('0'+rune(depth)), func(t *testing.T) {
			s := watched(t, config(t), Options{})
			mine := configMap(t, s.ns, "mine", map[string]string{"k": "v"})
			write(t, s.client, create(mine))
			same := func(when string) {
				t.Helper()
				got, want := s.look(s.configMaps(depth)), observe(t, s.client, s.configMaps(depth))
				if diff := cmp.Diff(shown(want), shown(got)); diff != "" || got.Server != live.Config.Host {
					t.Fatalf("%s: Live of %s: -observed +live\n%s", when, got.Server, diff)
				}
			}
			same("first")
			s.still("the first look")
			s.patch("mine", `{"data":{"k":"theirs"}}`)
			s.moved("mine")
			same("edited")
			if s.look(s.configMaps(depth)).Record(mine.Key).ForeignManagers.Value() == "" {
				t.Error("the foreign manager is not seen")
			}
			s.put("theirs", "v")
			s.moved("theirs")
			same("created")
			s.remove("mine")
			s.moved("mine")
			same("deleted")
			s.put("mine", "v")
			s.moved("mine")
			same("created anew")
		})
	}
}

// shown returns all of an observation as text, but what lies below the root CA, which Kubernetes puts there when it likes.
func shown(observed object.Observation) []string {
	out := slices.Clone(observed.Unserved)
	for k, r := range observed.Records() {
		body, _ := observed.Body(k)
		if k.Name != "kube-root-ca.crt" {
			out = append(out, strings.Join([]string{
				k.String(), r.UID, r.ResourceVersion, object.FormatDigest(r.Digest), r.Fields.Value(), r.Mark.String(), r.ForeignManagers.Value(), string(body.Bytes()),
			}, " "))
		}
	}
	return out
}

func TestLiveDoesNotTellOwnWrites(t *testing.T) {
	s := watched(t, config(t), Options{})
	w := s.configMaps(object.Whole)
	s.look(w)
	mine := configMap(t, s.ns, "mine", map[string]string{"k": "v"})
	rec := write(t, s.client, create(mine))
	if got := s.look(w).Record(mine.Key); got != rec {
		t.Errorf("Live after a create: got %+v, want %+v", got, rec)
	}
	next := configMap(t, s.ns, "mine", map[string]string{"k": "w"})
	rec = write(t, s.client, update(next, rec))
	if got := s.look(w).Record(mine.Key); got != rec {
		t.Errorf("Live after an update: got %+v, want %+v", got, rec)
	}
	if same := write(t, s.client, update(next, rec)); same != rec {
		t.Errorf("an update that changes nothing: got %+v, want %+v", same, rec)
	}
	s.look(w)
	write(t, s.client, object.Change{Action: object.Delete, Key: mine.Key, Was: rec})
	if got := s.look(w).Record(mine.Key); !got.IsZero() {
		t.Errorf("Live after a delete: got %+v", got)
	}
	s.still("own writes")
	s.put("theirs", "v") // whatever was to be reported about ours is told before this
	s.until("theirs", func() bool { return s.keys[s.key("theirs")] })
	delete(s.keys, s.key("theirs"))
	s.still("own writes, later")
	// Versions alone are no news: a write by others that only changes what nothing depends on.
	s.look(s.configMaps(object.Reduced))
	s.patch("theirs", `{"data":{"k":"x"}}`)
	s.put("last", "v")
	s.until("last", func() bool { return s.keys[s.key("last")] })
	if s.keys[s.key("theirs")] {
		t.Error("a change of resourceVersion alone is told")
	}
}

// A sync over a cluster that did not change asks nothing and gives the very same layers.
func TestLiveCostsNothingWhileNothingChanges(t *testing.T) {
	s := watched(t, config(t), Options{})
	watches := []object.Watch{
		s.configMaps(object.Whole),
		{Version: "v1", Kind: "Namespace", Names: []string{s.ns, "kube-system"}},
		{Version: "v1", Kind: "Secret", Namespace: s.ns, Names: []string{"a", "b"}},
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: s.ns},
		{Group: "example.com", Version: "v1", Kind: "Widget"},
	}
	s.look(watches...)
	first := s.client.feeds.seen
	s.count.taken()
	for range 50 {
		if s.look(watches...); s.client.feeds.seen != first {
			t.Fatal("an unchanged cluster gives other layers")
		}
		time.Sleep(100 * time.Millisecond) // five seconds of looks
	}
	if got := s.count.taken(); len(got) > 0 {
		t.Errorf("50 looks at an unchanged cluster asked %v", got)
	}
	s.still("nothing")
}

func TestLiveFeedsAreWhatIsAsked(t *testing.T) {
	s := watched(t, config(t), Options{})
	s.look(s.configMaps(object.Reduced), object.Watch{Version: "v1", Kind: "Secret", Namespace: s.ns})
	lists := s.count.taken()
	want := []string{
		"GET /api/v1", "GET /api/v1/namespaces/" + s.ns + "/configmaps", "GET /api/v1/namespaces/" + s.ns + "/configmaps",
		"GET /api/v1/namespaces/" + s.ns + "/secrets", "GET /api/v1/namespaces/" + s.ns + "/secrets",
	}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("a list and a watch each: -want +got\n%s", diff)
	}
	s.look(s.configMaps(object.Reduced))
	if got := s.count.taken(); len(got) != 0 {
		t.Errorf("fewer feeds: asked %v", got)
	}
	if n := len(s.client.feeds.open); n != 1 {
		t.Errorf("fewer feeds: %d are open, want 1", n)
	}
	s.look(s.configMaps(object.Whole))
	if got := s.count.taken(); len(got) != 2 {
		t.Errorf("a deeper feed: asked %v, want a list and a watch", got)
	}
	s.still("other feeds")
}

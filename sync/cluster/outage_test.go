package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// light starts a cluster of the test's own, which may be paused and stopped.
func light(t *testing.T) *testbed.Cluster {
	t.Helper()
	needAPIServer(t)
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"west"}, Light: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed.Clusters[0]
}

// slow is the timeout of clients in these tests: what is answered within half of it was not waited for.
const slow = 6 * time.Second

// broke waits until a cluster is told to be broken, and gives what Live says of it, which it must say at once.
func (s *scene) broke(within time.Duration, watches ...object.Watch) object.Reason {
	s.Helper()
	begun := time.Now()
	s.until("broken", func() bool { return s.all })
	if took := time.Since(begun); took > within {
		s.Errorf("it took %s to tell that the cluster is broken, want at most %s", took, within)
	}
	s.all = false
	s.count.taken()
	begun = time.Now()
	_, err := s.client.Live(s.Context(), watches)
	if took := time.Since(begun); err == nil || took > slow/2 {
		s.Errorf("Live of a broken cluster: got %v after %s, want an error at once", err, took)
	}
	return Explain(err)
}

// healed waits until Live succeeds again, woken by nothing but what is reported.
func (s *scene) healed(watches ...object.Watch) object.Observation {
	s.Helper()
	for {
		s.until("healed", func() bool { return s.all })
		s.all = false
		if observed, err := s.client.Live(s.Context(), watches); err == nil {
			return observed
		}
	}
}

// An API server that accepts connections and answers nothing is noticed without any request of linkwright, and stops nobody else; what happened
// meanwhile is seen once it answers again.
func TestLiveOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	west := light(t)
	s, other := watchedOf(t, west, west.Config, Options{Timeout: slow}), watched(t, config(t), Options{})
	w := s.configMaps(object.Reduced)
	s.look(w)
	other.look(other.configMaps(object.Reduced))
	if err := west.Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = west.Resume() }) // a second time changes nothing
	why := s.broke(5*slow, w)
	if why.Code != reason.Timeout {
		t.Errorf("Live of a hanging server: got %+v", why)
	}
	begun := time.Now()
	_, err := s.client.Write(t.Context(), create(configMap(t, s.ns, "mine", nil)))
	if took := time.Since(begun); err == nil || took > slow/2 {
		t.Errorf("Write to a hanging server: got %v after %s, want an error at once", err, took)
	}
	other.put("a", "v")
	other.moved("a")
	other.look(other.configMaps(object.Reduced))
	if err := west.Resume(); err != nil {
		t.Fatal(err)
	}
	s.put("meanwhile", "v")
	observed := s.healed(w)
	if observed.Record(s.key("meanwhile")).IsZero() {
		s.moved("meanwhile")
	}
	rec := write(t, s.client, create(configMap(t, s.ns, "mine", nil)))
	if got := s.look(w).Record(s.key("mine")); got != rec {
		t.Errorf("after the pause: got %+v, want %+v", got, rec)
	}
}

// A write that gets no answer is the first to know.
func TestWriteThatGetsNoAnswerOpensTheBreaker(t *testing.T) {
	t.Parallel()
	west := light(t)
	s := watchedOf(t, west, west.Config, Options{Timeout: slow})
	w := s.configMaps(object.Reduced)
	s.look(w)
	if err := west.Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = west.Resume() }) // a second time changes nothing
	var err error
	for i := 0; err == nil; i++ { // a signal is obeyed a moment later
		_, err = s.client.Write(t.Context(), create(configMap(t, s.ns, fmt.Sprintf("m%d", i), nil)))
	}
	if Explain(err).Code != reason.Timeout {
		t.Errorf("Write to a hanging server: got %v", err)
	}
	if why := s.broke(slow/2, w); why.Code != reason.Timeout || !strings.Contains(why.Message, "tries again in") {
		t.Errorf("Live after a write without answer: got %+v", why)
	}
	if err := west.Resume(); err != nil {
		t.Fatal(err)
	}
	s.healed(w)
}

func TestLiveOfAServerThatStopped(t *testing.T) {
	t.Parallel()
	west := light(t)
	s := watchedOf(t, west, west.Config, Options{Timeout: slow})
	w := s.configMaps(object.Reduced)
	s.look(w)
	if err := west.Stop(); err != nil {
		t.Fatal(err)
	}
	if why := s.broke(slow, w); why.Code != reason.Unreachable {
		t.Errorf("Live of a server that is gone: got %+v, want %s", why, reason.Unreachable)
	}
	time.Sleep(3 * time.Second) // what is asked meanwhile is one question at a time, ever more rarely
	if asked := s.count.taken(); len(asked) > 6 || slices.ContainsFunc(asked, func(r string) bool { return r != "GET /version" }) {
		t.Errorf("a server that is gone was asked %v", asked)
	}
}

func TestLiveTellsWhatIsForbidden(t *testing.T) {
	cfg := rest.CopyConfig(config(t))
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "reader-" + strings.ToLower(t.Name()), Groups: []string{"system:authenticated"}}
	s := watched(t, cfg, Options{})
	allow := func(resources, verbs []string) {
		t.Helper()
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: verbs}}}
		err := s.foreign.RbacV1().Roles(s.ns).Delete(t.Context(), "reader", metav1.DeleteOptions{})
		_ = err // the first time there is none
		if _, err := s.foreign.RbacV1().Roles(s.ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	allow([]string{"configmaps"}, []string{"list"})
	bound := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: cfg.Impersonate.UserName}},
	}
	if _, err := s.foreign.RbacV1().RoleBindings(s.ns).Create(t.Context(), bound, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, secrets := s.configMaps(object.Reduced), object.Watch{Version: "v1", Kind: "Secret", Namespace: s.ns}
	_, err := s.client.Live(t.Context(), []object.Watch{w, secrets})
	why := Explain(err)
	for _, part := range []string{"list Secret in namespace " + s.ns, `cannot list resource "secrets"`} {
		if why.Code != reason.Forbidden || !strings.Contains(why.Message, part) {
			t.Errorf("Live: got %+v, want %s that says %q", why, reason.Forbidden, part)
		}
	}
	w.MayBeForbidden, secrets.MayBeForbidden = true, true // what is listed and not watched is seen, and not hidden
	want := []object.Hidden{{Key: object.Key{Kind: "Secret", Namespace: s.ns}, By: object.Installation{Owner: object.DefaultOwner}}}
	for what, look := range map[string]func(context.Context, []object.Watch) (object.Observation, error){"Live": s.client.Live, "Observe": s.client.Observe} {
		if observed, err := look(t.Context(), []object.Watch{w, secrets}); err != nil || !slices.Equal(observed.Hidden, want) || observed.Len() == 0 {
			t.Errorf("%s of what may be hidden: %v, hidden %v, %d seen", what, err, observed.Hidden, observed.Len())
		}
	}
	secrets.MayBeForbidden = false
	if _, err = s.client.Live(t.Context(), []object.Watch{secrets}); Explain(err).Code != reason.Forbidden {
		t.Errorf("Live of what may not be hidden: %v", err)
	}
	allow([]string{"secrets"}, []string{"list", "watch"})
	for _, err = s.client.Live(t.Context(), []object.Watch{secrets}); err != nil; _, err = s.client.Live(t.Context(), []object.Watch{secrets}) {
		s.until("granted", func() bool { return s.all })
		s.all = false
	}
}

func TestLiveFollowsKindsThatComeAndGo(t *testing.T) {
	s := watched(t, config(t), Options{})
	group := s.ns + ".example.com"
	serve, drop := crd(t, group)
	w := object.Watch{Group: group, Version: "v1", Kind: "Widget", Namespace: s.ns, Depth: object.Whole}
	if observed := s.look(w); !slices.Equal(observed.Unserved, []string{w.KindName()}) {
		t.Fatalf("before: unserved %v", observed.Unserved)
	}
	serve()
	if observed := s.look(w); len(observed.Unserved) != 1 {
		t.Fatalf("an answer that is young: unserved %v", observed.Unserved)
	}
	s.age()
	if observed := s.look(w); len(observed.Unserved) != 0 {
		t.Fatalf("while served: unserved %v", observed.Unserved)
	}
	s.all = false
	widgets := dynamic.NewForConfigOrDie(live.As("foreign")).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"})
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}}}
	if _, err := widgets.Namespace(s.ns).Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	key := object.Key{Group: group, Kind: "Widget", Namespace: s.ns, Name: "a"}
	s.until("a widget", func() bool { return s.keys[key] })
	drop()
	for {
		observed, err := s.client.Live(t.Context(), []object.Watch{w})
		if err == nil && len(observed.Unserved) == 1 && observed.Len() == 0 {
			return
		}
		s.until("the kind is gone", func() bool { return s.all || len(s.keys) > 0 })
		s.all, s.keys = false, map[object.Key]bool{}
	}
}

// age makes answers that a kind is not served old.
func (s *scene) age() {
	s.client.feeds.mu.Lock()
	defer s.client.feeds.mu.Unlock()
	for _, f := range s.client.feeds.open {
		f.since = f.since.Add(-askAgain)
	}
}

func TestLivePages(t *testing.T) {
	s := watched(t, config(t), Options{})
	err := each(t.Context(), pageSize+1, func(ctx context.Context, i int) error {
		m := configMap(t, s.ns, "m"+string(rune('a'+i%26))+string(rune('a'+i/26)), nil)
		_, err := s.client.Write(ctx, create(m))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.count.taken()
	if got := s.look(s.configMaps(object.Reduced)).Len(); got != pageSize+2 { // and the root CA
		t.Errorf("got %d objects, want %d", got, pageSize+2)
	}
	if asked := s.count.taken(); len(asked) != 3 {
		t.Errorf("two pages and a watch: asked %v", asked)
	}
}

func TestLiveGivesUpWithItsContext(t *testing.T) {
	s := watched(t, config(t), Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.client.Live(ended, []object.Watch{s.configMaps(object.Reduced)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Live with an ended context: got %v", err)
	}
	s.look(s.configMaps(object.Reduced))
}

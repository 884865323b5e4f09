package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// named serves Secrets that may be read by name, and neither listed nor watched, without any network.
type named struct {
	t    *testing.T
	mu   sync.Mutex
	at   int              // the resourceVersion of all
	asks map[string][]int // seconds since begun, by name
	of   time.Time
}

func (n *named) RoundTrip(q *http.Request) (*http.Response, error) {
	to := httptest.NewRecorder()
	name := q.URL.Path[strings.LastIndex(q.URL.Path, "/")+1:]
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case q.URL.Path == "/api/v1":
		say(http.StatusOK, coreKinds)(to, q)
		return to.Result(), nil
	case name == "secrets":
		if q.URL.Query().Get("fieldSelector") == "" {
			n.t.Errorf("asked %s %s, which takes rights on all Secrets", q.Method, q.URL)
		}
		say(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"secrets is forbidden: User cannot list","reason":"Forbidden","code":403}`)(to, q)
		return to.Result(), nil
	case q.Method == http.MethodPatch:
		n.at++
	case !strings.Contains(q.Header.Get("Accept"), "as=PartialObjectMetadata;"):
		n.t.Errorf("asked for %s as %q: more than its metadata", name, q.Header.Get("Accept"))
	default:
		n.asks[name] = append(n.asks[name], int(time.Since(n.of).Seconds()))
	}
	say(http.StatusOK, fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+
		`"metadata":{"name":%q,"namespace":"linkerd","uid":"u","resourceVersion":"%d"}}`, name, n.at))(to, q)
	return to.Result(), nil
}

// taken returns when each name was asked for, since the last time.
func (n *named) taken() map[string][]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.asks
	n.asks = map[string][]int{}
	return out
}

// A single object that may be read and not watched is read when a daemon begins, after writes of its own, and every 30 s; however
// often anybody looks meanwhile. Of its metadata alone. The observation names it.
func TestUnwatchedIsReadEveryThirtySecondsAndAfterOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &named{t: t, at: 5, asks: map[string][]int{}, of: time.Now()}
		c, err := connect(&rest.Config{Host: "http://east.invalid"}, Options{
			Wrap: func(api.ClusterName, http.RoundTripper) http.RoundTripper { return server },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		secrets := []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "linkerd", Names: []string{"b", "a"}, Depth: object.Metadata}}
		unwatched := []object.Key{{Kind: "Secret", Namespace: "linkerd", Name: "a"}, {Kind: "Secret", Namespace: "linkerd", Name: "b"}}
		look := func() object.Observation {
			observed, err := c.Live(t.Context(), secrets)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(unwatched, observed.Unwatched); diff != "" {
				t.Fatalf("WatchForbidden: -want +got\n%s", diff)
			}
			return observed
		}
		until := func(seconds int, want map[string][]int) {
			t.Helper()
			for end := server.of.Add(time.Duration(seconds) * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
				look()
			}
			if diff := cmp.Diff(want, server.taken()); diff != "" {
				t.Errorf("asked, by name, at seconds, until %d: -want +got\n%s", seconds, diff)
			}
		}
		look()
		until(29, map[string][]int{"a": {0}, "b": {0}})
		until(88, map[string][]int{"a": {30, 60}, "b": {30, 60}})
		o := secret(t, "linkerd", "a", corev1.SecretTypeOpaque)
		for range 2 * maxShortWatches { // however many, they are no fault
			writeShown(t, c, o, look)
		}
		until(89, map[string][]int{"a": slices.Repeat([]int{88}, 2*maxShortWatches)})
		until(148, map[string][]int{"a": {90, 120}, "b": {90, 120}})
	})
}

// writeShown writes an object, and sees that the next look shows it so.
func writeShown(t *testing.T, c *Client, o object.Object, look func() object.Observation) {
	t.Helper()
	now, err := c.Write(t.Context(), object.Change{Action: object.Update, Key: o.Key, Object: o})
	if err != nil {
		t.Fatal(err)
	}
	if got := look().Record(o.Key); got != now {
		t.Errorf("after our write it is shown as %+v, want %+v", got, now)
	}
}

// A single Secret is watched by rights on its name alone: what others do to it shows at once, and of other Secrets nothing does.
func TestLiveWatchesSingleSecretsByRightsOnTheirNames(t *testing.T) {
	cfg := rest.CopyConfig(config(t))
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "single-" + strings.ToLower(t.Name()), Groups: []string{"system:authenticated"}}
	s := watched(t, cfg, Options{})
	s.grant(cfg.Impersonate.UserName,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"watched"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"read"}, Verbs: []string{"get"}},
	)
	secrets := s.foreign.CoreV1().Secrets(s.ns)
	for _, name := range []string{"watched", "read", "other"} {
		if _, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string) object.Key { return object.Key{Kind: "Secret", Namespace: s.ns, Name: name} }
	w := object.Watch{Version: "v1", Kind: "Secret", Namespace: s.ns, Names: []string{"watched", "read"}, Depth: object.Metadata}
	observed := s.look(w)
	if observed.Len() != 2 || !slices.Equal(observed.Unwatched, []object.Key{of("read")}) {
		t.Fatalf("%d are shown, unwatched are %v", observed.Len(), observed.Unwatched)
	}
	for _, do := range []func() error{
		func() error {
			_, err := secrets.Patch(t.Context(), "watched", types.MergePatchType, []byte(`{"metadata":{"labels":{"linkwright.dev/owner":"theirs"}}}`), metav1.PatchOptions{})
			return err
		},
		func() error { return secrets.Delete(t.Context(), "watched", metav1.DeleteOptions{}) },
	} {
		begun := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		s.until("a foreign write", func() bool { return s.keys[of("watched")] })
		delete(s.keys, of("watched"))
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("a foreign write was told after %s", took)
		}
	}
	if observed = s.look(w); observed.Len() != 1 {
		t.Errorf("deleted: %d are shown", observed.Len())
	}
}

// An account that may not bind a Role, but holds its rights, can bind it only once it exists: the API server reads the Role to check for escalation.
// Its answer names the binding. So object.PhaseBindings comes after object.PhaseRights.
func TestBindingNeedsItsRole(t *testing.T) {
	cfg := rest.CopyConfig(config(t))
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "binds-" + strings.ToLower(t.Name()), Groups: []string{"system:authenticated"}}
	s := watched(t, cfg, Options{})
	s.grant(cfg.Impersonate.UserName,
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"create", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update", "patch"}},
	)
	bound := create(binding(t, s.ns, "a", "a"))
	if _, err := s.client.Write(s.Context(), bound); Explain(err).Code != reason.NotFound {
		t.Errorf("before its Role: %v", err)
	}
	write(t, s.client, create(role(t, s.ns, "a")))
	write(t, s.client, bound)
}

// grant gives a user rights in the scene's namespace, and waits until the API server knows the last of them.
func (s *scene) grant(user string, rules ...rbacv1.PolicyRule) {
	s.Helper()
	rbac := s.foreign.RbacV1()
	if _, err := rbac.Roles(s.ns).Create(s.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "granted"}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	bound := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "granted"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "granted"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := rbac.RoleBindings(s.ns).Create(s.Context(), bound, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	last := rules[len(rules)-1]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: last.Verbs[0], Group: last.APIGroups[0], Resource: last.Resources[0], Namespace: s.ns, Name: append(last.ResourceNames, "")[0],
	}}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		got, err := s.foreign.AuthorizationV1().SubjectAccessReviews().Create(s.Context(), review, metav1.CreateOptions{})
		if err != nil {
			s.Fatal(err)
		}
		if got.Status.Allowed {
			return
		}
	}
}

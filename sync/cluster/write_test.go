package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// annotate is a foreign change that touches nothing of linkwright.
func annotate(t *testing.T, as *kubernetes.Clientset, o object.Object) {
	t.Helper()
	patch := []byte(`{"metadata":{"annotations":{"example.com/seen":"yes"}}}`)
	_, err := as.CoreV1().ConfigMaps(o.Key.Namespace).Patch(t.Context(), o.Key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "foreign"})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCreateIsAnApplyThatTakesNothingOver(t *testing.T) {
	c, foreign, ns := east(t)
	for _, o := range []object.Object{
		configMap(t, ns, "a", map[string]string{"k": "v"}), secret(t, ns, "a", corev1.SecretTypeOpaque), account(t, ns, "a"),
		service(t, ns, "a"), role(t, ns, "a"), binding(t, ns, "a", "a"), clusterBinding(t, ns, ns), budget(t, ns, "a"), deployment(t, ns, "a"),
	} {
		now := write(t, c, create(o))
		if now.Mark != object.Ours || now.Digest != o.Digest || !o.Covered(now) {
			t.Errorf("create %s: got %+v, want ours, digest %x, covered", o.Key, now, o.Digest)
		}
		if _, err := c.Write(t.Context(), create(o)); !errors.Is(err, ErrExists) {
			t.Errorf("create %s twice: got %v, want ErrOccupied", o.Key, err)
		}
	}
	theirs := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	before, err := foreign.CoreV1().ServiceAccounts(ns).Create(t.Context(), theirs, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := account(t, ns, "theirs")
	if _, err := c.Write(t.Context(), create(o)); Explain(err).Code != reason.ObjectExists {
		t.Errorf("create over a foreign object: got %v, want code %s", err, reason.ObjectExists)
	}
	if after := observed(t, c, o); after.ResourceVersion != before.ResourceVersion || after.Mark != object.Unmarked {
		t.Errorf("the foreign object was touched: %+v", after)
	}
}

func TestUpdateOfTheSameWritesNothing(t *testing.T) {
	c, _, ns := east(t)
	o := deployment(t, ns, "a")
	write(t, c, create(o))
	was := observed(t, c, o)
	now := write(t, c, update(o, was))
	if again := write(t, c, update(o, now)); again.Fields != now.Fields || again.Digest != now.Digest {
		t.Errorf("update with the same: got %+v, want %+v", again, now)
	}
	// The controllers' writes move the version of a Deployment; that of a ConfigMap is linkwright's alone.
	m := configMap(t, ns, "a", map[string]string{"k": "v"})
	first := write(t, c, create(m))
	if again := write(t, c, update(m, first)); again.ResourceVersion != first.ResourceVersion {
		t.Errorf("update with the same: resourceVersion moved from %s to %s", first.ResourceVersion, again.ResourceVersion)
	}
	next := configMap(t, ns, "a", map[string]string{"other": "v"})
	if now := write(t, c, update(next, first)); now.Digest != next.Digest || !next.Covered(now) || m.Covered(now) {
		t.Errorf("update: got %+v, want it to hold the new fields and not the old", now)
	}
}

// What took the name since it was read may be somebody else's, for all that the body would say.
func TestUpdateHappensOnlyToTheObjectThatWasRead(t *testing.T) {
	c, _, ns := east(t)
	for _, o := range []object.Object{
		configMap(t, ns, "a", map[string]string{"k": "v"}), secret(t, ns, "a", corev1.SecretTypeOpaque), service(t, ns, "a"),
		clusterBinding(t, ns, ns), deployment(t, ns, "a"),
	} {
		was := write(t, c, create(o))
		drain := update(o, was)
		drain.Action = object.Drain
		write(t, c, drain)
		discard(t, at(t, c, o), o)
		conflicts(t, c, "that is gone", update(o, was), drain)
		if now := observed(t, c, o); !now.IsZero() {
			t.Errorf("%s: a refused write left %+v", o.Key, now)
		}
		another := theirs(t, at(t, c, o), o)
		conflicts(t, c, "that is another now", update(o, was), drain)
		if now := observed(t, c, o); now.UID != another || now.Mark == object.Ours {
			t.Errorf("%s: somebody else's was written to: %+v", o.Key, now)
		}
		discard(t, at(t, c, o), o)
		if now := write(t, c, update(o, object.Record{})); now.IsZero() || now.UID == was.UID {
			t.Errorf("update of what was never seen: got %+v, want a new object", now)
		}
	}
}

// conflicts tries changes, for good and dry, that must be a Conflict.
func conflicts(t *testing.T, c *Client, state string, changes ...object.Change) {
	t.Helper()
	for _, ch := range changes {
		_, err := c.Write(t.Context(), ch)
		_, _, dry := c.Preview(t.Context(), ch)
		for _, err := range []error{err, dry} {
			if Explain(err).Code != reason.Conflict || errors.Is(err, ErrExists) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s %s %s: got %v, want code %s", ch.Action, ch.Key, state, err, reason.Conflict)
			}
		}
	}
}

func discard(t *testing.T, live dynamic.ResourceInterface, o object.Object) {
	t.Helper()
	if err := live.Delete(t.Context(), o.Key.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// theirs makes an object of that name, as somebody else and without linkwright's mark, and gives its uid.
func theirs(t *testing.T, live dynamic.ResourceInterface, o object.Object) string {
	t.Helper()
	var u unstructured.Unstructured
	if err := json.Unmarshal(o.Body.Bytes(), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetLabels(nil)
	u.SetAnnotations(nil)
	made, err := live.Create(t.Context(), &u, metav1.CreateOptions{FieldManager: "foreign"})
	if err != nil {
		t.Fatal(err)
	}
	return string(made.GetUID())
}

func TestFencedHappensOnlyOnWhatWasSeen(t *testing.T) {
	c, foreign, ns := east(t)
	o := configMap(t, ns, "a", map[string]string{"k": "1"})
	fenced := func(was object.Record) object.Change {
		ch := update(o, was)
		ch.Conditional = true
		return ch
	}
	first := write(t, c, fenced(object.Record{}))
	if _, err := c.Write(t.Context(), fenced(object.Record{})); !errors.Is(err, ErrExists) {
		t.Errorf("fenced on nothing, where something is: got %v, want ErrOccupied", err)
	}
	o = configMap(t, ns, "a", map[string]string{"k": "2"})
	second := write(t, c, fenced(first))
	if second.Digest != o.Digest || !o.Covered(second) {
		t.Errorf("fenced update: got %+v, want it written", second)
	}
	if _, err := c.Write(t.Context(), fenced(first)); Explain(err).Code != reason.Conflict || errors.Is(err, ErrExists) {
		t.Errorf("fenced on an older version: got %v, want code %s", err, reason.Conflict)
	}
	annotate(t, foreign, o)
	if _, err := c.Write(t.Context(), fenced(second)); Explain(err).Code != reason.Conflict {
		t.Errorf("fenced on what somebody annotated: got %v, want code %s", err, reason.Conflict)
	}
	if err := foreign.CoreV1().ConfigMaps(ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(t.Context(), fenced(second)); Explain(err).Code != reason.Conflict {
		t.Errorf("fenced on what is gone: got %v, want code %s", err, reason.Conflict)
	}
	if now := observed(t, c, o); !now.IsZero() {
		t.Errorf("a refused write left %+v", now)
	}
}

func TestDelete(t *testing.T) {
	c, foreign, ns := east(t)
	o := configMap(t, ns, "a", nil)
	first := write(t, c, create(o))
	gone := func(was object.Record) object.Change {
		return object.Change{Action: object.Delete, Key: o.Key, Was: was}
	}
	if _, err := c.Write(t.Context(), gone(object.Record{})); err == nil {
		t.Error("delete of what was never seen: got no error")
	}
	annotate(t, foreign, o)
	if _, err := c.Write(t.Context(), gone(first)); Explain(err).Code != reason.Conflict {
		t.Errorf("delete of what changed: got %v, want code %s", err, reason.Conflict)
	}
	second := observed(t, c, o)
	other := second
	other.UID = "00000000-0000-0000-0000-000000000000"
	if _, err := c.Write(t.Context(), gone(other)); Explain(err).Code != reason.Conflict {
		t.Errorf("delete of another object of that name: got %v, want code %s", err, reason.Conflict)
	}
	for range 2 {
		if now := write(t, c, gone(second)); !now.IsZero() {
			t.Errorf("delete: got %+v, want a zero record", now)
		}
	}
	unserved := object.Change{Action: object.Delete, Was: second, Key: object.Key{Group: "example.com", Kind: "Widget", Namespace: ns, Name: "a"}}
	write(t, c, unserved)
}

func TestReplace(t *testing.T) {
	c, _, ns := east(t)
	old, next := binding(t, ns, "a", "reader"), binding(t, ns, "a", "writer")
	was := write(t, c, create(old))
	if _, err := c.Write(t.Context(), update(next, was)); Explain(err).Code != reason.ImmutableField {
		t.Fatalf("update of roleRef: got %v, want code %s", err, reason.ImmutableField)
	}
	replace := object.Change{Action: object.Replace, Key: next.Key, Object: next, Was: was}
	now := write(t, c, replace)
	if now.UID == was.UID || now.Digest != next.Digest || !next.Covered(now) {
		t.Errorf("replace: got %+v, want a new object with digest %x", now, next.Digest)
	}
	if _, err := c.Write(t.Context(), replace); Explain(err).Code != reason.Conflict {
		t.Errorf("replace of what was replaced: got %v, want code %s", err, reason.Conflict)
	}
	// ServiceAccounts are answered with the deleted object: the name is read before it is taken.
	a := account(t, ns, "a")
	was = write(t, c, create(a))
	if now := write(t, c, object.Change{Action: object.Replace, Key: a.Key, Object: a, Was: was}); now.UID == was.UID {
		t.Errorf("replace: got the same object %+v", now)
	}
}

// TestReplaceKeepsWhatHelmIsTold: Helm judges a live object by its annotation, which an adoption sets and no apply of linkwright holds.
func TestReplaceKeepsWhatHelmIsTold(t *testing.T) {
	c, foreign, ns := east(t)
	old, next := binding(t, ns, "a", "reader"), binding(t, ns, "a", "writer")
	if _, err := foreign.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	adopted := write(t, c, object.Change{Action: object.Adopt, Key: old.Key, Was: observed(t, c, old), Object: object.Object{
		Key: old.Key, Body: object.AdoptPatch(object.DefaultOwner, map[string]string{object.HelmPolicy: "keep"}),
	}})
	now := write(t, c, object.Change{Action: object.Replace, Key: next.Key, Object: next, Was: write(t, c, update(old, adopted))})
	if now.UID == adopted.UID || now.Mark != object.Ours || !next.Covered(now) {
		t.Errorf("replace: got %+v, want a new object of ours", now)
	}
	now = write(t, c, update(next, now)) // none of linkwright takes it away later
	got, err := foreign.RbacV1().RoleBindings(ns).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.Annotations[object.HelmPolicy] != "keep" || got.RoleRef.Name != "writer" || string(got.UID) != now.UID {
		t.Errorf("replace: got %+v, %v, want it to tell Helm to keep it", got, err)
	}
}

func TestRelease(t *testing.T) {
	c, foreign, ns := east(t)
	o := configMap(t, ns, "a", map[string]string{"k": "v"})
	was := write(t, c, create(o))
	release := object.Change{Action: object.Release, Key: o.Key, Was: was, Object: object.Object{
		Key:  o.Key,
		Body: object.NewBody([]byte(`{"metadata":{"labels":{"linkwright.dev/owner":null},"annotations":{"linkwright.dev/digest":null}}}`)),
	}}
	annotate(t, foreign, o)
	if _, err := c.Write(t.Context(), release); Explain(err).Code != reason.Conflict {
		t.Errorf("release of what changed: got %v, want code %s", err, reason.Conflict)
	}
	release.Was = observed(t, c, o)
	if now := write(t, c, release); now.Mark != object.Unmarked || now.Digest != 0 {
		t.Errorf("release: got %+v, want no mark of ours", now)
	}
	got, err := foreign.CoreV1().ConfigMaps(ns).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.Data["k"] != "v" {
		t.Errorf("release: the object should stay as it was, got %v, %v", got.Data, err)
	}
	if err := foreign.CoreV1().ConfigMaps(ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := write(t, c, release); !now.IsZero() {
		t.Errorf("release of the absent: got %+v, want a zero record", now)
	}
}

func TestPreviewWritesNothing(t *testing.T) {
	c, _, ns := east(t)
	o := configMap(t, ns, "a", map[string]string{"k": "1"})
	was, next, err := c.Preview(t.Context(), create(o))
	if err != nil || len(was.Bytes()) != 0 || !strings.Contains(string(next.Bytes()), `"k":"1"`) {
		t.Fatalf("preview of a create: got %s, %s, %v", was.Bytes(), next.Bytes(), err)
	}
	if now := observed(t, c, o); !now.IsZero() {
		t.Fatalf("preview created %+v", now)
	}
	rec := write(t, c, create(o))
	o = configMap(t, ns, "a", map[string]string{"k": "2"})
	was, next, err = c.Preview(t.Context(), update(o, rec))
	if err != nil || !strings.Contains(string(was.Bytes()), `"k":"1"`) || !strings.Contains(string(next.Bytes()), `"k":"2"`) {
		t.Errorf("preview of an update: got %s, %s, %v", was.Bytes(), next.Bytes(), err)
	}
	if strings.Contains(string(was.Bytes())+string(next.Bytes()), "managedFields") {
		t.Error("preview shows managed fields")
	}
	was, next, err = c.Preview(t.Context(), object.Change{Action: object.Delete, Key: o.Key, Was: rec})
	if err != nil || len(was.Bytes()) == 0 || len(next.Bytes()) != 0 {
		t.Errorf("preview of a delete: got %s, %s, %v", was.Bytes(), next.Bytes(), err)
	}
	if now := observed(t, c, o); now.ResourceVersion != rec.ResourceVersion {
		t.Errorf("preview wrote: %+v, want %+v", now, rec)
	}
}

func TestWriteCostsOneRequest(t *testing.T) {
	needAPIServer(t)
	c, count := dial(t, live.Config, Options{})
	_, _, ns := east(t)
	o := configMap(t, ns, "a", map[string]string{"k": "v"})
	observed(t, c, o)
	path := "/api/v1/namespaces/" + ns + "/configmaps/a"
	count.taken()
	var now object.Record
	steps := []struct {
		name string
		do   func() object.Change
		want []string
	}{
		{"create", func() object.Change { return create(o) }, []string{"PATCH " + path}},
		{"update", func() object.Change { return update(o, now) }, []string{"PATCH " + path}},
		{"replace", func() object.Change {
			return object.Change{Action: object.Replace, Key: o.Key, Object: o, Was: now}
		}, []string{"DELETE " + path, "PATCH " + path}},
		{"delete", func() object.Change { return object.Change{Action: object.Delete, Key: o.Key, Was: now} }, []string{"DELETE " + path}},
	}
	for _, s := range steps {
		now = write(t, c, s.do())
		if got := count.taken(); !slices.Equal(got, s.want) {
			t.Errorf("%s: requests %v, want %v", s.name, got, s.want)
		}
	}
}

func TestSecretsAreNotQuoted(t *testing.T) {
	c, _, ns := east(t)
	o := secret(t, ns, "a", corev1.SecretTypeOpaque)
	body := strings.Replace(string(o.Body.Bytes()), `"kubeconfig":"`, `"kubeconfig":"!hush-hush!`, 1)
	o.Body = object.NewBody([]byte(body))
	_, err := c.Write(t.Context(), create(o))
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("write of a broken secret: got %v, want an error that quotes no value", err)
	}
	o = secret(t, ns, "b", corev1.SecretTypeOpaque)
	was := write(t, c, create(o))
	next := secret(t, ns, "b", corev1.SecretTypeServiceAccountToken)
	_, err = c.Write(t.Context(), update(next, was))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "type") || strings.Contains(err.Error(), "hush") {
		t.Errorf("update of a secret's type: got %v, want the field and no value", err)
	}
}

// Whoever writes many at once loses none by one that is refused, which is reported by name with what to do.
func TestOneBadObjectFailsAlone(t *testing.T) {
	c, _, ns := east(t)
	errs := make([]error, 40)
	var all sync.WaitGroup
	for i := range errs {
		o := service(t, ns, fmt.Sprintf("s%02d", i))
		if i%20 == 7 {
			o = with(t, o, `"port":4191`, `"port":99999`)
		}
		all.Go(func() { _, errs[i] = c.Write(t.Context(), create(o)) })
	}
	all.Wait()
	for i, err := range errs {
		if i%20 != 7 && err != nil {
			t.Errorf("create of a good object: %v", err)
		}
		why := Explain(err)
		if i%20 == 7 && (why.Code != reason.Invalid || !strings.Contains(why.Message, fmt.Sprintf("/s%02d: ", i)) || !strings.Contains(why.Message, "correct the declaration")) {
			t.Errorf("create of a bad object: got %+v, want %s with its name and what to do", why, reason.Invalid)
		}
	}
}

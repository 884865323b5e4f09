package memcluster

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/linkwright/linkwright/object"
)

func keyOf(u *unstructured.Unstructured) object.Key {
	of := u.GroupVersionKind()
	return object.Key{Group: of.Group, Kind: of.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// converted is a live object in one of its versions, or a new one.
func (c *Cluster) converted(of schema.GroupVersionKind, key object.Key) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	if live := c.objects[key]; live != nil {
		out = live.DeepCopy()
	}
	out.SetGroupVersionKind(of)
	return out
}

// apply is a forced server-side apply.
func (c *Cluster) apply(want *unstructured.Unstructured, manager string, own bool) (*unstructured.Unstructured, error) {
	of, key := want.GroupVersionKind(), keyOf(want)
	m, err := c.manager(managerKey{of, ""})
	if err != nil {
		return nil, err
	}
	live := c.converted(of, key)
	next, err := m.Apply(live, want, manager, true)
	if err != nil {
		return nil, apierrors.NewInvalid(of.GroupKind(), key.Name, field.ErrorList{field.InternalError(nil, err)})
	}
	return c.commit(key, next.(*unstructured.Unstructured), own) //nolint:forcetypeassert // plain knows no other
}

// update is a PUT, or the result of a patch.
func (c *Cluster) update(next *unstructured.Unstructured, by writer) (*unstructured.Unstructured, error) {
	of, key := next.GroupVersionKind(), keyOf(next)
	m, err := c.manager(managerKey{of, by.subresource})
	if err != nil {
		return nil, err
	}
	live := c.converted(of, key)
	got, err := m.Update(live, next, by.name)
	if err != nil {
		return nil, apierrors.NewInvalid(of.GroupKind(), key.Name, field.ErrorList{field.InternalError(nil, err)})
	}
	return c.commit(key, got.(*unstructured.Unstructured), by.own) //nolint:forcetypeassert // plain knows no other
}

// writer is a field manager; own: the installation's, by Write.
type writer struct {
	name, subresource string
	own               bool
}

// commit stores an object as a server would, and runs controllers. An unchanged object is not written.
func (c *Cluster) commit(key object.Key, next *unstructured.Unstructured, own bool) (*unstructured.Unstructured, error) {
	live := c.objects[key]
	if err := c.validate(key, live, next); err != nil {
		return nil, err
	}
	switch {
	case live == nil:
		c.created++
		next.SetUID(types.UID(fmt.Sprintf("%s-%d", c.name, c.created)))
		next.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	case same(live, next):
		return live, nil
	}
	if _, ok := next.Object["spec"]; ok && (live == nil || live.GetGeneration() == 0 || !reflect.DeepEqual(specOf(live), specOf(next))) {
		next.SetGeneration(1)
		if live != nil {
			next.SetGeneration(live.GetGeneration() + 1)
		}
	}
	c.setVersion(next)
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		c.drop(key, own)
		return next, nil
	}
	c.objects[key] = next
	c.notify(key, live, next, own)
	c.runControllers(key, live, next)
	return next, nil
}

func (c *Cluster) setVersion(u *unstructured.Unstructured) {
	c.version++
	u.SetResourceVersion(strconv.Itoa(c.version))
}

// remove deletes an object; one with finalizers only gets a deletion timestamp.
func (c *Cluster) remove(key object.Key, own bool) (gone bool) {
	live := c.objects[key]
	if live == nil {
		return true
	}
	if len(live.GetFinalizers()) == 0 {
		c.drop(key, own)
		return true
	}
	next := live.DeepCopy()
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	next.SetDeletionTimestamp(&now)
	c.setVersion(next)
	c.objects[key] = next
	c.notify(key, live, next, own)
	return false
}

func (c *Cluster) drop(key object.Key, own bool) {
	live := c.objects[key]
	delete(c.objects, key)
	c.version++
	c.notify(key, live, nil, own)
	c.deleteTokens(key, live)
}

// validate returns the error of a server for an invalid write of linkwright.
func (c *Cluster) validate(key object.Key, live, next *unstructured.Unstructured) error {
	of := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	if live == nil && key.Namespace != "" && c.objects[object.Key{Kind: "Namespace", Name: key.Namespace}] == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Namespace)
	}
	if live == nil {
		return nil
	}
	for _, f := range immutable(of) {
		was, _, _ := unstructured.NestedFieldNoCopy(live.Object, f.path...)
		now, _, _ := unstructured.NestedFieldNoCopy(next.Object, f.path...)
		if !reflect.DeepEqual(was, now) {
			at := field.NewPath(f.path[0], f.path[1:]...)
			return apierrors.NewInvalid(of, key.Name, field.ErrorList{field.Invalid(at, now, f.message)})
		}
	}
	return nil
}

// immutableField is a field that an update must not change, and the server's message.
type immutableField struct {
	message string
	path    []string
}

func immutable(of schema.GroupKind) []immutableField {
	switch of.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		return []immutableField{{"cannot change roleRef", []string{"roleRef"}}}
	case "Secret":
		return []immutableField{{"field is immutable", []string{"type"}}}
	case "Deployment":
		return []immutableField{{"field is immutable", []string{"spec", "selector"}}}
	}
	return nil
}

// specOf is the part whose changes increase the generation.
func specOf(u *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, v := range u.Object {
		if name != "metadata" && name != "status" && name != "apiVersion" {
			out[name] = v
		}
	}
	return out
}

// same reports whether a write would change nothing but the times of managed fields.
func same(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(withoutTimes(a), withoutTimes(b))
}

func withoutTimes(u *unstructured.Unstructured) map[string]any {
	c := u.DeepCopy()
	entries := c.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	c.SetManagedFields(entries)
	c.SetResourceVersion("")
	return c.Object
}

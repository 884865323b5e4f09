package memcluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/linkwright/linkwright/object"
)

// Put creates or replaces an object as somebody else.
func (c *Cluster) Put(manager string, content map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := parsed(content)
	if err != nil {
		return err
	}
	if c.find(next.GroupVersionKind()) == nil {
		return notServed(keyOf(next))
	}
	if live := c.objects[keyOf(next)]; live != nil {
		for _, f := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
			if v, ok, _ := unstructured.NestedFieldCopy(live.Object, "metadata", f); ok {
				_ = unstructured.SetNestedField(next.Object, v, "metadata", f)
			}
		}
	}
	_, err = c.update(next, writer{name: manager})
	return err
}

// parsed is content as a server reads it from the wire.
func parsed(content map[string]any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(content)
	u := &unstructured.Unstructured{}
	return u, errors.Join(err, json.Unmarshal(text, &u.Object))
}

// Apply is a forced server-side apply of somebody else.
func (c *Cluster) Apply(manager string, content map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	want, err := parsed(content)
	if err != nil {
		return err
	}
	if c.find(want.GroupVersionKind()) == nil {
		return notServed(keyOf(want))
	}
	_, err = c.apply(want, manager, false)
	return err
}

// Edit changes an object as somebody else with a PUT. It fails if there is none.
func (c *Cluster) Edit(manager string, key object.Key, change func(content map[string]any)) error {
	return c.edit(writer{name: manager}, key, change)
}

// EditStatus is Edit by way of the status subresource, as controllers do.
func (c *Cluster) EditStatus(manager string, key object.Key, change func(content map[string]any)) error {
	return c.edit(writer{name: manager, subresource: "status"}, key, change)
}

func (c *Cluster) edit(by writer, key object.Key, change func(map[string]any)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.objects[key]
	if live == nil {
		return fmt.Errorf("edit %s: it is not there", key)
	}
	next := live.DeepCopy()
	change(next.Object)
	_, err := c.update(next, by)
	return err
}

// Patch is a JSON merge patch as somebody else. It fails where there is no object.
func (c *Cluster) Patch(manager string, key object.Key, patch map[string]any) error {
	u, err := parsed(patch)
	if err != nil {
		return err
	}
	return c.Edit(manager, key, func(content map[string]any) { mergePatch(content, u.Object) })
}

// Remove deletes an object as somebody else. It fails if there is none.
func (c *Cluster) Remove(key object.Key) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[key] == nil {
		return fmt.Errorf("remove %s: it is not there", key)
	}
	c.remove(key, false)
	return nil
}

// Recreate deletes an object and creates it again as it was, as somebody else, who is then its only field manager.
func (c *Cluster) Recreate(manager string, key object.Key) error {
	was := c.Object(key)
	if err := c.Remove(key); err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: was}
	for _, f := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", f)
	}
	return c.Put(manager, u.Object)
}

// Object is a copy of a live object; nil: there is none.
func (c *Cluster) Object(key object.Key) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if live := c.objects[key]; live != nil {
		return live.DeepCopy().Object
	}
	return nil
}

// Keys of all objects, in order.
func (c *Cluster) Keys() []object.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.objects), object.Key.Compare)
}

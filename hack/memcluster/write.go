package memcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/cluster"
)

// How long a replace waits for an object with finalizers, and how often it checks; and how often a throttled write is tried.
const (
	deleteTimeout = 30 * time.Second
	deletePoll    = 100 * time.Millisecond
	maxAttempts   = 10
)

var (
	errNotRead  = errors.New("linkwright has not read the object, so it cannot check that it is still the same")
	errReplaced = errors.New("the object that linkwright read is gone, and another one has its name")
)

// Write implements object.Cluster.
func (c *Cluster) Write(ctx context.Context, ch object.Change) (object.Record, error) {
	now, err := c.write(ctx, ch)
	if err != nil {
		return object.Record{}, fmt.Errorf("%s %s: %w", ch.Action, ch.Key, err)
	}
	return now, nil
}

func (c *Cluster) write(ctx context.Context, ch object.Change) (object.Record, error) {
	c.mu.Lock()
	broken := c.live.broken
	c.mu.Unlock()
	switch {
	case ch.Action == object.None:
		return ch.Was, nil
	case broken != nil:
		return object.Record{}, broken
	case takes(ch.Action) && ch.Was.IsZero():
		return object.Record{}, errNotRead
	}
	if err := c.send(ctx, ch); err != nil {
		return object.Record{}, err
	}
	if ch.Action == object.Replace {
		return c.replace(ctx, ch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.admit(ch); err != nil {
		return object.Record{}, err
	}
	switch ch.Action {
	case object.Delete:
		_, err := c.delete(ch)
		return object.Record{}, err
	case object.Release:
		return c.release(ch)
	case object.Adopt:
		return c.adopt(ch)
	case object.Patch:
		return c.patchForeign(ch)
	}
	return c.put(ch)
}

func takes(a object.Action) bool {
	return a == object.Delete || a == object.Replace || a == object.Release || a == object.Adopt || a == object.Patch
}

// send sends a request to the server, which may be slow or throttle it.
func (c *Cluster) send(ctx context.Context, ch object.Change) error {
	end := time.Now().Add(c.opts.Timeout)
	for n := 1; ; n++ {
		if err := c.connect(ctx, fmt.Sprintf("%s %s", ch.Action, ch.Key)); err != nil {
			return err
		}
		c.mu.Lock()
		slow := c.faults.Slow
		c.mu.Unlock()
		if err := pause(ctx, min(slow, time.Until(end))); err != nil {
			return err
		}
		switch {
		case slow > c.opts.Timeout:
			return errHanging(c)
		case !c.throttled():
			return nil
		case n > maxAttempts || time.Until(end) < time.Second:
			return apierrors.NewTooManyRequests("too many requests, please try again later", 1)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// put is a server-side apply.
func (c *Cluster) put(ch object.Change) (object.Record, error) {
	want, err := parse(ch)
	if err != nil {
		return object.Record{}, err
	}
	if c.find(want.GroupVersionKind()) == nil {
		return object.Record{}, notServed(ch.Key)
	}
	live := c.objects[ch.Key]
	if err := checkPreconditions(ch, live); err != nil {
		return object.Record{}, err
	}
	now, err := c.apply(want, object.Manager(c.opts.Owner), true)
	if err != nil {
		return object.Record{}, err
	}
	if ch.Action == object.Replace && ch.Was.HelmKeeps {
		next := now.DeepCopy()
		mergePatch(next.Object, map[string]any{"metadata": map[string]any{"annotations": map[string]any{object.HelmPolicy: object.HelmKeep}}})
		if now, err = c.update(next, writer{name: object.Manager(c.opts.Owner), own: true}); err != nil {
			return object.Record{}, err
		}
	}
	return c.record(now), nil
}

// checkPreconditions checks the preconditions of an apply.
//
//	vacant      nothing may be there
//	Conditional exactly Was
//	any other   the uid of Was; any, where Was is zero
func checkPreconditions(ch object.Change, live *unstructured.Unstructured) error {
	vacant := ch.Action == object.Create || ch.Action == object.Replace || ch.Conditional && ch.Was.IsZero()
	switch {
	case vacant && live != nil:
		return fmt.Errorf("%w: %w", cluster.ErrExists, conflict(ch, errors.New("the object has been modified")))
	case vacant, ch.Was.IsZero():
		return nil
	case live == nil, string(live.GetUID()) != ch.Was.UID:
		return conflict(ch, errReplaced)
	case ch.Conditional && live.GetResourceVersion() != ch.Was.ResourceVersion:
		return conflict(ch, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

func conflict(ch object.Change, why error) error {
	return apierrors.NewConflict(plural(schema.GroupVersionKind{Group: ch.Key.Group, Kind: ch.Key.Kind}), ch.Key.Name, why)
}

// checkUnchanged checks the preconditions of a delete, a release or an adoption of a live object.
func checkUnchanged(ch object.Change, live *unstructured.Unstructured) error {
	if string(live.GetUID()) != ch.Was.UID || live.GetResourceVersion() != ch.Was.ResourceVersion {
		return conflict(ch, errors.New("the uid or the resourceVersion in the precondition is not that of the object"))
	}
	return nil
}

// delete succeeds if the object is gone, or its kind is not served.
func (c *Cluster) delete(ch object.Change) (gone bool, err error) {
	live := c.objects[ch.Key]
	if live == nil {
		return true, nil
	}
	if err := checkUnchanged(ch, live); err != nil {
		return false, err
	}
	return c.remove(ch.Key, true), nil
}

// release is a merge patch; it succeeds if the object is gone.
func (c *Cluster) release(ch object.Change) (object.Record, error) {
	if c.objects[ch.Key] == nil {
		return object.Record{}, nil
	}
	return c.patch(ch)
}

// adopt is a merge patch, too. It does not take over the managed fields of others, as the real one does.
func (c *Cluster) adopt(ch object.Change) (object.Record, error) {
	if c.objects[ch.Key] == nil {
		return object.Record{}, apierrors.NewNotFound(schema.GroupResource{Group: ch.Key.Group, Resource: ch.Key.Kind}, ch.Key.Name)
	}
	return c.patch(ch)
}

// patchForeign is an apply, after which the installation's entry leaves the managed fields.
func (c *Cluster) patchForeign(ch object.Change) (object.Record, error) {
	ch.Conditional = true
	if _, err := c.put(ch); err != nil {
		return object.Record{}, err
	}
	next := c.objects[ch.Key].DeepCopy()
	next.SetManagedFields(slices.DeleteFunc(next.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == object.Manager(c.opts.Owner) && e.Operation == metav1.ManagedFieldsOperationApply
	}))
	if len(next.GetManagedFields()) == 0 {
		next.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
	}
	now, err := c.update(next, writer{name: object.Manager(c.opts.Owner), own: true})
	if err != nil {
		return object.Record{}, err
	}
	return c.record(now), nil
}

func (c *Cluster) patch(ch object.Change) (object.Record, error) {
	live := c.objects[ch.Key]
	if err := checkUnchanged(ch, live); err != nil {
		return object.Record{}, err
	}
	var patch map[string]any
	if err := json.Unmarshal(ch.Object.Body.Bytes(), &patch); err != nil {
		return object.Record{}, apierrors.NewBadRequest("the patch is no JSON object")
	}
	next := live.DeepCopy()
	mergePatch(next.Object, patch)
	now, err := c.update(next, writer{name: object.Manager(c.opts.Owner), own: true})
	if err != nil {
		return object.Record{}, err
	}
	return c.record(now), nil
}

// mergePatch is a JSON merge patch (RFC 7396).
func mergePatch(to, patch map[string]any) {
	for name, v := range patch {
		below, isMap := v.(map[string]any)
		switch was, ok := to[name].(map[string]any); {
		case v == nil:
			delete(to, name)
		case isMap && ok:
			mergePatch(was, below)
		case isMap:
			made := map[string]any{}
			mergePatch(made, below)
			to[name] = made
		default:
			to[name] = v
		}
	}
}

// replace deletes, waits until the name is free, and creates.
func (c *Cluster) replace(ctx context.Context, ch object.Change) (object.Record, error) {
	c.mu.Lock()
	err := c.admit(ch)
	gone := false
	if err == nil {
		gone, err = c.delete(ch)
	}
	c.mu.Unlock()
	for end := time.Now().Add(deleteTimeout); err == nil && !gone; {
		if time.Now().After(end) {
			return object.Record{}, fmt.Errorf("the deleted object still exists, because a finalizer keeps it: %w", context.DeadlineExceeded)
		}
		err = pause(ctx, deletePoll)
		c.mu.Lock()
		live := c.objects[ch.Key]
		gone = live == nil || string(live.GetUID()) != ch.Was.UID
		c.mu.Unlock()
	}
	if err != nil {
		return object.Record{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.put(ch)
}

func parse(ch object.Change) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(ch.Object.Body.Bytes(), &u.Object); err != nil {
		return nil, apierrors.NewBadRequest("the body is not a JSON object")
	}
	if got := keyOf(u); got != ch.Key {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is of %s", got))
	}
	return u, nil
}

func notServed(key object.Key) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("the cluster does not serve %s", schema.GroupKind{Group: key.Group, Kind: key.Kind}),
	}}
}

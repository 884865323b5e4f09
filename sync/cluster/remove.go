package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// errUnseen: a delete, replace or release of what was never seen has no preconditions to carry.
var errUnseen = errors.New("linkwright has not read the object, so it cannot check that it is still the same")

// goneWait bounds how long a replace waits for the deleted object to go; goneLook is how often it looks.
const (
	goneWait = 30 * time.Second
	goneLook = 100 * time.Millisecond
)

var errIrreplaceable = errors.New("linkwright never replaces objects of this kind, because that deletes more than the object")

// irreplaceable: with a Namespace or a definition goes all that is in it, and the creation time of a Link decides whose
// metadata federated services show. No change is worth it, whoever asks.
func irreplaceable(k object.Key) bool {
	return slices.Contains([]schema.GroupKind{
		{Kind: "Namespace"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Group: "multicluster.linkerd.io", Kind: "Link"},
	}, schema.GroupKind{Group: k.Group, Kind: k.Kind})
}

// replace leaves a gap in which the object does not exist. An object that something still holds after goneWait is left as it is, being deleted: the
// next sync sees it so.
func (c *writer) replace(ctx context.Context, ch object.Change) (object.Record, error) {
	if irreplaceable(ch.Key) {
		return object.Record{}, errIrreplaceable
	}
	gone, err := c.remove(ctx, ch)
	if err != nil {
		return object.Record{}, err
	}
	if !gone {
		if err := c.awaitGone(ctx, ch); err != nil {
			return object.Record{}, err
		}
	}
	now, err := c.patch(ctx, ch)
	if err != nil || !ch.Was.HelmKeeps {
		return now, err
	}
	return c.keepFromHelm(ctx, ch, now.UID)
}

// keepFromHelm annotates what was created again as the object before it was: else the next upgrade of its release would delete it. It is a merge
// patch, because an annotation that an apply holds goes with the next apply, which does not name it.
func (c *writer) keepFromHelm(ctx context.Context, ch object.Change, uid string) (object.Record, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Record{}, err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "annotations": map[string]string{object.HelmPolicy: object.HelmKeep},
	}})
	if err != nil {
		return object.Record{}, err
	}
	req := setPath(c.rest.Patch(types.MergePatchType), r.path(ch.Key.Namespace, ch.Key.Name)).Param("fieldManager", c.manager()).Body(body)
	m, err := c.sendForMeta(ctx, req)
	if err != nil {
		return object.Record{}, fmt.Errorf("the object is written, but Helm may delete it until it has the annotation %s=%s: %w", object.HelmPolicy, object.HelmKeep, err)
	}
	return object.Reduce(m, c.owner), nil
}

// remove deletes exactly what was seen; gone says that the name is free already. An absent object, or
// a kind that is not served, is a success.
func (c *writer) remove(ctx context.Context, ch object.Change) (gone bool, err error) {
	if ch.Was.IsZero() {
		return false, errUnseen
	}
	r, ok, err := c.locate(ctx, schema.GroupKind{Group: ch.Key.Group, Kind: ch.Key.Kind})
	if err != nil || !ok {
		return !ok, err
	}
	gone, err = c.delete(ctx, r, ch)
	if !unserved(err) {
		return gone, err
	}
	c.kinds.drop(r.GroupVersion())
	if r, ok, err = c.locate(ctx, r.GroupKind()); err != nil || !ok {
		return !ok, err
	}
	return c.delete(ctx, r, ch)
}

func (c *writer) delete(ctx context.Context, r resource, ch object.Change) (gone bool, err error) {
	background, uid := metav1.DeletePropagationBackground, types.UID(ch.Was.UID)
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &ch.Was.ResourceVersion},
		PropagationPolicy: &background,
	}
	if c.dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	answer, err := c.send(ctx, setPath(c.rest.Delete(), r.path(ch.Key.Namespace, ch.Key.Name)).
		SetHeader("Content-Type", runtime.ContentTypeJSON).SetHeader("Accept", acceptMeta).Body(body))
	if err != nil {
		if missing(err) == ch.Key.Name {
			return true, nil
		}
		return false, err
	}
	// Deleted at once: a Status; else the object, which may still be held by finalizers.
	got, err := answer.Get()
	_, gone = got.(*metav1.Status)
	return err == nil && gone, nil
}

func (c *writer) awaitGone(ctx context.Context, ch object.Change) error {
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	tick := time.NewTicker(goneLook)
	defer tick.Stop()
	for {
		r, err := c.target(ctx, ch)
		if err != nil {
			return err
		}
		it, err := c.one(ctx, reading{resource: r}, ch.Key)
		if missing(err) == ch.Key.Name || err == nil && it.Record.UID != ch.Was.UID {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the deleted object still exists, because a finalizer keeps it: %w", ctx.Err())
		}
	}
}

// notServed returns what an API server says of a kind that it does not serve.
func notServed(kind schema.GroupKind) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("the cluster does not serve %s", kind),
	}
}

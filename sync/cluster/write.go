package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// ErrExists says that an object of that name came to exist between the read and a create; it was left alone.
var ErrExists = errors.New("an object of that name exists")

// Write does one change, and gives the record of the object after it (zero for a delete).
//
//	action         request                                                 happens only if
//	create         server-side apply                                       the name is free, else ErrExists
//	update, drain  server-side apply                                       it has the uid of Was (any, where Was is zero);
//	                                                                       Fenced: it is exactly Was (nothing, where Was is zero)
//	replace        get, delete, wait until gone, create                    it is exactly Was; what it told Helm it tells again
//	patch          server-side apply, then a patch of managed fields       it is exactly Was
//	release        JSON merge patch of the body                            it is exactly Was; success where it is gone
//	delete         delete, in background                                   it is exactly Was; success where it is gone
//
// Exactly is by uid and resourceVersion. What is no longer so, or is gone, is a Conflict: what took the
// name since it was read may be somebody else's. Only an update of a zero Was creates where nothing is.
// Applies are forced, and their body goes out byte for byte, but for these two in its metadata.
// An update that a list item of somebody else is in the way of, as one is after a PUT that changes its key, fails and is a Rejection.
// Every request waits for its turn: at most inFlight go out together, so callers may be many. Nothing is retried but what the
// server itself asks to repeat (429 and 503 with Retry-After), by client-go.
func (c *Client) Write(ctx context.Context, ch object.Change) (object.Record, error) {
	now, err := c.known(ctx, ch)
	if err != nil {
		return object.Record{}, fmt.Errorf("%s %s: %w", ch.Action, ch.Key, withoutValues(ch, err))
	}
	return now, nil
}

func (c *writer) write(ctx context.Context, ch object.Change) (object.Record, error) {
	switch ch.Action {
	case object.Create, object.Update, object.Drain:
		return c.patch(ctx, ch)
	case object.Replace:
		return c.replace(ctx, ch)
	case object.Adopt:
		return c.adopt(ctx, ch)
	case object.Patch:
		return c.patchForeign(ctx, ch)
	case object.Release:
		now, err := c.patch(ctx, ch)
		if missing(err) == ch.Key.Name {
			return object.Record{}, nil
		}
		return now, err
	case object.Delete:
		_, err := c.remove(ctx, ch)
		return object.Record{}, err
	}
	return ch.Was, nil
}

func (c *writer) patch(ctx context.Context, ch object.Change) (object.Record, error) {
	m, err := c.apply(ctx, ch)
	if err != nil {
		return object.Record{}, c.withCause(ctx, ch, err)
	}
	return object.Reduce(m, c.owner), nil
}

// apply sends a change, and gives the metadata of the object after it.
func (c *writer) apply(ctx context.Context, ch object.Change) (m *metav1.ObjectMeta, err error) {
	p, err := c.patchOf(ctx, ch)
	if err != nil {
		return nil, err
	}
	answer, err := c.sendWhenFree(ctx, func(ctx context.Context) (answer rest.Result) {
		m, answer = c.direct.send(ctx, p)
		return answer
	})
	if err != nil || m != nil {
		return m, err
	}
	return metaOf(answer)
}

func (c *conn) sendForMeta(ctx context.Context, req *rest.Request) (*metav1.ObjectMeta, error) {
	answer, err := c.send(ctx, req.SetHeader("Accept", acceptMeta))
	if err != nil {
		return nil, err
	}
	return metaOf(answer)
}

// superseded names what a precondition of linkwright ran into. The server calls another uid an immutable field.
func superseded(ch object.Change, err error) error {
	if apierrors.IsConflict(err) && vacant(ch) {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	var status *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return err
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Field == "metadata.uid" {
			return apierrors.NewConflict(schema.GroupResource{Group: ch.Key.Group, Resource: ch.Key.Kind}, ch.Key.Name, errReplaced)
		}
	}
	return err
}

var errReplaced = errors.New("the object that linkwright read is gone, and another one has its name")

// vacant reports whether a write demands that nothing of its name be there.
func vacant(ch object.Change) bool {
	return ch.Action == object.Create || ch.Action == object.Replace || ch.Conditional && ch.Was.IsZero()
}

// fenced reports whether a patch is for the very object that was read, without Conditional.
func fenced(ch object.Change) bool { return ch.Action == object.Release || ch.Action == object.Patch }

// patchOf makes the PATCH of a change.
func (c *writer) patchOf(ctx context.Context, ch object.Change) (patchRequest, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return patchRequest{}, err
	}
	body, err := c.guarded(ch)
	if err != nil {
		return patchRequest{}, err
	}
	p := patchRequest{types.ApplyPatchType, r.path(ch.Key.Namespace, ch.Key.Name), c.manager(), body}
	if ch.Action == object.Release {
		p.kind = types.MergePatchType
	}
	return p, unsafePath(p.path)
}

// guarded returns the body on the wire: as it is, or with preconditions in its metadata.
func (c *writer) guarded(ch object.Change) ([]byte, error) {
	body := ch.Object.Body.Bytes()
	switch {
	case vacant(ch):
		return guard(body, "", noVersion)
	case fenced(ch) && ch.Was.IsZero():
		return nil, errUnseen
	case ch.Conditional || fenced(ch):
		return guard(body, ch.Was.UID, ch.Was.ResourceVersion)
	}
	return guard(body, ch.Was.UID, "")
}

// target returns where a change goes. The version of its object counts; without one, any.
func (c *mapper) target(ctx context.Context, ch object.Change) (resource, error) {
	group := schema.GroupKind{Group: ch.Key.Group, Kind: ch.Key.Kind}
	if ch.Object.Version == "" {
		r, ok, err := c.locate(ctx, group)
		if err == nil && !ok {
			err = &apierrors.StatusError{ErrStatus: notServed(group)}
		}
		return r, err
	}
	kind := group.WithVersion(ch.Object.Version)
	if r, ok := c.kinds.find(kind); ok {
		return r, nil
	}
	found, err := c.resolve(ctx, []schema.GroupVersionKind{kind})
	if err != nil {
		return resource{}, err
	}
	r, ok := found[kind]
	if !ok {
		return resource{}, &apierrors.StatusError{ErrStatus: notServed(group)}
	}
	return r, nil
}

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// duplicates are the fields of a refusal that complains of duplicates and of nothing else.
func duplicates(err error) []string {
	var status *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Type != metav1.CauseTypeFieldValueDuplicate {
			return nil
		}
		fields = append(fields, cause.Field)
	}
	return fields
}

// mayRepair says that a change was refused for duplicates alone, and that it was to go on top of an object that was read,
// whatever its version is by now.
func mayRepair(ch object.Change, err error) bool {
	return len(duplicates(err)) > 0 && (ch.Action == object.Update || ch.Action == object.Drain) && !ch.Fenced && !ch.Was.IsZero()
}

// repair takes away what somebody's change of a list key left in our way, and applies again: once. Where nothing can be
// told to be in the way, the refusal stands.
func (c *Client) repair(ctx context.Context, ch object.Change, refusal error) (*metav1.ObjectMeta, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return nil, err
	}
	live, err := rawJSON(ctx, lead(c.rest.Get(), r.path(ch.Key.Namespace, ch.Key.Name)))
	if err != nil {
		return nil, err
	}
	ops, err := remedy(live, ch.Object.Body.Bytes(), duplicates(refusal))
	if err != nil || len(ops) == 0 {
		return nil, refusal
	}
	if _, err := c.edit(ctx, ch, ops); err != nil {
		return nil, fmt.Errorf("remove what is in the way of %w: %w", refusal, err)
	}
	m, err := c.apply(ctx, ch)
	if err != nil {
		return nil, err
	}
	return c.disown(ctx, ch, m), nil
}

// edit patches the object that the change was made for, if all that it touches stands there as it was seen. Its version
// does not count: of a Deployment that somebody has just changed, controllers write the status all the time.
func (c *Client) edit(ctx context.Context, ch object.Change, ops []op) (*metav1.ObjectMeta, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return nil, err
	}
	patch := []op{{Op: "test", Path: "/metadata/uid", Value: ch.Was.UID}}
	for _, o := range ops {
		patch = append(patch, op{Op: "test", Path: o.Path, Value: o.seen})
	}
	body, err := json.Marshal(append(patch, ops...))
	if err != nil {
		return nil, err
	}
	return c.sendForMeta(ctx, ch, lead(c.rest.Patch(types.JSONPatchType), r.path(ch.Key.Namespace, ch.Key.Name)).
		Param("fieldManager", c.manager()).Body(body))
}

// disowns is how often disown tries: it points at a place in a list that moves with every first write of a controller.
const disowns = 5

// disown drops what an edit made ours: beside what we apply, it would keep a field for ever that we apply no more. Where
// others keep writing at the same time it stays, which is no reason to call the write failed.
func (c *Client) disown(ctx context.Context, ch object.Change, m *metav1.ObjectMeta) *metav1.ObjectMeta {
	seen := m
	for range disowns {
		at := slices.IndexFunc(seen.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == c.manager() && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
		})
		if at < 0 {
			return m
		}
		entry := op{Op: "remove", Path: fmt.Sprintf("/metadata/managedFields/%d", at), seen: seen.ManagedFields[at]}
		now, err := c.edit(ctx, ch, []op{entry})
		if err == nil {
			return now
		}
		if seen, err = c.metadata(ctx, ch); err != nil {
			return m
		}
	}
	return m
}

func (c *Client) metadata(ctx context.Context, ch object.Change) (*metav1.ObjectMeta, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return nil, err
	}
	return metaOf(lead(c.rest.Get(), r.path(ch.Key.Namespace, ch.Key.Name)).SetHeader("Accept", acceptMeta).Do(ctx))
}

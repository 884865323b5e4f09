package cluster

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// patchForeign applies fields of an object that others own, and then takes linkwright's entry out of its managed fields. So the next server-side apply of
// the owner meets no conflict (Helm 4 would fail). One request cannot do both: an API server adds the writer of a changed field to the managed
// fields. If linkwright is killed between them, its entry stays, and the next plan sees that.
func (c *writer) patchForeign(ctx context.Context, ch object.Change) (object.Record, error) {
	m, err := c.apply(ctx, ch)
	if err != nil {
		return object.Record{}, c.withCause(ctx, ch, err)
	}
	if !slices.ContainsFunc(m.ManagedFields, c.applied) {
		return object.Reduce(m, c.owner), nil
	}
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Record{}, err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": m.UID, "resourceVersion": m.ResourceVersion, "managedFields": entriesOfOthers(m.ManagedFields, c.applied),
	}})
	if err != nil {
		return object.Record{}, err
	}
	req := setPath(c.rest.Patch(types.MergePatchType), r.path(ch.Key.Namespace, ch.Key.Name)).Param("fieldManager", c.manager()).Body(body)
	if m, err = c.sendForMeta(ctx, req); err != nil {
		return object.Record{}, superseded(ch, err)
	}
	return object.Reduce(m, c.owner), nil
}

// entriesOfOthers returns managed fields without one manager's. An empty list would change nothing: one empty entry resets them (KEP-555).
func entriesOfOthers(entries []metav1.ManagedFieldsEntry, own func(metav1.ManagedFieldsEntry) bool) []metav1.ManagedFieldsEntry {
	others := slices.DeleteFunc(slices.Clone(entries), own)
	if len(others) == 0 {
		return []metav1.ManagedFieldsEntry{{}}
	}
	return others
}

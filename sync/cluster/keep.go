package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// patchAndKeep applies a change, and has Helm leave the object where the change says so: else the next upgrade of its release
// would delete it. By a merge patch, since what an apply holds goes with the next that does not.
func (c *Client) patchAndKeep(ctx context.Context, ch object.Change) (object.Record, error) {
	now, err := c.patch(ctx, ch)
	if err != nil || !ch.HelmKeep {
		return now, err
	}
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Record{}, err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": now.UID, "annotations": map[string]string{object.HelmPolicy: object.HelmKeep},
	}})
	if err != nil {
		return object.Record{}, err
	}
	req := lead(c.rest.Patch(types.MergePatchType), r.path(ch.Key.Namespace, ch.Key.Name)).Param("fieldManager", c.manager()).Body(body)
	m, err := c.sendForMeta(ctx, req)
	if err != nil {
		return object.Record{}, fmt.Errorf("it is written, and Helm may delete it until it is annotated with %s=%s: %w", object.HelmPolicy, object.HelmKeep, err)
	}
	return object.Reduce(m, c.owner), nil
}

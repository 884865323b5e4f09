package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// helmPolicy tells Helm whether to leave an object when a chart no longer holds it. An adoption sets it, and no apply of ours
// ever holds it: it stays for as long as the object does.
const helmPolicy = "helm.sh/resource-policy"

// policy is what the live object tells Helm; empty: nothing. What is read is what goes: the delete that follows demands the very
// version that was planned from, and where it is another by now, what is read of it counts for nothing.
func (c *Client) policy(ctx context.Context, ch object.Change) (string, error) {
	m, err := c.metadata(ctx, ch)
	if missing(err) == ch.Key.Name {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read what it tells Helm: %w", err)
	}
	if bytes.Contains(ch.Object.Body.Bytes(), []byte(`"`+helmPolicy+`"`)) {
		return "", nil // what is declared says it itself
	}
	return m.Annotations[helmPolicy], nil
}

// keep tells Helm again what the object told before it was made anew: else the next upgrade of its release would delete it. By a
// merge patch, since what an apply holds goes with the next that does not.
func (c *Client) keep(ctx context.Context, ch object.Change, uid, policy string) (object.Record, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Record{}, err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "annotations": map[string]string{helmPolicy: policy}}})
	if err != nil {
		return object.Record{}, err
	}
	req := lead(c.rest.Patch(types.MergePatchType), r.path(ch.Key.Namespace, ch.Key.Name)).Param("fieldManager", c.manager()).Body(body)
	m, err := c.sendForMeta(ctx, ch, req)
	if err != nil {
		return object.Record{}, fmt.Errorf("it was made anew, and Helm may delete it: annotate it with %s=%s: %w", helmPolicy, policy, err)
	}
	return object.Reduce(m, c.owner), nil
}

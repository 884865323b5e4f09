package cluster

import (
	"context"
	"fmt"

	"github.com/linkwright/linkwright/object"
)

// DryRun sends a change as Write does, with dryRun=All: the API server and its admission answer, and nothing is stored. A replace is sent as
// the delete that it begins with, because what it creates then would meet the object that is still there.
func (c *Client) DryRun(ctx context.Context, ch object.Change) error {
	if err := c.writer.dryRun(ctx, ch); err != nil {
		return fmt.Errorf("dry run: %s %s: %w", ch.Action, ch.Key, withoutValues(ch, err))
	}
	return nil
}

func (c *writer) dryRun(ctx context.Context, ch object.Change) error {
	w := &writer{reader: c.reader, dry: true}
	switch ch.Action {
	case object.Adopt:
		_, err := w.adopt(ctx, ch)
		return err
	case object.Delete, object.Replace:
		_, err := w.remove(ctx, ch)
		return err
	case object.None:
		return nil
	}
	_, err := w.preview(ctx, ch)
	if ch.Action == object.Release && missing(err) == ch.Key.Name {
		return nil
	}
	return err
}

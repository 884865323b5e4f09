package cluster

import (
	"context"
	"fmt"

	"github.com/linkwright/linkwright/object"
)

// Preview returns the live object (zero where there is none) and what it would be after the change: by a server-side dry run; zero for a delete; for
// a replace the body as it is wanted, since a dry run cannot delete first. Neither holds managed fields. Nothing is written.
func (c *Client) Preview(ctx context.Context, ch object.Change) (was, next object.Body, err error) {
	was, err = c.writer.live(ctx, ch)
	if err != nil {
		return object.Body{}, object.Body{}, fmt.Errorf("read %s: %w", ch.Key, err)
	}
	switch ch.Action {
	case object.None:
		return was, was, nil
	case object.Delete:
		return was, object.Body{}, nil
	case object.Replace:
		return was, ch.Object.Body, nil
	}
	next, err = c.writer.preview(ctx, ch)
	if err != nil {
		return object.Body{}, object.Body{}, fmt.Errorf("dry run: %s %s: %w", ch.Action, ch.Key, withoutValues(ch, err))
	}
	return was, next, nil
}

func (c *writer) live(ctx context.Context, ch object.Change) (object.Body, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Body{}, err
	}
	it, err := c.one(ctx, reading{resource: r, extent: extent{depth: object.Whole}}, ch.Key)
	if missing(err) == ch.Key.Name {
		return object.Body{}, nil
	}
	return it.Body, err
}

func (c *writer) preview(ctx context.Context, ch object.Change) (object.Body, error) {
	p, err := c.patchOf(ctx, ch)
	if err != nil {
		return object.Body{}, err
	}
	raw, err := rawJSON(ctx, p.request(c.rest).Param("dryRun", "All"))
	if err != nil {
		return object.Body{}, c.withCause(ctx, ch, err)
	}
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Body{}, err
	}
	it, err := c.wholeItem(raw, reading{resource: r, extent: extent{depth: object.Whole}})
	return it.Body, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	patience = 90 * time.Second // for what linkwright and the clusters do within seconds
	glance   = 250 * time.Millisecond
)

// until asks what is live until the answer is nil. At the end of patience the last answer is the error;
// when ctx ends first, its cause.
func until(ctx context.Context, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	var last error
	for {
		err := ask(limited)
		if err == nil {
			return nil
		}
		if limited.Err() == nil {
			last = err
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("waited %v in vain: %w", patience, errors.Join(last))
		case <-tick.C:
		}
	}
}

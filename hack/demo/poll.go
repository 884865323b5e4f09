package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	timeout  = 90 * time.Second // linkwright and the clusters need a few seconds
	interval = 250 * time.Millisecond
)

// poll repeats a check until it returns nil. After the timeout it returns the last error; if ctx ends first, the
// cause of that.
func poll(ctx context.Context, check func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := errors.New("the first check did not end")
	for {
		err := check(limited)
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
			return fmt.Errorf("gave up after %v: %w", timeout, last)
		case <-tick.C:
		}
	}
}

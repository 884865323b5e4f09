package testbed

import (
	"context"
	"fmt"
	"time"
)

// pollTimeout bounds waiting for what a healthy cluster does within seconds.
const pollTimeout = 3 * time.Minute

// poll asks until the answer is nil; at the end of patience or ctx the last
// answer is the error.
func poll(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting: %w", err)
		case <-tick.C:
		}
	}
}

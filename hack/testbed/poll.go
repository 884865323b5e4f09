package testbed

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollTimeout bounds waiting for what a healthy cluster does within seconds.
const pollTimeout = 3 * time.Minute

// poll asks until the answer is nil; at the end of patience or ctx the last
// answer is the error.
func poll(ctx context.Context, ask func() error) error {
	var last error
	if err := Eventually(ctx, pollTimeout, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	}); err != nil {
		return fmt.Errorf("gave up waiting: %w", cmp.Or(last, err))
	}
	return nil
}

// pace is how often Eventually asks: every 50 ms at first, and every 200 ms after one and a half seconds. Questions and their answers
// take much of the processors when tests run side by side.
func pace() wait.DelayFunc {
	return wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.1, Steps: 15}.DelayFunc()
}

// Eventually asks until the answer is yes, and returns nil. An error of ask ends it, and so does the timeout.
func Eventually(ctx context.Context, timeout time.Duration, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return pace().Until(ctx, true, true, ask)
}

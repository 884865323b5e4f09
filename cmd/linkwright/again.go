package main

import (
	"context"
	"io"
	"time"
)

// pause is how long a command with --watch waits before it asks again what no watch reports.
const pause = 10 * time.Second

// again asks until ctx ends, and writes an answer if it differs from the last one. It gives the error of the last answer.
func again(ctx context.Context, out io.Writer, ask func(context.Context) (answer string, err error)) error {
	var last string
	var failed error
	for first := true; ; first = false {
		answer, err := ask(ctx)
		if ctx.Err() != nil {
			return failed // a question that was interrupted has no answer
		}
		if failed = err; answer != last || first {
			last = answer
			if _, err := io.WriteString(out, answer); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return failed
		case <-time.After(pause):
		}
	}
}

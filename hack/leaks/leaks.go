// Package leaks looks for goroutines that tests leave behind. A machine with much to do takes its time to end those that were
// told to end: more than the half second that goleak waits.
package leaks

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// timeout bounds the waiting for goroutines that were told to end.
const timeout = 30 * time.Second

// Left tells of goroutines that are still there at the end of patience; nil: there are none.
func Left(o ...goleak.Option) error { return within(timeout, o) }

func within(patience time.Duration, o []goleak.Option) error {
	for end := time.Now().Add(patience); ; {
		if err := goleak.Find(o...); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// Code is the exit code of a test binary whose tests gave code: another one where they left something behind.
func Code(code int, o ...goleak.Option) int {
	if code != 0 {
		return code
	}
	if err := Left(o...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Package cli answers: what do commands share? Flags and what is opened for them, how results are shown, and exit codes.
package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/sync"
)

// Exit codes: the same for every command.
const (
	ExitDone      = 0
	ExitDifferent = 1 // diff only
	ExitError     = 2
	ExitInvalid   = 3
	ExitPartial   = 4 // something failed, or is Blocked or Denied, or a signal came
	ExitHeld      = 5 // another process holds the lease
	ExitUsage     = 64
)

// Exit is an error with an exit code of its own; an empty message is not printed.
type Exit struct {
	Code  int
	Err   error
	Shown bool // the answer that was written has the error, too
}

func (e Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e Exit) Unwrap() error { return e.Err }

// Interrupted is the error of a command that a signal ended before its end; nil: no signal came.
func Interrupted(ctx context.Context) error {
	if live.StoppedBy(ctx) == nil {
		return nil
	}
	return Exit{Code: ExitPartial, Err: sync.Interrupted(ctx)}
}

// Usage is the error of a command that was called wrongly.
func Usage(format string, a ...any) error {
	return Exit{Code: ExitUsage, Err: fmt.Errorf(format, a...)}
}

// Say prints a line for people; what cannot be written is lost.
func Say(w io.Writer, line any) { _, _ = fmt.Fprintln(w, line) }

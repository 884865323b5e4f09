package main

import (
	"fmt"
	"io"
)

// Exit codes: the same for every command.
const (
	exitDone      = 0
	exitDifferent = 1 // diff only
	exitError     = 2
	exitInvalid   = 3
	exitPartial   = 4 // something failed, is held or was refused
	exitHeld      = 5 // the lease is another's
	exitUsage     = 64
)

// exit is an error with an exit code of its own; an empty message is not printed.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

func usage(format string, a ...any) error { return exit{exitUsage, fmt.Errorf(format, a...)} }

// say prints a line for people; who cannot be told is not told.
func say(w io.Writer, line any) { _, _ = fmt.Fprintln(w, line) }

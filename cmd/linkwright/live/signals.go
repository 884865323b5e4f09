package live

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes as shells have them.
const (
	ExitKilled = 130 // after a second Ctrl-C
	ExitUnread = 141 // nobody reads standard output any more, as after "| head"
)

// Stopped is why a process that got a signal stops.
type Stopped struct{ Signal os.Signal }

func (s Stopped) Error() string { return s.Signal.String() + " signal received" }

// keyboard says that somebody pressed Ctrl-C.
func (s Stopped) keyboard() bool { return s.Signal == os.Interrupt }

// by is the signal among what something failed with; false: there was none.
func by(err error) (Stopped, bool) { return errors.AsType[Stopped](err) }

// StoppedBy is why a context of Signals ended; nil: it did not end, or not by a signal.
func StoppedBy(ctx context.Context) error {
	if s, ok := by(context.Cause(ctx)); ok {
		return s
	}
	return nil
}

// Signals gives a context that ends with the first SIGINT or SIGTERM, so that what has begun can be finished. A SIGINT after that ends the
// process at once. If nobody reads the output any more, a write to it fails, and does not end the process: a report that is not read is no
// reason to leave what has begun.
func Signals(ctx context.Context, stderr io.Writer) (_ context.Context, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	unread := make(chan os.Signal, 1) // of which nothing is taken: the error of the write says the same
	signal.Notify(unread, syscall.SIGPIPE)
	go func() {
		for {
			select {
			case <-over:
				return
			case s := <-signals:
				if ctx.Err() != nil && s == os.Interrupt {
					_, _ = io.WriteString(stderr, "\nlinkwright: stopped before the end\n")
					os.Exit(ExitKilled)
				}
				end(Stopped{s})
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(unread)
		close(over)
		end(nil)
	}
}

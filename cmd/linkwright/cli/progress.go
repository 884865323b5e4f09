package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/progress"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// colourFlag is the flag that says when there are colours. All commands have it.
const colourFlag = "color"

// AddColour adds --color to all commands, and gives what has their reports coloured once flags are read.
func AddColour(root *cobra.Command) (colour func(stdout io.Writer)) {
	when := live.Auto
	root.PersistentFlags().Var(&when, colourFlag, "auto, always or never: colours in reports and progress")
	OneOf(root.PersistentFlags(), colourFlag, texts([]live.Colour{live.Auto, live.Always, live.Never})...)
	return func(stdout io.Writer) {
		if when.On(stdout) {
			root.SetOut(report.Coloured{Writer: stdout})
		}
	}
}

// shown is how a command shows its work; without a title it does not.
type shown struct {
	title        string
	writes, json bool
	colour       live.Colour
}

// shownAs is how a command shows its work: writes says whether it changes anything, and as how its report is shown.
func shownAs(c *cobra.Command, writes bool, as report.Format) shown {
	_, title, _ := strings.Cut(c.CommandPath(), " ")
	out := shown{title: title, writes: writes, json: as == report.JSON, colour: live.Auto}
	if flag := c.Flags().Lookup(colourFlag); flag != nil {
		if when, ok := flag.Value.(*live.Colour); ok {
			out.colour = *when
		}
	}
	return out
}

// Shows has a command show its work on standard error: writes says whether it changes anything, and as how its report is shown.
func (f *Common) Shows(c *cobra.Command, writes bool, as report.Format) {
	f.shown = shownAs(c, writes, as)
}

// Display opens what shows the work of a command that opens no engine, and its log. A command that has dry runs, and does none, writes.
func (h *ManagementFlags) Display(c *cobra.Command) (*live.Display, *slog.Logger, error) {
	var as report.Format
	if flag := c.Flags().Lookup(outputFlag); flag != nil {
		if f, ok := flag.Value.(*Format); ok {
			as = f.Format
		}
	}
	dry := c.Flags().Lookup("dry-run")
	return h.display(shownAs(c, dry != nil && dry.Value.String() == string(DryRunNone), as), c.ErrOrStderr())
}

// DisplayOf is Display for a command without flags about an installation. A request to a cluster takes at most timeout.
func DisplayOf(c *cobra.Command, timeout time.Duration) *live.Display {
	d, _, _ := (&ManagementFlags{Timeout: timeout}).Display(c) // fails for flags of a log alone
	return d
}

// display opens what shows the work of a command, and the log. Beside a tree or lines, the log is for what they do not say.
//
//	the command does not show its work   nothing; the log is as ever
//	--log-format, --log-level            the log
//	-o json                              the log, as JSON
//	on a terminal                        a tree
//	else                                 lines
func (h *ManagementFlags) display(as shown, stderr io.Writer) (*live.Display, *slog.Logger, error) {
	o := live.Options{
		Title: as.title, Writes: as.writes, Timeout: h.Timeout, Out: stderr,
		Colours: as.colour.On(stderr), Size: func() progress.Size { return live.SizeOf(stderr) },
	}
	logged := &h.Log
	switch {
	case o.Title == "":
	case logged.given():
		o.Mode = live.Records
	case as.json:
		o.Mode, logged.format = live.Records, "json"
	case live.Terminal(stderr):
		o.Mode = live.Tree
	default:
		o.Mode = live.Lines
	}
	d := live.New(o)
	log, err := logged.Open(d)
	if err == nil && (o.Mode == live.Tree || o.Mode == live.Lines) {
		log = slog.New(beside{log.Handler()})
	}
	d.RecordTo(log)
	return d, log, err
}

// beside is a log beside progress and a report: it has warnings and errors that those do not show.
type beside struct{ slog.Handler }

// Enabled implements slog.Handler.
func (b beside) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && b.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (b beside) Handle(ctx context.Context, r slog.Record) error {
	if report.Reported(r.Message) {
		return nil
	}
	return b.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (b beside) WithAttrs(attrs []slog.Attr) slog.Handler { return beside{b.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (b beside) WithGroup(name string) slog.Handler { return beside{b.Handler.WithGroup(name)} }

// Once is Loop.Once, which shows itself.
func (e *Engine) Once(ctx context.Context, leadership int64) (report.Report, error) {
	defer e.Live.Show(ctx, live.Repository)()
	r, err := e.Loop.Once(ctx, leadership)
	if e.Live.Logs() {
		err = logged(r, err)
	}
	return r, err
}

// Logged is an error that the log has: it is not written to standard error again.
type Logged struct{ error }

// Unwrap returns the error itself.
func (l Logged) Unwrap() error { return l.error }

// logged is the error of a sync whose report the log has. It is Logged if it is the report's own.
func logged(r report.Report, err error) error {
	if err == nil || err.Error() != r.Err || errors.Is(err, sync.ErrInterrupted) {
		return err
	}
	return Logged{err}
}

// Look is Loop.Snapshot, which shows its progress, with the exit code of declarations that are invalid. What was read until a signal came is
// nothing to decide on.
func (e *Engine) Look(ctx context.Context, leadership int64) (state.Snapshot, error) {
	defer e.Live.Show(ctx, live.Repository)()
	w, err := e.Loop.Snapshot(ctx, leadership)
	if errors.Is(err, sync.ErrInvalid) {
		err = Exit{Code: ExitInvalid, Err: err}
	}
	return w, cmp.Or(Interrupted(ctx), err)
}

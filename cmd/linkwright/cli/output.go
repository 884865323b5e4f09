package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

const outputFlag = "output"

// Format is a flag that is checked when it is read.
type Format struct {
	report.Format
	among []report.Format
}

func (f *Format) String() string { return string(f.Format) }

// Type implements pflag.Value.
func (f *Format) Type() string { return "format" }

// Set implements pflag.Value.
func (f *Format) Set(word string) error {
	parsed, err := report.ParseFormat(word, f.among)
	if err == nil {
		err = checkTemplate(parsed)
	}
	if err != nil {
		return err
	}
	f.Format = parsed
	return nil
}

// Add adds the flag; the first of these is the default.
func (f *Format) Add(flags *pflag.FlagSet, among []report.Format) {
	f.Format, f.among = among[0], among
	flags.VarP(f, outputFlag, "o", report.Enumerate(among))
}

// Beside is where lines go that are no part of the answer: after an answer as text, and else on standard error.
func (f *Format) Beside(c *cobra.Command) io.Writer {
	if f.Kind() == report.Text {
		return c.OutOrStdout()
	}
	return c.ErrOrStderr()
}

// Write writes an answer in a format.
func Write(w io.Writer, f report.Format, a report.Answer) error {
	switch f.Kind() {
	case report.JSONPath:
		return writeJSONPath(w, f.Argument(), a)
	case report.CustomColumns:
		return writeColumns(w, f.Argument(), a)
	}
	return a.Write(w, f)
}

// Show shows what a sync did, and gives its exit code.
func Show(w io.Writer, f report.Format, r report.Report, failed error) error {
	if err := Write(w, f, r.Answer()); err != nil {
		return err
	}
	return ShownVerdict(f, r, failed)
}

// ShownVerdict is the Verdict of a sync whose answer was written in a format. Its error is not written again to where the answer went.
func ShownVerdict(f report.Format, r report.Report, failed error) error {
	err := Verdict(r, failed)
	exit, ok := errors.AsType[Exit](err)
	if !ok {
		return err
	}
	chosen := f.Kind() == report.JSONPath || f.Kind() == report.CustomColumns // fields, of which the error may be none
	exit.Shown = r.Err != "" && !chosen
	return exit
}

// Verdict turns a sync into an exit code. A revision that is denied is no error: a guard says no, as for diff.
func Verdict(r report.Report, failed error) error {
	_, denied := errors.AsType[sync.DeniedRevision](failed)
	switch {
	case errors.Is(failed, sync.ErrInvalid):
		return Exit{Code: ExitInvalid}
	case denied || errors.Is(failed, sync.ErrInterrupted):
		return Exit{Code: ExitPartial, Err: failed}
	case failed != nil:
		return Exit{Code: ExitError, Err: failed}
	case !r.Clean():
		return Exit{Code: ExitPartial}
	}
	return nil
}

// checkTemplate says what is wrong with the argument of a format.
func checkTemplate(f report.Format) error {
	var err error
	switch f.Kind() {
	case report.JSONPath:
		_, err = parseJSONPath(f.Argument())
	case report.CustomColumns:
		_, err = parseColumns(f.Argument())
	}
	if err != nil {
		return fmt.Errorf("format %q: %w", f, err)
	}
	return nil
}

package cli

import (
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// Format is a flag that is checked when it is read.
type Format struct {
	report.Format
	among []report.Format
}

func (f *Format) String() string { return string(f.Format) }

// Type implements pflag.Value.
func (f *Format) Type() string { return "format" }

// Set implements pflag.Value.
func (f *Format) Set(word string) (err error) {
	f.Format, err = report.ParseFormat(word, f.among)
	return err
}

// Add adds the flag; the first of these is the default.
func (f *Format) Add(flags *pflag.FlagSet, among []report.Format) {
	f.Format, f.among = among[0], among
	flags.VarP(f, "output", "o", report.Enumerate(among))
}

// Show shows what a sync did, and gives its exit code.
func Show(w io.Writer, f report.Format, r report.Report, failed error) error {
	if err := r.Write(w, f); err != nil {
		return err
	}
	return Verdict(r, failed)
}

// Verdict turns a sync that was shown into an exit code.
func Verdict(r report.Report, failed error) error {
	switch {
	case errors.Is(failed, sync.ErrInvalid):
		return Exit{Code: ExitInvalid}
	case errors.Is(failed, sync.ErrInterrupted):
		return Exit{Code: ExitPartial, Err: failed, Shown: true}
	case failed != nil:
		return Exit{Code: ExitError, Err: failed, Shown: r.Err != ""}
	case !r.Clean():
		return Exit{Code: ExitPartial}
	}
	return nil
}
